"""Pause commands name a type or everything, and say what is paused until when."""

import json

import pytest

from taskmill_local.cli import main

PAUSE = {"id": "type:echo", "type": "echo", "by": "ops", "at": "2026-11-06T21:20:00.123Z"}
UNTIL = PAUSE | {"until": "2026-11-06T21:30:00.123Z", "reason": "the bank is down"}
ALL = {"id": "all", "by": "anybody", "at": "2026-11-06T21:20:00.123Z"}
LATER = "Redis is unavailable: this takes effect about a second after Redis is back."


@pytest.mark.parametrize(
    ("words", "method", "target", "body"),
    [
        (["pause"], "POST", "/v1/pauses", {}),
        (["pause", "echo"], "POST", "/v1/pauses", {"type": "echo"}),
        (
            ["pause", "echo", "--for", "10m", "--reason", "slow"],
            "POST",
            "/v1/pauses",
            {"type": "echo", "seconds": 600, "reason": "slow"},
        ),
        (["pause", "--until", "T"], "POST", "/v1/pauses", {"until": "T"}),
        (["resume"], "DELETE", "/v1/pauses/all", None),
        (["resume", "a/b"], "DELETE", "/v1/pauses/type:a%2Fb", None),
        (["pauses"], "GET", "/v1/pauses", None),
    ],
)
def test_each_command_asks_for_one_thing(stub, words, method, target, body):
    stub.answers({"detail": "no"}, status=422)
    assert main(words) == 2
    assert stub.requests == [(method, target, body)]


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7_200), ("1d", 86_400)],
)
def test_a_span_has_a_unit(stub, words, seconds):
    stub.answers(PAUSE)
    main(["pause", "--for", words])
    ((_, _, body),) = stub.requests
    assert body == {"seconds": seconds}


@pytest.mark.parametrize("words", ["0", "-1m", "m", "", "10 minutes", "nan", "infd", "10ms"])
def test_what_is_no_span_is_refused(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(["pause", f"--for={words}"])
    assert left.value.code == 2
    assert "give a time above 0, such as 90s, 10m, 2h or 1d" in capsys.readouterr().err


def test_a_pause_has_one_end(capsys):
    with pytest.raises(SystemExit) as left:
        main(["pause", "--for", "10m", "--until", "T"])
    assert left.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "answer", "sentence"),
    [
        (["pause", "echo"], PAUSE, "echo is paused until it is resumed."),
        (["pause", "echo"], UNTIL, "echo is paused until 2026-11-06 21:30:00 UTC."),
        (["pause"], ALL, "Everything is paused until it is resumed."),
        (["resume", "echo"], UNTIL, "echo is resumed."),
        (
            ["resume"],
            ALL | {"lanes": "deferred"},
            f"Everything is resumed. {LATER}",
        ),
    ],
)
def test_a_change_is_said_in_one_line(stub, words, answer, sentence, capsys):
    stub.answers(answer)
    assert main(words) == 0
    assert capsys.readouterr().out == f"{sentence}\n"


def test_a_list_shows_what_is_paused_and_why(stub, capsys):
    stub.answers({"pauses": [ALL, UNTIL]})
    assert main(["pauses"]) == 0
    head, everything, echo = capsys.readouterr().out.splitlines()
    assert head.split() == ["TYPE", "UNTIL", "SINCE", "BY", "REASON"]
    assert everything == ("every type  resumed              2026-11-06 21:20:00  anybody")
    assert echo == (
        "echo        2026-11-06 21:30:00  2026-11-06 21:20:00  ops      the bank is down"
    )


def test_without_a_pause_that_is_said(stub, capsys):
    stub.answers({"pauses": []})
    assert main(["pauses"]) == 0
    assert capsys.readouterr().err == "Nothing is paused.\n"


def test_a_pause_that_is_not_there_is_not_found(stub, capsys):
    stub.answers({"type": "not_found", "detail": "there is no pause all"}, status=404)
    assert main(["resume"]) == 1
    assert "there is no pause all" in capsys.readouterr().err


def test_json_is_printed_as_it_came(stub, capsys):
    stub.answers(UNTIL)
    main(["pause", "echo", "--json"])
    assert json.loads(capsys.readouterr().out) == UNTIL
