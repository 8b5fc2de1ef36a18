"""Tasks and refusals as text."""

import pytest

from taskmill_local.cli.api import Answer, problem_sentence
from taskmill_local.cli.text import aligned, span, task_card, why


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(None, "-"), (0, "0 ms"), (999, "999 ms"), (1_000, "1.0 s"), (90_000, "1.5 min")],
)
def test_a_span_has_the_unit_that_fits(milliseconds, text):
    assert span(milliseconds) == text


def test_columns_are_as_wide_as_their_widest_cell_and_lines_end_at_the_width():
    rows = [("ID", "STATUS"), ("7", "succeeded")]

    assert aligned(rows) == "ID  STATUS\n7   succeeded"
    assert aligned(rows, width=8) == "ID  STA…\n7   suc…"


EXITED = "failed: SystemExit: 3"


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ({}, ""),
        ({"reason": "expired"}, "expired"),
        ({"reason": "failed", "error": {"class": "E", "message": "no"}}, "failed: E: no"),
        (
            {"reason": "failed", "error": {"class": "ValueError", "message": ""}},
            "failed: ValueError",
        ),
        ({"reason": "failed", "error": {"class": "SystemExit", "message": "3"}}, EXITED),
        ({"reason": "failed", "error": {"class": "Retry", "message": "busy"}}, "failed: busy"),
        ({"reason": "timeout", "error": {"class": "TimedOut", "message": "5 s"}}, "timeout: 5 s"),
    ],
)
def test_why_a_task_failed_is_its_reason_and_the_words_of_its_worker(task, text):
    assert why(task) == text


def test_a_card_leaves_out_what_is_not_known():
    task = {
        "id": "42",
        "type": "echo",
        "status": "queued",
        "attempt": 1,
        "max_attempts": 4,
        "created_at": "2026-01-31T12:00:00.000Z",
        "metadata": {},
    }

    assert task_card(task) == (
        "42\n"
        "  type     echo\n"
        "  status   queued\n"
        "  attempt  1 of 4\n"
        "  created  2026-01-31T12:00:00.000Z"
    )


def test_a_card_ends_with_the_stack():
    task = {
        "id": "42",
        "type": "echo",
        "status": "dead",
        "attempt": 1,
        "max_attempts": 1,
        "created_at": "2026-01-31T12:00:00.000Z",
        "metadata": {},
        "reason": "failed",
        "error": {"class": "KeyError", "message": "'x'", "stack": "Traceback\n  a line"},
    }
    *_, reason, raised, first, second = task_card(task).splitlines()
    assert reason == "  reason   failed: KeyError: 'x'"
    assert (raised, first, second) == ("  raised at", "    Traceback", "      a line")


@pytest.mark.parametrize("result", [None, 0, False, "", {}])
def test_a_result_is_shown_whatever_it_is(result):
    task = {
        "id": "42",
        "type": "echo",
        "status": "succeeded",
        "attempt": 1,
        "max_attempts": 4,
        "created_at": "now",
        "metadata": {},
        "result": result,
    }

    assert "\n  result " in task_card(task)


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (
            422,
            {"type": "invalid_payload", "detail": "too long", "field": "/payload/say"},
            "invalid_payload: too long (at /payload/say)",
        ),
        (404, {"message": "Not Found"}, "HTTP 404: Not Found"),
        (500, {}, "HTTP 500: no reason was given"),
    ],
)
def test_a_refusal_becomes_a_sentence(status, body, sentence):
    assert problem_sentence(Answer(status, body)) == sentence
