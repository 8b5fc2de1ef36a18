"""Untrusted text is shown without controlling the terminal."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskmill_local.cli import main
from taskmill_local.cli.printing import as_line, page

EVIL = "\x1b[2J\x07\r\x9b31m\u202e\ud800\nstatus   succeeded"
TASK = {
    "id": "t1",
    "type": "webhook",
    "status": "dead",
    "attempt": 1,
    "max_attempts": 4,
    "created_at": "2026-11-06T21:20:00.000Z",
    "metadata": {EVIL: EVIL},
    "reason": "failed",
    "error": {"class": "E", "message": EVIL},
    "result": {"of": EVIL},
    "payload": [EVIL],
}
DEAD = TASK | {
    "last_failed_at": "2026-11-06T21:20:00.000Z",
    "first_failed_at": "2026-11-06T21:20:00.000Z",
    "losses": 0,
}
FACT = {
    "kind": "died",
    "at": "now",
    "generation": 1,
    "turn": 1,
    "reason": EVIL,
    "error": {"message": EVIL},
}
RECORD = {"id": "a:0:1:0", "at": "now", "size": 3, "reason": EVIL}
COMMANDS = [
    (["status", "t1"], TASK, 9),
    (["list"], {"tasks": [TASK]}, 2),
    (["dead"], {"tasks": [DEAD]}, 2),
    (["history", "t1"], {"facts": [FACT]}, 2),
    (["redrive", "t1"], TASK, 9),
    (["quarantine"], {"records": [RECORD]}, 2),
    (["quarantine", "x"], RECORD | {"headers_base64": {EVIL: ""}, "value_base64": ""}, 5),
    (
        ["enqueued"],
        {"requests": [{"task_id": "t", "enqueued_at": "now", "size": 1, "detail": EVIL}]},
        2,
    ),
    (["endpoints"], {"endpoints": [{"url": EVIL, "disabled_at": "now"}]}, 2),
]
HARMFUL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.mark.parametrize(("arguments", "body", "lines"), COMMANDS)
def test_no_text_from_outside_commands_the_terminal_or_forges_a_line(
    arguments, body, lines, stub, capsys
):
    stub.answers(body)
    main(arguments)
    answer = capsys.readouterr().out
    assert HARMFUL.findall(answer) == []
    assert len(answer.splitlines()) == lines
    assert "\\x1b[2J" in answer


@pytest.mark.parametrize(("arguments", "body", "lines"), COMMANDS)
def test_json_is_what_was_answered_and_harmless_as_well(arguments, body, lines, stub, capsys):
    stub.answers(body)
    main([*arguments, "--json"])
    answer = capsys.readouterr().out
    assert HARMFUL.findall(answer) == []
    assert json.loads(answer) == body


def test_a_refusal_is_one_harmless_line(stub, capsys):
    stub.answers({"type": "invalid_request", "detail": EVIL, "field": EVIL}, status=422)
    assert main(["list"]) == 2
    answer = capsys.readouterr().err
    assert (HARMFUL.findall(answer), len(answer.splitlines())) == ([], 1)


@given(st.text())
def test_whatever_the_text_it_is_one_line_that_can_be_written(text):
    assert HARMFUL.findall(as_line(text)) == []
    assert len(as_line(text).splitlines()) <= 1
    as_line(text).encode()


@given(st.text())
def test_a_page_keeps_its_lines_and_tabs_and_nothing_else(text):
    assert HARMFUL.findall(page(text).replace("\t", "")) == []
    assert page(text).count("\n") == text.count("\n")
