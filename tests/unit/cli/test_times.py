"""Times are sent as typed and shown again."""

from typing import get_args

from taskmill.core.task import PriorityName
from taskmill_local.cli.arguments import parser
from taskmill_local.cli.commands import ask, control
from taskmill_local.cli.control_words import PRIORITIES
from taskmill_local.cli.text import task_card

TASK = {
    "id": "t1",
    "type": "echo",
    "status": "scheduled",
    "attempt": 1,
    "max_attempts": 4,
    "created_at": "2026-11-06T21:20:00.000Z",
    "run_at": "2026-11-06T22:20:00.000Z",
    "expires_at": "2026-11-07T21:20:00.000Z",
    "metadata": {},
}


def test_a_submission_says_when_it_may_begin_and_when_it_is_too_late(stub):
    stub.answers({}, {}, status=422)
    words = ["submit", "echo", "--delay", "90", "--expires-at", TASK["expires_at"]]
    ask.submit(parser().parse_args(words))
    ask.submit(parser().parse_args(["submit", "echo", "--run-at", TASK["run_at"]]))
    answer = [body for _, _, body in stub.requests]
    assert (answer[0]["delay_seconds"], answer[0]["expires_at"]) == (90, TASK["expires_at"])
    assert answer[1]["run_at"] == TASK["run_at"]


def test_a_submission_says_how_urgent_it_is_and_for_whom(stub):
    stub.answers({}, {}, status=422)
    words = ["--priority", "high", "--fairness-key", "customer 7"]
    ask.submit(parser().parse_args(["submit", "echo", *words]))
    control.change(parser().parse_args(["change", "t1", "--priority", "low"]))
    (_, _, submission), change = stub.requests
    assert (submission["priority"], submission["fairness_key"]) == ("high", "customer 7")
    assert change == ("PATCH", "/v1/tasks/t1", {"priority": "low"})


def test_the_priorities_are_those_of_the_api():
    assert get_args(PriorityName) == PRIORITIES


def test_a_task_shows_how_urgent_it_is_and_for_whom():
    shown = task_card(TASK | {"priority": "high", "fairness_key": "customer 7"})
    assert "priority      high" in shown
    assert "fairness key  customer 7" in shown


def test_a_task_that_waits_shows_its_times():
    shown = task_card(TASK)
    assert "begins   2026-11-06T22:20:00.000Z" in shown
    assert "expires  2026-11-07T21:20:00.000Z" in shown
