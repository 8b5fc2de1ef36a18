"""`perform` runs one attempt as in production, without a queue."""

from dataclasses import dataclass
from datetime import timedelta

import pytest

from taskmill.testing import MovableClock, Refused, perform
from taskmill.worker import Discard, Interrupted, Pointer, Succeeded, Task, serve


@dataclass(frozen=True)
class Greeting:
    name: str


def test_a_plain_answer_is_a_success():
    worker = serve(Greeting, lambda greeting: f"hello {greeting.name}")
    assert perform(worker, {"name": "Ada"}) == Succeeded("hello Ada")
    assert perform(worker, Greeting("Ada")) == Succeeded("hello Ada")


def test_an_outcome_comes_as_it_is():
    assert perform(serve(Greeting, lambda _: Discard("no")), {"name": ""}) == Discard("no")


def test_what_is_stored_is_handed_out():
    def draw(greeting: Greeting, task: Task) -> Pointer:
        return task.store(greeting.name.encode(), "text/plain")

    stored: dict[str, bytes] = {}
    outcome = perform(serve(Greeting, draw), {"name": "Ada"}, stored=stored)
    assert isinstance(outcome, Succeeded)
    assert stored == {outcome.result.url: b"Ada"}


def test_a_check_raises_when_the_task_was_cancelled():
    def check(_greeting: Greeting, task: Task) -> str:
        try:
            task.check()
        except Exception:  # noqa: BLE001 - a handler's own net, through which it passes
            return "caught"
        return "done"

    worker = serve(Greeting, check)
    assert perform(worker, {"name": "Ada"}) == Succeeded("done")
    with pytest.raises(Interrupted, match="cancelled"):
        perform(worker, {"name": "Ada"}, cancelled=True)


def test_what_is_raised_comes_through():
    def broken(_greeting: Greeting) -> None:
        raise OSError("the line is busy")

    with pytest.raises(OSError, match="busy"):
        perform(serve(Greeting, broken), {"name": "Ada"})


def test_a_payload_that_does_not_fit_is_refused_before_it_is_performed():
    worker = serve(Greeting, lambda _: pytest.fail("it was performed"))
    with pytest.raises(Refused, match="name"):
        perform(worker, {})


def test_a_result_that_is_no_json_is_no_success():
    with pytest.raises(ValueError, match="NaN"):
        perform(serve(Greeting, lambda _: float("nan")), {"name": "Ada"})


def test_a_result_that_goes_into_the_bucket_is_a_success_and_one_too_large_for_it_is_none():
    assert perform(serve(Greeting, lambda _: "x" * 100_000), {"name": "Ada"}) == Succeeded(
        "x" * 100_000
    )
    with pytest.raises(ValueError, match="limit"):
        perform(serve(Greeting, lambda _: "x" * 21_000_000), {"name": "Ada"})


def test_the_handler_is_told_of_its_task():
    clock = MovableClock()

    def tell(_greeting: Greeting, task: Task) -> dict[str, object]:
        left = (task.deadline - clock.now).total_seconds()
        return {"attempt": task.attempt, "who": task.metadata["who"], "left": left}

    worker = serve(Greeting, tell, timeout=timedelta(seconds=5))
    answer = perform(worker, {"name": "Ada"}, attempt=3, metadata={"who": "me"}, clock=clock)
    assert answer == Succeeded({"attempt": 3, "who": "me", "left": 5.0})


def test_the_handler_can_be_told_that_nobody_waits_any_more():
    def careful(_greeting: Greeting, task: Task) -> object:
        return Discard("cancelled") if task.cancelled else "done"

    assert perform(serve(Greeting, careful), {"name": "A"}, cancelled=True) == Discard("cancelled")
    assert perform(serve(Greeting, careful), {"name": "A"}) == Succeeded("done")


def test_an_async_handler_is_awaited():
    async def greet(greeting: Greeting) -> str:
        return f"hello {greeting.name}"

    assert perform(serve(Greeting, greet), {"name": "Ada"}) == Succeeded("hello Ada")
