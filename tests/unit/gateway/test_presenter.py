"""A client sees the whole task, as described."""

import msgspec
import pytest
from msgspec import Raw

from functions.gateway.http.problem import bad_request, too_large, unavailable, unprocessable
from functions.gateway.presenter import listed_as_json, moment, task_as_json, type_as_json
from taskmill.core.task import Millis, Status
from taskmill.core.view import Ending
from taskmill.stores.catalogue import AssembledCatalogue
from tests.unit.gateway.tasks import CREATED, ID, a_view

UNFIT = {"type": "invalid_request", "title": "Unprocessable Content", "status": 422}
QUEUED = {
    "id": ID,
    "type": "echo",
    "tenant": "default",
    "status": "queued",
    "attempt": 1,
    "max_attempts": 4,
    "losses": 0,
    "generation": 9,
    "created_at": "2026-11-06T21:20:00.123Z",
    "metadata": {},
    "priority": "normal",
    "payload_size": 2,
}
STARTED = {"started_at": "2026-11-06T21:20:00.623Z", "wait_ms": 500}


def shown(task):
    return msgspec.json.decode(msgspec.json.encode(task_as_json(task)))


def test_a_task_in_line_shows_what_was_asked():
    assert shown(a_view()) == QUEUED


def test_a_key_and_metadata_are_returned_as_they_came():
    metadata = {"é": '"\\{{}}', "": "\u202e"}
    about = {"idempotency_key": "order 17", "metadata": metadata}
    assert shown(a_view(about)) == QUEUED | about


def test_a_running_task_shows_how_long_it_waited():
    running = a_view(status=Status.RUNNING, started_at_ms=Millis(CREATED + 500), losses=1)
    assert shown(running) == QUEUED | STARTED | {"status": "running", "losses": 1}


def test_a_task_that_began_again_waited_until_its_first_start():
    running = a_view(
        status=Status.RUNNING,
        started_at_ms=Millis(CREATED + 60_000),
        first_started_at_ms=Millis(CREATED + 500),
    )
    assert shown(running)["wait_ms"] == 500
    assert shown(running)["started_at"] == "2026-11-06T21:21:00.123Z"


@pytest.mark.parametrize("result", [b"null", b'{"a":[1]}', b'"\xc3\xa9"', b"0"])
def test_a_task_that_succeeded_shows_its_result(result):
    task = a_view(
        status=Status.SUCCEEDED,
        started_at_ms=Millis(CREATED + 500),
        ending=Ending(finished_at_ms=Millis(CREATED + 1_500)),
        result=Raw(result),
    )
    assert shown(task) == QUEUED | STARTED | {
        "status": "succeeded",
        "finished_at": "2026-11-06T21:20:01.623Z",
        "duration_ms": 1_000,
        "result": msgspec.json.decode(result),
    }


def test_a_dead_task_shows_why():
    ending = Ending(
        finished_at_ms=Millis(CREATED), reason="failed", error_class="KeyError", error_message="'x'"
    )
    assert shown(a_view(status=Status.DEAD, ending=ending)) == QUEUED | {
        "status": "dead",
        "finished_at": "2026-11-06T21:20:00.123Z",
        "reason": "failed",
        "error": {"class": "KeyError", "message": "'x'"},
    }


def test_a_stack_is_shown_with_one_task_and_with_the_dead_and_not_in_lists():
    ending = Ending(
        finished_at_ms=Millis(CREATED),
        reason="failed",
        error_class="KeyError",
        error_message="'x'",
        stack="here",
    )
    task = a_view(status=Status.DEAD, ending=ending)
    error = {"class": "KeyError", "message": "'x'"}
    assert task_as_json(task)["error"] == error | {"stack": "here"}
    assert listed_as_json(task)["error"] == error
    assert listed_as_json(task, with_stack=True)["error"] == error | {"stack": "here"}


def test_clocks_that_disagree_make_no_negative_spans():
    task = a_view(
        status=Status.SUCCEEDED,
        started_at_ms=Millis(CREATED - 5),
        ending=Ending(finished_at_ms=Millis(CREATED - 9)),
        result=Raw(b"1"),
    )
    assert (shown(task)["wait_ms"], shown(task)["duration_ms"]) == (0, 0)


def test_a_moment_always_has_milliseconds_and_its_zone():
    assert [moment(Millis(at)) for at in (0, 999, 1_000)] == [
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:00.999Z",
        "1970-01-01T00:00:01.000Z",
    ]


def test_a_type_shows_its_schema_its_defaults_and_its_limits():
    echo = AssembledCatalogue().entry("echo")
    assert msgspec.json.decode(msgspec.json.encode(type_as_json(echo))) == {
        "name": "echo",
        "title": echo.title,
        "schema": echo.schema,
        "defaults": {
            "max_attempts": 4,
            "timeout_seconds": 30.0,
            "retry": {"first_seconds": 1.0, "factor": 2.0, "cap_seconds": 300.0},
            "priority": "normal",
        },
        "limits": {"timeout_seconds": 300.0},
    }


@pytest.mark.parametrize(
    ("problem", "answer"),
    [
        (bad_request("why"), {"type": "bad_request", "title": "Bad Request", "status": 400}),
        (
            too_large("payload_too_large", "why", "/payload"),
            {
                "type": "payload_too_large",
                "title": "Content Too Large",
                "status": 413,
                "field": "/payload",
            },
        ),
        (unprocessable("invalid_request", "why", ""), UNFIT | {"field": ""}),
        (unprocessable("invalid_request", "why"), UNFIT),
        (
            unavailable("why", 1),
            {"type": "unavailable", "title": "Service Unavailable", "status": 503},
        ),
    ],
)
def test_a_problem_tells_its_kind_its_status_and_what_is_wrong(problem, answer):
    assert problem.as_json() == {"detail": "why"} | answer
