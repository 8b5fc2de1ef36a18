"""Schedule commands send values as typed, and show readable times."""

import pytest

from taskmill_local.cli import main
from taskmill_local.cli.schedule_text import coming_rows, schedule_card, schedule_rows

SCHEDULE = {
    "name": "nightly",
    "cron": "30 2 * * *",
    "timezone": "Europe/Berlin",
    "dst": {"gap": "shift", "fold": "first"},
    "overlap": "skip",
    "catch_up": "all",
    "catch_up_window_seconds": 3600,
    "jitter_seconds": 60.0,
    "task": {"type": "echo", "payload": {"say": "é"}},
    "enabled": True,
    "managed": True,
    "revision": 7,
    "next_at": "2026-11-07T01:30:00.000Z",
    "last_at": "2026-11-06T01:30:00.000Z",
    "last_task_id": "t1",
    "last_refusal": {"type": "invalid_payload", "detail": "it does not fit"},
    "fired": 3,
    "skipped": 1,
    "missed": 2,
    "backfilled": 5,
    "changed_at": "2026-11-01T00:00:00.000Z",
}


@pytest.fixture
def asked(stub):
    """Return the sent requests, all of which are refused."""
    stub.answers({"detail": "no"}, status=422)
    return stub.requests


def test_what_is_wanted_goes_out_as_it_was_typed(asked):
    words = ["put", "nightly", "echo", '{"say": 1e400}', "--cron", "30 2 * * *", "--jitter", "5"]
    more = ["--timezone", "Europe/Berlin", "--gap", "shift", "--catch-up", "all", "--paused"]
    assert (
        main(["schedule", *words, *more, "--meta", "a=b", "--priority", "low", "--revision", "7"])
        == 2
    )
    ((method, target, body),) = asked
    assert (method, target) == ("PUT", "/v1/schedules/nightly")
    assert body == {
        "cron": "30 2 * * *",
        "timezone": "Europe/Berlin",
        "dst": {"gap": "shift"},
        "catch_up": "all",
        "jitter_seconds": 5.0,
        "enabled": False,
        "revision": 7,
        "task": {
            "type": "echo",
            "metadata": {"a": "b"},
            "priority": "low",
            "payload": {"say": float("inf")},
        },
    }


def test_one_that_is_new_has_its_name_in_the_request(asked):
    main(["schedule", "add", "pulse", "echo", "--every", "2"])
    assert asked == [
        (
            "POST",
            "/v1/schedules",
            {"every_seconds": 2, "name": "pulse", "task": {"type": "echo", "payload": {}}},
        )
    ]


@pytest.mark.parametrize(
    ("words", "method", "target", "body"),
    [
        (["list"], "GET", "/v1/schedules?limit=100", None),
        (["show", "a/b"], "GET", "/v1/schedules/a%2Fb", None),
        (["next", "a", "--count", "3"], "GET", "/v1/schedules/a/next?count=3", None),
        (["pause", "a"], "POST", "/v1/schedules/a/pause", None),
        (["resume", "a"], "POST", "/v1/schedules/a/resume", None),
        (["trigger", "a"], "POST", "/v1/schedules/a/trigger", None),
        (["delete", "a"], "DELETE", "/v1/schedules/a", None),
        (
            ["backfill", "a", "--from", "x", "--until", "y"],
            "POST",
            "/v1/schedules/a/backfill",
            {"from": "x", "until": "y"},
        ),
    ],
)
def test_each_verb_asks_for_one_thing(asked, words, method, target, body):
    assert main(["schedule", *words]) == 2
    assert asked == [(method, target, body)]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["put", "a", "echo"],
        ["put", "a", "echo", "--cron", "@daily", "--every", "2"],
        ["put", "a", "echo", "--every", "soon"],
        ["backfill", "a"],
    ],
)
def test_what_cannot_be_meant_is_said_in_one_line(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(["schedule", *words])
    assert left.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_schedule_is_shown_with_what_matters():
    shown = schedule_card(SCHEDULE)
    for line in (
        "when       30 2 * * * in Europe/Berlin",
        "catch up   all within 3600 s",
        'task       {"type": "echo", "payload": {"say": "é"}}',
        "refused    invalid_payload: it does not fit",
        "fires      3 fired, 1 skipped, 2 missed, 5 backfilled",
        "managed    declared in the folder of its type",
    ):
        assert line in shown
    paused = SCHEDULE | {"enabled": False, "paused_by": "ada", "paused_at": "2026-11-06T00:00:00Z"}
    assert "state      paused by ada at 2026-11-06T00:00:00Z" in schedule_card(paused)


def test_a_list_tells_when_each_fires():
    each = {name: value for name, value in SCHEDULE.items() if name not in {"cron", "next_at"}}
    _, first, second = schedule_rows([SCHEDULE, each | {"every_seconds": 2}])
    assert first[1:6] == ("30 2 * * *", "Europe/Berlin", "echo", "enabled", "2026-11-07 01:30:00")
    assert (second[1], second[5]) == ("every 2 s", "-")


def test_what_is_unusual_about_a_fire_is_said_in_words():
    coming = [
        {"reading": "2027-03-28T02:30:00", "mark": "skipped"},
        {"reading": "2027-10-31T02:30:00", "at": "2027-10-31T00:30:00.000Z", "mark": "first"},
        {"reading": "2027-11-01T02:30:00", "at": "2027-11-01T01:30:00.000Z"},
    ]
    assert coming_rows(coming)[1:] == [
        ("2027-03-28 02:30:00", "-", "skipped: clocks skip this time"),
        ("2027-10-31 02:30:00", "2027-10-31 00:30:00", "the first of two: clocks repeat this time"),
        ("2027-11-01 02:30:00", "2027-11-01 01:30:00", ""),
    ]
