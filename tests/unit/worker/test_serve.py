"""A worker's author writes one function; whatever it does, its task ends as a fact."""

import threading
import time
from asyncio import CancelledError
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypedDict

import msgspec
import pytest
from msgspec import Raw, Struct

from taskmill.adapters.crew import ThreadCrew
from taskmill.domain import topics
from taskmill.domain.errors import StoreUnavailable
from taskmill.domain.facts import TaskDied, TaskSucceeded
from taskmill.domain.lease import Position
from taskmill.domain.task import Millis, TaskId, TaskType
from taskmill.worker import Discard, Retry, Succeeded, Worker, serve
from tests.builders import an_envelope
from tests.unit.functions.stage import Clock, Stage, a_kafka_event

ECHO = TaskType("echo")


@dataclass(frozen=True, slots=True)
class Letter:
    to: str
    copies: int = 1


class LetterDict(TypedDict):
    to: str


class LetterStruct(Struct, frozen=True, forbid_unknown_fields=True):
    to: str
    tags: list[str] = []


class Now(Clock):
    """The clock of the world: what runs in threads goes by it."""

    def __call__(self) -> Millis:
        return Millis(time.time_ns() // 1_000_000)


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


@pytest.fixture
def threaded(monkeypatch):
    stage = Stage(clock=Now(), crew=ThreadCrew())
    stage.bind(monkeypatch)
    return stage


def a_task(stage, number=0, *, payload: Any = None, **changes):
    return an_envelope(
        **{
            "id": TaskId(f"019f0000-0000-7000-8000-{number:012d}"),
            "generation": stage.clock(),
            "created_at_ms": stage.clock(),
            "payload": Raw(msgspec.json.encode({"to": "me"} if payload is None else payload)),
        }
        | changes
    )


def work(stage, worker, *tasks):
    """Hand the tasks to the worker, each in its own record; return its answer."""
    for task in tasks:
        stage.log.send_work([task])
    stage.log.flush()
    return stage.run(worker, topics.worker(ECHO))


def ends(stage):
    return {fact.id: _end(fact) for fact in stage.log.facts()}


def _end(fact: Any) -> Any:
    if isinstance(fact, TaskSucceeded):
        return msgspec.json.decode(fact.result)
    assert isinstance(fact, TaskDied)
    return fact.reason, fact.error_class, fact.error_message


def the_end(stage, worker, **task):
    """Return how the only task ended; no record comes again."""
    assert work(stage, worker, a_task(stage, **task)) == {"batchItemFailures": []}
    (end,) = ends(stage).values()
    return end


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
        (Mute(), ("failed", "Mute", "its message cannot be told")),
    ],
)
def test_no_error_of_the_worker_escapes(stage, error, end):
    assert the_end(stage, raising(error)) == end


def test_an_error_of_a_payload_type_is_a_misfit(stage):
    reason, _, message = the_end(stage, serve(Picky, lambda picky: picky.to))
    assert (reason, message) == ("invalid_payload", "'me'")


def test_an_async_worker_is_refused_when_it_is_made():
    async def perform(_letter: Letter) -> None: ...

    with pytest.raises(TypeError, match="make it a plain one"):
        serve(Letter, perform)


def test_a_long_error_is_clipped(stage):
    _, _, message = the_end(stage, raising(ValueError("é" * 10_000)))
    assert len(message.encode()) <= 4_096
    assert message.startswith("éé")


@pytest.mark.parametrize(
    "value",
    [float("nan"), {"a": [float("-inf")]}, object(), {1, object()}, "x" * 65_535, "\ud800", "\x00"],
    ids=lambda value: repr(value)[:12],
)
def test_a_result_that_cannot_be_kept_ends_the_task(stage, value):
    assert the_end(stage, answering(value))[:2] == ("result_invalid", "ResultInvalid")


def test_the_tasks_of_a_batch_run_side_by_side(threaded):
    met = threading.Barrier(3)
    worker = serve(Letter, lambda _letter: met.wait(timeout=10) >= 0, concurrency=3)
    work(threaded, worker, *(a_task(threaded, number) for number in range(3)))
    assert list(ends(threaded).values()) == [True] * 3


def test_no_more_tasks_run_at_a_time_than_the_author_allows(threaded):
    lock, running, most, pair = threading.Lock(), [0], [0], threading.Barrier(2)

    def perform(_letter: Letter) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        pair.wait(timeout=10)
        with lock:
            running[0] -= 1

    worker = serve(Letter, perform, concurrency=2)
    work(threaded, worker, *(a_task(threaded, number) for number in range(8)))
    assert list(ends(threaded).values()) == [None] * 8
    assert most == [2]


def test_a_task_that_takes_too_long_is_cut_off_and_harms_no_other(threaded):
    is_over = threading.Event()
    slow = serve(Letter, lambda letter: is_over.wait(timeout=60) if letter.copies else "done")
    tasks = [
        a_task(threaded, number, payload={"to": "me", "copies": number % 2}, timeout_seconds=0.3)
        for number in range(4)
    ]
    try:
        answer = work(threaded, slow, *tasks)
    finally:
        is_over.set()
    timeout = ("timeout", "TimedOut", "the attempt was cut off after 0.3 s")
    assert answer == {"batchItemFailures": []}
    ended = ends(threaded)
    assert [ended[task.id] for task in tasks] == ["done", timeout, "done", timeout]


def test_what_is_no_parcel_goes_raw_to_the_dead_letters_with_its_reason_and_place(stage):
    topic = topics.worker(ECHO)
    stage.log.send_work([a_task(stage)])
    stage.log.flush()
    (good,) = stage.log.records(topic)
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
        "the record is not a parcel",
        "the record has no value",
        "the record is not a parcel",
        "the parcel has version 9; this code reads 1",
    ]


def test_without_the_hot_store_the_records_come_again_and_nothing_runs(stage):
    stage.hot.forget()
    worker = serve(Letter, lambda _letter: pytest.fail("it was called"))
    answer = work(stage, worker, a_task(stage, 1), a_task(stage, 2))
    assert answer == {
        "batchItemFailures": [
            {"itemIdentifier": {"partition": "tasks.worker.echo-0", "offset": 0}},
            {"itemIdentifier": {"partition": "tasks.worker.echo-0", "offset": 1}},
        ]
    }
    assert ends(stage) == {}


def test_a_record_with_one_task_that_must_come_again_comes_once(stage):
    stage.hot.forget()
    stage.log.send_work([a_task(stage, 1), a_task(stage, 2)])
    stage.log.flush()
    answer = stage.run(answering("done"), topics.worker(ECHO))
    assert answer == {
        "batchItemFailures": [{"itemIdentifier": {"partition": "tasks.worker.echo-0", "offset": 0}}]
    }


def test_without_the_log_the_whole_batch_comes_again(stage):
    stage.log.send_work([a_task(stage)])
    stage.log.flush()
    stage.log.is_away = True
    with pytest.raises(StoreUnavailable):
        stage.run(answering("done"), topics.worker(ECHO))
    stage.log.is_away = False
    assert stage.run(answering("again"), topics.worker(ECHO)) == {"batchItemFailures": []}
    assert set(ends(stage).values()) == {"done"}


def test_what_cannot_end_in_the_time_that_is_left_is_not_begun(stage):
    event = _batch(stage, [a_task(stage, number) for number in range(3)])
    called: list[Letter] = []
    worker = serve(Letter, called.append, concurrency=1)
    answer = worker(event, stage.context(lives=timedelta(seconds=20)))
    assert len(called) == 1, "the first of an invocation starts with what time there is"
    assert [one["itemIdentifier"]["offset"] for one in answer["batchItemFailures"]] == [1, 2]
    assert list(ends(stage).values()) == [None]


def test_with_no_time_left_nothing_is_begun(stage):
    event = _batch(stage, [a_task(stage, number) for number in range(2)])
    worker = serve(Letter, lambda _letter: pytest.fail("it was called"))
    answer = worker(event, stage.context(lives=timedelta(0)))
    assert [one["itemIdentifier"]["offset"] for one in answer["batchItemFailures"]] == [0, 1]
    assert stage.hot.records == {}


def test_a_record_that_comes_twice_runs_once(stage):
    calls: list[Letter] = []
    worker = serve(Letter, calls.append)
    task = a_task(stage)
    work(stage, worker, task)
    assert work(stage, worker, task) == {"batchItemFailures": []}
    assert len(calls) == 1


def test_the_catalogue_is_told_what_the_author_said():
    worker = serve(Letter, lambda _letter: None, max_attempts=9, timeout=timedelta(seconds=2.5))
    assert worker.payload_type is Letter
    assert (worker.defaults.max_attempts, worker.defaults.timeout_seconds) == (9, 2.5)


def _batch(stage, tasks):
    for task in tasks:
        stage.log.send_work([task])
    stage.log.flush()
    return a_kafka_event(stage.log.records(topics.worker(ECHO)))
