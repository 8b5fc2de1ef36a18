"""Large payloads reach the worker, and large results are stored."""

import hashlib
import subprocess
import sys

import msgspec
import pytest
from msgspec import Raw, Struct

from taskmill.core.counting import Count
from taskmill.core.errors import BlobRefused, StoreUnavailable
from taskmill.core.facts import TaskDeferred, TaskDied, TaskSucceeded
from taskmill.core.pointers import POINTED_BYTES, Pointer
from taskmill.execution.outcome import RESULT_LIMIT
from taskmill.platform.loop_executor import LoopExecutor
from taskmill.worker import Succeeded, Task, serve
from tests.builders import an_envelope
from tests.unit.stage import Stage
from tests.unit.world import Instead


class Letter(Struct):
    to: str
    text: str = ""


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


@pytest.fixture
def looped(monkeypatch):
    executor = LoopExecutor()
    stage = Stage(executor=executor)
    stage.bind(monkeypatch)
    return stage


def uploaded(stage, content):
    digest = hashlib.sha256(content).hexdigest()
    key = f"payloads/echo/default/{digest}"
    stage.blobs.write(key, content)
    return Pointer(url=stage.blobs.url(key), size=len(content), sha256=digest)


def end_of(stage, worker, pointer=None, payload=b"{}", **fields):
    task = an_envelope(
        generation=stage.clock(),
        created_at_ms=stage.clock(),
        payload=Raw(b"null" if pointer else payload),
        payload_ref=pointer,
        **fields,
    )
    assert stage.deliver(worker, task) == {"batchItemFailures": []}
    return stage.log.facts()[-1]


def test_a_payload_that_was_uploaded_comes_decoded(stage):
    pointer = uploaded(stage, b'{"to": "me", "text": "' + b"x" * 500_000 + b'"}')
    fact = end_of(stage, serve(Letter, lambda letter: [letter.to, len(letter.text)]), pointer)
    assert fact.result == Raw(b'["me",500000]')


def test_a_payload_comes_as_bytes_to_who_asks_for_bytes(stage):
    content = bytes(range(256)) * 4
    worker = serve(bytes, lambda octets: hashlib.sha256(octets).hexdigest())
    pointer = uploaded(stage, content)
    assert msgspec.json.decode(end_of(stage, worker, pointer).result) == pointer.sha256


def test_bytes_that_are_sent_along_come_in_base64(stage):
    worker = serve(bytes, bytes.decode)
    assert end_of(stage, worker, payload=b'"aGVsbG8="').result == Raw(b'"hello"')


def test_the_task_tells_the_payload_that_was_fetched_and_where_it_was(stage):
    def perform(_letter: Letter, task: Task) -> object:
        return [msgspec.json.decode(task.payload)["to"], task.payload_ref]

    pointer = uploaded(stage, b'{"to": "me"}')
    (to, reply) = msgspec.json.decode(end_of(stage, serve(Letter, perform), pointer).result)
    assert (to, reply) == ("me", msgspec.to_builtins(pointer))


def refused(*_letter):
    raise AssertionError("it was called")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "is no longer at"),
        (b"hello", "is not the submitted payload"),
        (b'{"to": "yo"}', "is not the submitted payload"),
        (b'{"to": "me"}!', "is not the submitted payload"),
    ],
)
def test_a_payload_that_is_gone_or_another_kills_the_task_unseen(stage, found, why):
    pointer = uploaded(stage, b'{"to": "me"}')
    del stage.blobs.contents[pointer.url]
    if found is not None:
        stage.blobs.contents[pointer.url] = found
    fact = end_of(stage, serve(Letter, refused), pointer)
    assert isinstance(fact, TaskDied)
    assert (fact.reason, why in fact.error_message) == ("invalid_payload", True)


@pytest.mark.parametrize("content", [b"{", b'{"to": 1}', b"\xff", b"[" * 10_000])
def test_what_was_uploaded_must_fit_the_type(stage, content):
    fact = end_of(stage, serve(Letter, refused), uploaded(stage, content))
    assert (type(fact), fact.reason) == (TaskDied, "invalid_payload")


def test_a_bucket_that_is_away_costs_no_attempt(stage):
    pointer = uploaded(stage, b'{"to": "me"}')
    stage.blobs.is_away = True
    fact = end_of(stage, serve(Letter, refused), pointer, max_attempts=1)
    assert isinstance(fact, TaskDeferred)
    assert (fact.reason, fact.next_attempt) == ("snoozed", 1)
    assert "S3 cannot be reached" in fact.error_message


def test_a_bucket_that_refuses_costs_one(stage):
    def read(_url, *, most):
        raise BlobRefused(f"S3 answered 403, {most}")

    pointer = uploaded(stage, b'{"to": "me"}')
    stage.ports.blobs = Instead(stage.blobs, read=read)
    fact = end_of(stage, serve(Letter, refused), pointer)
    assert (type(fact), fact.error_class, fact.next_attempt) == (TaskDeferred, "BlobRefused", 2)


def large(_letter=None):
    return {"text": "x" * RESULT_LIMIT}


async def large_later(_letter):
    return large()


@pytest.mark.parametrize("perform", [large, lambda letter: Succeeded(large(letter))])
def test_a_large_result_is_kept_and_pointed_at(stage, perform):
    check_kept(stage, end_of(stage, serve(dict[str, str], perform)))


def test_a_large_result_of_an_async_worker_is_kept_too(looped):
    pointer = uploaded(looped, b"{}")
    check_kept(looped, end_of(looped, serve(dict[str, str], large_later), pointer))


def check_kept(stage, fact):
    assert isinstance(fact, TaskSucceeded)
    assert fact.result == Raw(b"null")
    content = msgspec.json.encode(large())
    digest = hashlib.sha256(content).hexdigest()
    assert fact.result_ref == Pointer(
        url=f"s3://memory/results/echo/{fact.id}/{digest}", size=len(content), sha256=digest
    )
    assert stage.blobs.contents[fact.result_ref.url] == content


def test_a_pointer_that_a_worker_answers_is_its_result(stage):
    pointer = Pointer(url="s3://memory/results/echo/mine.csv", size=1, sha256="0" * 64)
    fact = end_of(stage, serve(dict[str, str], lambda _nothing: pointer))
    assert (fact.result_ref, fact.result) == (pointer, Raw(b"null"))


def test_a_result_that_cannot_be_kept_is_tried_again_and_in_doubt(stage):
    def write(_key, _content):
        raise StoreUnavailable("S3", "it is set to be unavailable")

    stage.ports.blobs = Instead(stage.blobs, write=write)
    fact = end_of(stage, serve(dict[str, str], large))
    assert isinstance(fact, TaskDeferred)
    assert (fact.reason, fact.next_attempt) == ("failed", 2)
    assert "the result cannot be stored: S3" in fact.error_message
    assert stage.counters.total(Count.IN_DOUBT, type="echo") == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("x" * POINTED_BYTES, "the limit is 65536 inline, 20971520 in the bucket"),
        (["x" * RESULT_LIMIT, float("nan")], "NaN"),
        (["x" * RESULT_LIMIT, "\x00"], "NUL"),
        (["x" * RESULT_LIMIT, object()], "not JSON"),
    ],
)
def test_a_large_result_that_is_no_result_is_invalid_as_a_small_one(stage, answer, why):
    fact = end_of(stage, serve(dict[str, str], lambda _nothing: answer))
    assert (type(fact), fact.reason) == (TaskDied, "result_invalid")
    assert why in fact.error_message
    assert stage.blobs.contents == {}


def test_neither_the_bucket_nor_a_loop_costs_the_start_of_a_worker_that_needs_none():
    loaded = "import functions.workers.echo.handler, sys; print(*sys.modules)"
    reply = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True
    )
    costly = {"asyncio", "boto3", "http.client", "ssl", "taskmill.stores.s3.blobs"}
    assert costly & set(reply.stdout.split()) == set()
