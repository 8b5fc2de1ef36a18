"""Authors test workers in a mill: no servers, and time moves on request."""

from datetime import timedelta

import pytest
from msgspec import Struct
from msgspec.structs import replace

from taskmill.core.facts import AttemptLost, TaskDeferred, TaskStarted, TaskSucceeded
from taskmill.testing import Mill, MovableClock, Refused
from taskmill.worker import (
    Discard,
    Pointer,
    Retry,
    RetryPolicy,
    Snooze,
    Succeeded,
    Task,
    serve,
)

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


class Order(Struct):
    number: int = 1


def a_mill(perform, *, seed=0, clock=None, **how):
    return Mill({"order": serve(Order, perform, **how)}, seed=seed, clock=clock)


def failing(times, answer=None):
    """Return a worker that fails that often and then succeeds."""
    seen = []

    def perform(order: Order, task: Task) -> object:
        seen.append(task.attempt)
        if len(seen) > times:
            return f"order {order.number}"
        if answer is None:
            raise OSError("the line is busy")
        return answer

    return perform, seen


def test_a_task_lives_its_whole_life():
    mill = a_mill(lambda order: {"shipped": order.number})
    task = mill.submit("order", {"number": 7})
    assert (task.status, task.result) == ("queued", None)
    mill.run()
    assert (task.status, task.result, task.attempt) == ("succeeded", {"shipped": 7}, 1)
    assert [type(fact) for fact in task.facts] == [TaskSucceeded]


def test_retries_come_at_their_time_and_are_counted():
    perform, seen = failing(2)
    mill = a_mill(perform, retry=RetryPolicy(first_seconds=60, factor=2))
    task = mill.submit("order", {})
    mill.run()
    assert (task.status, task.reason, task.error) == ("retrying", "failed", "the line is busy")
    assert 30 * SECOND <= task.next_attempt_at - mill.clock.now <= MINUTE
    mill.pass_time(29 * SECOND)
    assert seen == [1]
    mill.pass_time(31 * SECOND)
    assert seen == [1, 2]
    mill.run_to_end()
    assert (task.status, task.result, task.attempt) == ("succeeded", "order 1", 3)
    assert [type(fact) for fact in task.facts] == [TaskDeferred, TaskDeferred, TaskSucceeded]


def test_spent_attempts_make_it_dead_and_a_redrive_gives_it_another_life():
    perform, seen = failing(3)
    mill = a_mill(perform, max_attempts=3)
    task = mill.submit("order", {})
    mill.run_to_end()
    assert (task.status, task.reason, seen) == ("dead", "failed", [1, 2, 3])
    task.redrive()
    mill.run_to_end()
    assert (task.status, task.attempt) == ("succeeded", 1)


def test_a_snooze_spends_no_attempt():
    perform, seen = failing(2, Snooze(MINUTE, "closed"))
    mill = a_mill(perform, max_attempts=1)
    task = mill.submit("order", {})
    mill.run()
    assert (task.status, task.reason, task.next_attempt_at) == (
        "retrying",
        "snoozed",
        mill.clock.now + MINUTE,
    )
    mill.run_to_end()
    assert (task.status, seen) == ("succeeded", [1, 1, 1])


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        (Discard("never"), "dead", "discarded"),
        (Retry("once more", delay=MINUTE), "retrying", "failed"),
        (Succeeded(object()), "dead", "result_invalid"),
    ],
)
def test_each_answer_leads_where_it_leads_in_life(answer, status, reason):
    mill = a_mill(lambda _order: answer)
    task = mill.submit("order", {})
    mill.run()
    assert (task.status, task.reason) == (status, reason)


def test_an_attempt_that_takes_too_long_is_cut_off():
    clock = MovableClock()

    def perform(_order: Order) -> str:
        clock.move(31 * SECOND)
        return "too late"

    mill = a_mill(perform, clock=clock, timeout=30 * SECOND, max_attempts=2)
    task = mill.submit("order", {})
    mill.run()
    assert (task.status, task.reason, task.result) == ("retrying", "timeout", None)
    mill.run_to_end()
    assert (task.status, task.reason) == ("dead", "timeout")


def test_an_attempt_that_takes_long_but_not_too_long_succeeds():
    clock = MovableClock()

    def perform(_order: Order, task: Task) -> float:
        clock.move(29 * SECOND)
        return (task.deadline - clock.now).total_seconds()

    mill = a_mill(perform, clock=clock, timeout=30 * SECOND)
    task = mill.submit("order", {})
    mill.run()
    assert (task.status, task.result) == ("succeeded", 1.0)
    assert not [fact for fact in task.facts if isinstance(fact, AttemptLost | TaskStarted)]


def test_an_async_worker_lives_in_it_too():
    async def perform(order: Order) -> int:
        return order.number + 1

    mill = a_mill(perform)
    task = mill.submit("order", Order(number=4))
    mill.run()
    assert task.result == 5


def test_a_cancelled_task_is_not_performed():
    perform, seen = failing(0)
    mill = a_mill(perform)
    task = mill.submit("order", {})
    task.cancel()
    mill.run_to_end()
    assert (task.status, seen) == ("cancelled", [])


def test_a_key_names_one_task():
    mill = a_mill(lambda _order: None)
    first, again = (mill.submit("order", {"number": 1}, key="k") for _ in range(2))
    assert first.id == again.id
    with pytest.raises(Refused, match="already used"):
        mill.submit("order", {"number": 2}, key="k")


def test_what_the_gateway_would_refuse_is_refused():
    mill = a_mill(lambda _order: None)
    with pytest.raises(Refused, match="/number"):
        mill.submit("order", {"number": "many"})
    with pytest.raises(Refused, match="there are: order"):
        mill.submit("mail", {})


def test_the_same_seed_is_the_same_life():
    def story(seed):
        mill = a_mill(failing(3)[0], seed=seed, max_attempts=9)
        task = mill.submit("order", {})
        mill.run_to_end()
        return task.id, [fact.at_ms for fact in task.facts]

    assert story(1) == story(1)
    assert story(1) != story(2)


def test_a_task_that_comes_again_without_time_passing_is_noticed():
    mill = a_mill(lambda _order: Snooze(timedelta()))
    mill.submit("order", {})
    with pytest.raises(RuntimeError, match="forever"):
        mill.run()


def test_a_task_that_never_ends_is_noticed():
    mill = a_mill(lambda _order: Snooze(timedelta(days=1)))
    mill.submit("order", {})
    with pytest.raises(RuntimeError, match="within two years"):
        mill.run_to_end()


def test_types_live_side_by_side():
    one, two = serve(Order, lambda _order: "one"), serve(Order, lambda _order: "two")
    mill = Mill({"one": one, "two": two})
    tasks = [mill.submit(name, {}) for name in ("one", "two", "one")]
    mill.run()
    assert [task.result for task in tasks] == ["one", "two", "one"]


def test_a_payload_that_was_uploaded_is_pointed_at():
    mill = Mill({"length": serve(bytes, len)})
    pointer = mill.upload("length", b"x" * 300_000)
    task = mill.submit("length", payload_ref=pointer)
    mill.run()
    assert (task.status, task.result) == ("succeeded", 300_000)
    with pytest.raises(
        Refused, match="there is nothing at s3://memory/payloads/length/default/0000"
    ):
        mill.submit("length", payload_ref=replace(pointer, url=gone(pointer), sha256="0" * 64))
    with pytest.raises(Refused, match="not both"):
        mill.submit("length", "aGVsbG8=", payload_ref=pointer)


def gone(pointer):
    return pointer.url.replace(pointer.sha256, "0" * 64)


def test_a_large_result_is_read_where_it_stands():
    mill = a_mill(lambda order: "x" * 100_000)
    task = mill.submit("order")
    mill.run()
    assert task.result_ref.size == 100_002
    assert task.result == "x" * 100_000


def test_what_a_worker_stores_is_its_result_or_a_part_of_it():
    def draw(order: Order, task: Task) -> Pointer:
        return task.store(b"\x89PNG", "image/png")

    def list_drawings(order: Order, task: Task) -> list[str]:
        return [task.store(content).url for content in (b"one", b"two")]

    mill = Mill({"draw": serve(Order, draw), "list": serve(Order, list_drawings)})
    drawing, drawings = mill.submit("draw", {}), mill.submit("list", {})
    mill.run()
    assert drawing.content == b"\x89PNG"
    assert drawing.result_ref.url.startswith(f"s3://memory/results/draw/{drawing.id}/")
    assert mill.system.stores.bucket.media_types[drawing.result_ref.url] == "image/png"
    assert [mill.system.stores.bucket.contents[url] for url in drawings.result] == [b"one", b"two"]
    assert drawings.content is None


@pytest.mark.parametrize(
    ("content", "media_type", "why"),
    [
        (b"", "image/png", "content has 0 bytes; the limits are 1 and 20971520"),
        (bytes(20_971_521), "image/png", "content has 20971521 bytes"),
        (b"x", "png", "must look like 'image/png', not 'png'"),
        (b"x", "image/png\r\nX: y", "must look like 'image/png'"),
    ],
)
def test_what_cannot_be_stored_is_an_error_that_says_so(content, media_type, why):
    def draw(order: Order, task: Task) -> Pointer:
        return task.store(content, media_type)

    mill = Mill({"draw": serve(Order, draw)})
    task = mill.submit("draw", {}, max_attempts=1)
    mill.run()
    assert task.status == "dead"
    assert why in task.error


def test_a_mill_whose_bucket_is_away_waits_for_it():
    mill = Mill({"length": serve(bytes, len)})
    task = mill.submit("length", payload_ref=mill.upload("length", b"hello"))
    mill.system.stores.bucket.is_away = True
    mill.run()
    assert (task.status, task.reason, task.attempt) == ("retrying", "snoozed", 1)
    mill.system.stores.bucket.is_away = False
    mill.run_to_end()
    assert (task.status, task.result, task.attempt) == ("succeeded", 5, 1)


def test_a_task_begins_at_its_time_however_far_that_is():
    mill = a_mill(lambda _order: "done")
    begin = mill.clock.now
    task = mill.submit("order", {}, delay=timedelta(days=300))
    mill.pass_time(timedelta(days=299))
    assert (task.status, task.run_at) == ("scheduled", begin + timedelta(days=300))
    task.change(run_at=begin + timedelta(days=310))
    mill.run_to_end()
    assert (task.status, mill.clock.now) == ("succeeded", begin + timedelta(days=310))
    assert [type(fact).__name__ for fact in task.facts] == ["TaskChanged", "TaskSucceeded"]


def test_a_task_has_the_priority_of_its_type_until_it_gets_another():
    mill = Mill({"order": serve(Order, lambda _order: "done", priority="low")})
    task = mill.submit("order", {}, delay=timedelta(minutes=1), fairness_key="customer 7")
    other = mill.submit("order", {}, priority=3)
    assert (task.priority, other.priority) == ("low", "critical")
    mill.run()
    task.change(priority="high")
    mill.run_to_end()
    assert (task.priority, task.status) == ("high", "succeeded")


def test_a_task_that_could_not_begin_in_time_has_expired():
    mill = a_mill(lambda _order: "done")
    end = mill.clock.now + timedelta(minutes=1)
    task = mill.submit("order", {}, delay=timedelta(hours=1), expires_at=end)
    mill.run_to_end()
    assert (task.status, task.reason) == ("dead", "expired")
    with pytest.raises(Refused, match="NotWaiting"):
        task.change(delay=timedelta(1))


def test_times_are_refused_that_cannot_be_meant():
    mill = a_mill(lambda _order: "done")
    now = mill.clock.now
    with pytest.raises(Refused, match="not both"):
        mill.submit("order", {}, delay=timedelta(1), run_at=now)
    with pytest.raises(Refused, match="needs its zone"):
        mill.submit("order", {}, run_at=now.replace(tzinfo=None))
