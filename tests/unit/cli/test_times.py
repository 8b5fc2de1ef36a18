"""Times are sent as typed and shown again."""

from taskmill_local.cli.arguments import parser
from taskmill_local.cli.commands import ask
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


def test_a_task_that_waits_shows_its_times():
    shown = task_card(TASK)
    assert "begins   2026-11-06T22:20:00.000Z" in shown
    assert "expires  2026-11-07T21:20:00.000Z" in shown
