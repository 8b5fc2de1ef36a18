"""`taskmill types` shows what waits, pauses, and why a worker does not start."""

import pytest

from taskmill_local.cli import main

NOBODY = dict.fromkeys(("critical", "high", "normal", "low", "alone"), 0)
NOW = {
    "lane": "live",
    "waiting": NOBODY,
    "shelved": dict.fromkeys(("critical", "high", "normal", "low"), 0),
    "in_flight": 0,
    "oldest_wait_seconds": None,
    "pauses": [],
    "worker": {"state": "idle", "taken_at": None},
}
ECHO = {
    "name": "echo",
    "title": "Echo",
    "schema": {"properties": {"say": {"type": "string"}}},
    "defaults": {"max_attempts": 4, "timeout_seconds": 30.0},
    "limits": {"timeout_seconds": 30.0},
}
PAGE = {
    "functions": {"EchoWorker": {"start_error": None, "log": "/home/logs/EchoWorker.log"}},
    "mappings": {
        "EchoWorkerTasks": {"topic": "tasks.worker.echo", "function": "EchoWorker"},
        "DispatcherPending": {"topic": "tasks.pending", "function": "EchoWorker"},
    },
}


@pytest.fixture
def shown(stub, capsys):
    def shown(page=PAGE, **now):
        stub.answers({"types": [ECHO | {"now": NOW | now}]}, page)
        assert main(["types"]) == 0
        return capsys.readouterr().out.splitlines()

    return shown


def test_an_idle_type_is_shown_between_its_limits_and_its_fields(shown):
    assert shown() == [
        "echo  Echo",
        "  by default 4 attempts, 30 s each",
        "  now none waiting, 0 in flight, worker is idle",
        "  say  string",
    ]


def test_what_waits_is_shown_by_priority(shown):
    lines = shown(
        waiting=NOBODY | {"high": 2, "normal": 1_000},
        in_flight=7,
        oldest_wait_seconds=75.5,
        worker={"state": "takes", "taken_at": "2026-11-06T21:20:00.123Z"},
    )
    assert (
        "  now 1002 waiting (2 high, 1000 normal; the oldest for 1.3 min), 7 in flight,"
        " worker takes tasks"
    ) in lines


def test_pauses_are_shown_with_who_why_and_until_when(shown):
    everything = {"id": "all", "by": "ann", "at": "2026-11-06T21:20:00.123Z"}
    own = everything | {
        "id": "type:echo",
        "type": "echo",
        "until": "2026-11-06T21:30:00.123Z",
        "reason": "a move",
    }
    lines = shown(pauses=[everything, own])
    assert "  Everything is paused until it is resumed, by ann" in lines
    assert "  echo is paused until 2026-11-06 21:30:00 UTC, by ann (a move)" in lines


def test_a_lane_that_is_rebuilt_says_so_and_shows_no_numbers(shown):
    lines = shown(
        lane="rebuilding",
        waiting=None,
        in_flight=None,
        worker={"state": "unknown", "taken_at": None},
    )
    assert "  now Redis lost its lane, which is being filled from the ledger" in lines
    assert not [line for line in lines if "waiting" in line or "in flight" in line]


def test_a_missing_worker_is_shown_with_the_error_of_its_start(shown):
    failed = {"start_error": "No module named 'x'", "log": "/home/logs/EchoWorker.log"}
    lines = shown(
        PAGE | {"functions": {"EchoWorker": failed}},
        waiting=NOBODY | {"normal": 1},
        oldest_wait_seconds=60,
        worker={"state": "absent", "taken_at": None, "detail": "tasks wait, but nobody takes"},
    )
    assert lines[3:5] == [
        "  echo: tasks wait, but nobody takes",
        "  its worker does not start: No module named 'x'; its log: /home/logs/EchoWorker.log",
    ]


def test_a_deployment_has_no_page_of_its_platform(shown):
    assert not [line for line in shown(page={"detail": "no"}) if "does not start" in line]


def test_as_json_it_is_what_the_api_answers(stub, capsys):
    stub.answers({"types": [ECHO | {"now": NOW}]})
    assert main(["types", "--json"]) == 0
    assert '"lane": "live"' in capsys.readouterr().out
    assert len(stub.requests) == 1


def test_what_is_on_the_shelf_is_shown_beside_what_waits(shown):
    lines = shown(shelved={"critical": 0, "high": 2, "normal": 900_000, "low": 0})
    assert "  now none waiting, 900002 on its shelf, 0 in flight, worker is idle" in lines


def test_a_shelf_that_nobody_knows_is_not_shown_as_empty(shown):
    assert "  now none waiting, its shelf unknown, 0 in flight, worker is idle" in shown(
        shelved=None
    )
