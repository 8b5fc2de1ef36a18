"""An author writes one function; whatever it does, its task ends as a fact."""

import asyncio
import logging
from asyncio import CancelledError
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

import pytest
from msgspec import Raw, Struct
from msgspec.structs import replace

from taskmill.core import codec, topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.log import Position
from taskmill.core.time import in_ms
from taskmill.dispatch.waiting import REQUEUE_AFTER
from taskmill.worker import Discard, Retry, RetryPolicy, Snooze, Succeeded, Task, Worker, serve
from tests.unit.stage import Stage, a_kafka_event, do_job
from tests.unit.worker.letters import ECHO, Letter, a_task, ends, the_end, work


class LetterDict(TypedDict):
    to: str


class LetterStruct(Struct, frozen=True, forbid_unknown_fields=True):
    to: str
    tags: list[str] = []


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def answering(answer: Any) -> Worker[Letter]:
    return serve(Letter, lambda _letter: answer)


def raising(error: BaseException) -> Worker[Letter]:
    def perform(_letter: Letter) -> None:
        raise error

    return serve(Letter, perform)


@pytest.mark.parametrize(
    ("worker", "result"),
    [
        (serve(Letter, lambda letter: [letter.to, letter.copies]), ["me", 1]),
        (serve(LetterDict, lambda letter: letter["to"]), "me"),
        (serve(LetterStruct, lambda letter: letter), {"to": "me", "tags": []}),
        (serve(dict[str, str], lambda letter: letter), {"to": "me"}),
    ],
    ids=["dataclass", "TypedDict", "Struct", "dict"],
)
def test_the_payload_comes_as_what_its_author_declared(stage, worker, result):
    assert the_end(stage, worker) == result


@pytest.mark.parametrize("copies", [Raw(b"3"), Raw(b"3.0"), Raw(b"3e0"), Raw(b"0.3e1")])
def test_a_whole_number_is_one_however_it_is_written(stage, copies):
    """The schema at the door takes each of them."""
    worker = serve(Letter, lambda letter: letter.copies)
    assert the_end(stage, worker, payload={"to": "me", "copies": copies}) == 3


def test_a_task_of_another_type_waits_for_its_own_worker(stage):
    stranger = codec.encode(a_task(stage, type="other"))
    own = codec.encode(a_task(stage, 1, payload={"to": "you"}))
    answer = work_on(stage, serve(Letter, lambda letter: letter.to), stranger, own)
    assert answer == {"batchItemFailures": []}
    assert list(ends(stage).values()) == ["you"]
    stage.pass_time(milliseconds=in_ms(REQUEUE_AFTER))
    do_job("publish_due")
    assert [task.type for task in stage.log.tasks(topics.PENDING)] == ["other"]


def test_a_task_of_another_type_comes_again_while_redis_cannot_keep_it(stage):
    stage.hot.forget()
    stranger = codec.encode(a_task(stage, type="other"))
    told = work_on(stage, answering(1), stranger)
    assert [one["itemIdentifier"]["offset"] for one in told["batchItemFailures"]] == [0]


def work_on(stage, worker, *envelopes):
    """Deliver the records of the topic."""
    stage.log.send_batch(topics.worker(ECHO), b'{"v":1,"tasks":[%s]}' % b",".join(envelopes))
    stage.log.flush()
    return stage.run(worker, topics.worker(ECHO))


@pytest.mark.parametrize("payload_type", [Letter, LetterDict, LetterStruct])
@pytest.mark.parametrize(
    ("payload", "place"),
    [({"to": 7}, "$.to"), ({}, "to"), ([], "array"), ("me", "str"), ({"to": None}, "$.to")],
    ids=str,
)
def test_a_payload_that_does_not_fit_ends_the_task_without_a_call(
    stage, payload_type, payload, place
):
    worker = serve(payload_type, lambda _letter: pytest.fail("it was called"))
    reason, error_class, message = the_end(stage, worker, payload=payload)
    assert (reason, error_class) == ("invalid_payload", "Misfit")
    assert place in message


@pytest.mark.parametrize(
    "value", [None, 0, False, "", [], {"a": [1.5, "é"]}, 10**30, "x" * 65_534], ids=repr
)
def test_a_plain_value_means_that_it_succeeded(stage, value):
    assert the_end(stage, answering(value)) == value


def test_an_outcome_says_it_in_words(stage):
    assert the_end(stage, answering(Succeeded({"sent": True}))) == {"sent": True}


@pytest.mark.parametrize(
    ("outcome", "end"),
    [
        (Retry("busy"), ("failed", "Retry", "busy")),
        (Discard("no such address"), ("discarded", "Discard", "no such address")),
        (Discard("\x00\ud800"), ("discarded", "Discard", "\ufffd?")),
    ],
    ids=["Retry", "Discard", "no text"],
)
def test_an_outcome_that_is_no_success_ends_with_its_reason(stage, outcome, end):
    assert the_end(stage, answering(outcome)) == end


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (ValueError("no"), ("failed", "ValueError", "no")),
        (KeyError("x"), ("failed", "KeyError", "'x'")),
        (SystemExit(3), ("failed", "SystemExit", "3")),
        (RecursionError(), ("failed", "RecursionError", "")),
        (MemoryError(), ("failed", "MemoryError", "")),
        (
            StoreUnavailable("Redis", "x"),
            ("failed", "StoreUnavailable", "Redis cannot be reached: x"),
        ),
        (ValueError("\x00\ud800"), ("failed", "ValueError", "\ufffd?")),
    ],
    ids=repr,
)
def test_an_error_of_the_worker_ends_its_task_and_nothing_else(stage, error, end):
    assert the_end(stage, raising(error)) == end


class Mute(Exception):
    def __str__(self) -> str:
        raise KeyError("no words")


@dataclass(frozen=True)
class Picky:
    to: str

    def __post_init__(self) -> None:
        raise KeyError(self.to)


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (KeyboardInterrupt("stop"), ("failed", "KeyboardInterrupt", "stop")),
        (CancelledError(), ("failed", "CancelledError", "")),
        (Mute(), ("failed", "Mute", "its message cannot be printed")),
    ],
)
def test_no_error_of_the_worker_escapes(stage, error, end):
    assert the_end(stage, raising(error)) == end


def test_an_error_of_a_payload_type_is_a_misfit(stage):
    reason, _, message = the_end(stage, serve(Picky, lambda picky: picky.to))
    assert (reason, message) == ("invalid_payload", "'me'")


def test_a_coroutine_that_nobody_awaits_is_an_error_with_a_remedy(stage):
    worker = serve(Letter, lambda letter, task: refuse(letter, task))  # noqa: PLW0108 - the bug
    reason, error_class, message = the_end(stage, worker)
    assert (reason, error_class) == ("failed", "TypeError")
    assert "make it an async def" in message


@pytest.mark.parametrize("perform", [lambda: None, lambda _a, _b, _c: None])
def test_a_perform_that_takes_neither_one_nor_two_is_refused_when_it_is_made(perform):
    with pytest.raises(TypeError, match=r"must take \(payload\) or \(payload, task\)"):
        serve(Letter, perform)


@pytest.mark.parametrize(
    "perform",
    [lambda _letter, task: task.attempt, lambda _letter, task, *, n=1: task.attempt * n],
)
def test_a_perform_with_a_second_argument_is_told_of_its_task(stage, perform):
    assert the_end(stage, serve(Letter, perform), attempt=3, max_attempts=3) == 3


@pytest.mark.parametrize(
    "perform", [lambda letter, times=1: [letter.to] * times, lambda *letters: [letters[0].to]]
)
def test_a_perform_that_does_with_the_payload_gets_no_more(stage, perform):
    assert the_end(stage, serve(Letter, perform)) == ["me"]


def test_a_task_tells_of_itself(stage):
    told: list[Task] = []
    envelope = a_task(stage, attempt=2, max_attempts=5, metadata={"who": "ada"}, submitted=17)
    work(stage, serve(Letter, lambda _letter, task: told.append(task)), envelope)
    (task,) = told
    assert (task.id, task.type, task.attempt, task.max_attempts) == (envelope.id, "echo", 2, 5)
    assert (task.generation, task.losses) == (envelope.generation, 0)
    assert (task.metadata, task.payload) == ({"who": "ada"}, envelope.payload)
    assert task.deadline == datetime.fromtimestamp(stage.clock() / 1000 + 30, UTC)
    assert (task.idempotency_token, task.cancelled) == (f"{envelope.id}-17", False)


def test_without_a_redrive_the_token_names_the_generation(stage):
    envelope = a_task(stage)
    worker = serve(Letter, lambda _letter, task: task.idempotency_token)
    work(stage, worker, envelope)
    assert ends(stage) == {envelope.id: f"{envelope.id}-{envelope.generation}"}


def test_what_a_task_logs_bears_its_name(stage, caplog):
    def perform(_letter: Letter, task: Task) -> None:
        task.logger.info("half way", extra={"done": 50})

    envelope = a_task(stage)
    with caplog.at_level(logging.INFO, "taskmill"):
        work(stage, serve(Letter, perform), envelope)
    (line,) = [record for record in caplog.records if record.message == "half way"]
    assert (line.task_id, line.task_type, line.attempt, line.done) == (envelope.id, "echo", 1, 50)


def test_an_error_that_its_author_calls_hopeless_ends_the_task_at_once(stage):
    def perform(letter: Letter) -> None:
        raise {"ada": KeyError, "bob": IndexError, "me": ValueError}[letter.to]("no")

    worker = serve(Letter, perform, discard=(LookupError, ArithmeticError))
    tasks = [
        a_task(stage, number, payload={"to": to}, max_attempts=4)
        for number, to in enumerate(("ada", "bob", "me"))
    ]
    work(stage, worker, *tasks)
    assert [(fact.reason, fact.error_class) for fact in stage.log.facts()] == [
        ("discarded", "KeyError"),
        ("discarded", "IndexError"),
        ("failed", "ValueError"),
    ]


@pytest.mark.parametrize(
    ("answer", "wait_seconds", "attempt", "reason"),
    [
        (Retry("busy"), None, 2, "failed"),
        (Retry("busy", timedelta(seconds=77)), 77, 2, "failed"),
        (Snooze(timedelta(seconds=5), "too early"), 5, 1, "snoozed"),
    ],
)
def test_a_task_with_attempts_left_is_in_line_again(stage, answer, wait_seconds, attempt, reason):
    task = a_task(stage, max_attempts=2, retry=RetryPolicy(first_seconds=8))
    work(stage, answering(answer), task)
    (fact,) = stage.log.facts()
    wait_ms = fact.due_at_ms - stage.clock()
    assert wait_ms == wait_seconds * 1000 if wait_seconds else 4000 <= wait_ms <= 8000
    ((at_ms, owed),) = stage.hot.due.values()
    assert (at_ms, owed.facts) == (fact.due_at_ms, (fact,))
    order_ms = fact.due_at_ms if reason == "snoozed" else None
    assert owed.task == replace(task, turn=2, attempt=attempt, order_ms=order_ms)
    assert (fact.reason, fact.next_attempt) == (reason, attempt)


async def echo_letter(letter: Letter) -> str:
    await asyncio.sleep(0)
    return letter.to


async def refuse(_letter: Letter, task: Task) -> None:
    raise ValueError(task.attempt)


@pytest.mark.parametrize(
    ("perform", "end"),
    [(echo_letter, "me"), (refuse, ("failed", "ValueError", "1"))],
)
def test_an_async_worker_answers_like_any_other(stage, perform, end):
    assert the_end(stage, serve(Letter, perform)) == end


def test_an_async_worker_checks_its_payload_too(stage):
    assert the_end(stage, serve(Letter, echo_letter), payload={})[0] == "invalid_payload"


def test_a_long_error_is_clipped(stage):
    _, _, message = the_end(stage, raising(ValueError("é" * 10_000)))
    assert len(message.encode()) <= 4_096
    assert message.startswith("éé")


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        {"a": [float("-inf")]},
        object(),
        {1, object()},
        "x" * 21_000_000,
        "\ud800",
        "\x00",
    ],
    ids=["nan", "infinity", "object", "set with an object", "too large", "surrogate", "NUL"],
)
def test_a_result_that_cannot_be_kept_ends_the_task(stage, value):
    assert the_end(stage, answering(value))[:2] == ("result_invalid", "ResultInvalid")


def test_what_is_no_parcel_goes_raw_to_the_dead_letters_with_its_reason_and_place(stage):
    topic = topics.worker(ECHO)
    (good,) = of_the_version_before(stage, [a_task(stage)])
    raw = [b"\x00\xff", None, b'{"v":1,"facts":[]', b'{"v":9,"tasks":[]}']
    bad = [
        replace(good, value=value, position=Position(topic, 0, offset))
        for offset, value in enumerate(raw, start=1)
    ]
    event = a_kafka_event([*bad[:2], good, *bad[2:]])
    assert answering("done")(event, stage.context()) == {"batchItemFailures": []}
    assert list(ends(stage).values()) == ["done"]
    dead = stage.log.records(topics.DLQ)
    assert [one.value for one in dead] == [value or b"" for value in raw]
    assert [
        (one.headers["topic"], one.headers["partition"], one.headers["offset"]) for one in dead
    ] == [(topic.encode(), b"0", b"%d" % offset) for offset in range(1, 5)]
    reasons = [one.headers["reason"].decode() for one in dead]
    assert [reason.partition(":")[0] for reason in reasons] == [
        "the record is not a batch",
        "the record has no value",
        "the record is not a batch",
        "newer_version",
    ]


def of_the_version_before(stage, *batches):
    """Publish tasks as its dispatcher did: in the topic of their worker."""
    for tasks in batches:
        for batch in codec.batches_of_tasks(tasks):
            stage.log.send_batch(topics.worker(ECHO), batch)
    stage.log.flush()
    return stage.log.records(topics.worker(ECHO))


def test_a_task_of_the_version_before_enters_its_lane_and_runs(stage):
    of_the_version_before(stage, [a_task(stage, 1), a_task(stage, 2)])
    assert stage.run(answering("done"), topics.worker(ECHO)) == {"batchItemFailures": []}
    assert list(ends(stage).values()) == ["done", "done"]
    assert stage.waiting() == []


def test_without_redis_a_wake_up_is_answered_and_nothing_runs(stage):
    stage.wake(a_task(stage))
    stage.hot.forget()
    worker = serve(Letter, lambda _letter: pytest.fail("it was called"))
    assert stage.run(worker, topics.worker(ECHO)) == {"batchItemFailures": []}
    assert ends(stage) == {}


def test_without_redis_tasks_of_the_version_before_come_again_and_nothing_runs(stage):
    stage.hot.forget()
    worker = serve(Letter, lambda _letter: pytest.fail("it was called"))
    of_the_version_before(stage, [a_task(stage, 1)], [a_task(stage, 2)])
    assert stage.run(worker, topics.worker(ECHO)) == {
        "batchItemFailures": [
            {"itemIdentifier": {"partition": "tasks.worker.echo-0", "offset": 0}},
            {"itemIdentifier": {"partition": "tasks.worker.echo-0", "offset": 1}},
        ]
    }
    assert ends(stage) == {}


def test_a_record_with_one_task_that_must_come_again_comes_once(stage):
    stage.hot.forget()
    of_the_version_before(stage, [a_task(stage, 1), a_task(stage, 2)])
    answer = stage.run(answering("done"), topics.worker(ECHO))
    assert answer == {
        "batchItemFailures": [{"itemIdentifier": {"partition": "tasks.worker.echo-0", "offset": 0}}]
    }


def test_without_the_log_a_task_stays_in_flight_until_its_end_is_published(stage):
    task = a_task(stage)
    stage.wake(task)
    stage.log.is_away = True
    assert stage.run(answering("done"), topics.worker(ECHO)) == {"batchItemFailures": []}
    assert stage.waiting() == [task]
    stage.log.is_away = False
    stage.pass_time(seconds=10)
    do_job("watch_lanes")
    assert set(ends(stage).values()) == {"done"}
    assert stage.waiting() == []


def test_an_invocation_takes_nothing_more_when_its_time_is_nearly_over(stage):
    tasks = [a_task(stage, number) for number in range(3)]
    stage.wake(*tasks)
    event = a_kafka_event(stage.log.records(topics.worker(ECHO)))
    called: list[Letter] = []

    def perform(letter: Letter) -> None:
        called.append(letter)
        stage.pass_time(seconds=10)

    worker = serve(Letter, perform, concurrency=1)
    assert worker(event, stage.context(lives=timedelta(seconds=20))) == {"batchItemFailures": []}
    assert len(called) == 1, "the first of an invocation starts with what time there is"
    assert stage.waiting() == tasks[1:]
    assert list(ends(stage).values()) == [None]


def test_with_no_time_left_nothing_is_begun(stage):
    tasks = [a_task(stage, number) for number in range(2)]
    stage.wake(*tasks)
    event = a_kafka_event(stage.log.records(topics.worker(ECHO)))
    worker = serve(Letter, lambda _letter: pytest.fail("it was called"))
    assert worker(event, stage.context(lives=timedelta(0))) == {"batchItemFailures": []}
    assert stage.waiting() == tasks
    assert stage.hot.records == {}


def test_a_record_that_comes_twice_runs_once(stage):
    calls: list[Letter] = []
    worker = serve(Letter, calls.append)
    task = a_task(stage)
    work(stage, worker, task)
    assert work(stage, worker, task) == {"batchItemFailures": []}
    assert len(calls) == 1


def test_the_catalogue_is_told_what_the_author_said():
    told = {"max_attempts": 9, "timeout": timedelta(seconds=2.5), "priority": "low"}
    worker = serve(Letter, lambda _letter: None, **told)
    assert worker.payload_type is Letter
    assert (worker.defaults.max_attempts, worker.defaults.timeout_seconds) == (9, 2.5)
    assert worker.defaults.priority == "low"


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": 101}, "max_attempts"),
        ({"timeout": timedelta(0)}, "timeout_seconds"),
        ({"timeout": timedelta(seconds=801)}, "timeout_seconds"),
        ({"retry": RetryPolicy(factor=0.5)}, "retry.factor"),
        ({"retry": RetryPolicy(first_seconds=-1)}, "retry.first_seconds"),
        ({"priority": "urgent"}, "priority"),
        ({"priority": 3}, "priority"),
    ],
)
def test_what_a_task_cannot_have_is_refused_when_the_worker_is_made(told, field):
    with pytest.raises(ValueError, match=rf"\$\.{field}"):
        serve(Letter, lambda _letter: None, **told)
