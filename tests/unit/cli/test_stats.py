"""The readable output of `taskmill stats`."""

from taskmill_local.cli.commands.stats import stats_text

NOBODY = dict.fromkeys(("critical", "high", "normal", "low", "alone"), 0)
IDLE = {
    "lane": "live",
    "waiting": NOBODY,
    "shelved": dict.fromkeys(("critical", "high", "normal", "low"), 0),
    "in_flight": 0,
    "oldest_wait_seconds": None,
    "pauses": [],
    "worker": {"state": "idle", "taken_at": None},
}
TOLD = {
    "as_of": "2026-11-18T17:00:00.000Z",
    "types": {
        "echo": {
            "depth": {"queued": 12, "running": 2, "retrying": 3},
            "priorities": {
                "high": {"queued": 5, "retrying": 3},
                "normal": {"queued": 7, "running": 2},
            },
            "in_line": 14,
            "oldest_wait_seconds": 80.0,
            "now": IDLE
            | {
                "waiting": NOBODY | {"high": 5, "normal": 9, "alone": 1},
                "in_flight": 2,
                "oldest_wait_seconds": 75.5,
                "worker": {"state": "takes", "taken_at": None},
            },
            "last_minute": {"submitted": 40, "succeeded": 38, "died": 1},
        },
        "mail": {
            "depth": {"retrying": 1},
            "priorities": {"normal": {"retrying": 1}},
            "in_line": 0,
            "oldest_wait_seconds": None,
            "now": IDLE,
            "last_minute": {},
        },
    },
    "in_flight": 2,
    "is_complete": True,
    "last_minute": {"submitted": 40, "succeeded": 38},
    "lag": {"dispatcher": 0, "recorder-events": 12},
    "enqueued": {"waiting": 3, "oldest_wait_seconds": 75.5, "parked": 1},
    "outbox": {"waiting": 2, "parked": 1},
}


def of_mail(**changes):
    """Return the text with one type, of which something is different."""
    one = TOLD["types"]["mail"]
    mail = one | {"now": one["now"] and one["now"] | changes}
    return stats_text(TOLD | {"types": {"mail": mail}}, width=None)


def test_the_figures_stand_in_columns():
    assert stats_text(TOLD, width=None).splitlines() == [
        "in the last minute: 40 submitted, 38 succeeded",
        "",
        "TYPE      WAITING  RUNNING  RETRYING  SCHEDULED  OLDEST   ENDED/MIN  WORKER",
        "echo      15       2        3         0          1.3 min  39         takes",
        "  high    5        0        3         0",
        "  normal  9        2        0         0",
        "  alone   1        0        0         0",
        "mail      0        0        1         0          -        0          idle",
        "",
        "READER           LAG",
        "dispatcher       0",
        "recorder-events  12",
        "",
        "enqueued requests: 3 waiting, the oldest for 1.3 min; 1 refused",
        "",
        "outbox: 2 waiting for Kafka; 1 refused by it",
        "",
        "ledger as of 2026-11-18T17:00:00.000Z",
    ]


def test_what_is_on_shelves_waits_too():
    shelved = {"critical": 0, "high": 4, "normal": 900_000, "low": 0}
    lines = of_mail(waiting=NOBODY | {"normal": 100_000}, shelved=shelved).splitlines()
    rows = [line for line in lines if line.startswith(("mail", "  high", "  normal"))]
    assert [row.split()[:2] for row in rows] == [
        ["mail", "1000004"],
        ["high", "4"],
        ["normal", "1000000"],
    ]
    assert max(map(len, rows)) <= 80


def test_a_shelf_that_nobody_knows_is_not_shown_as_empty():
    assert "mail  0+?" in of_mail(shelved=None)


def test_the_table_fits_a_terminal_of_80_columns():
    rows = stats_text(TOLD, width=None).splitlines()[2:8]
    assert max(map(len, rows)) <= 80


def test_a_lane_that_is_rebuilt_is_not_shown_as_empty():
    text = of_mail(lane="rebuilding", waiting=None, worker={"state": "unknown", "taken_at": None})
    assert "mail  ?" in text
    assert "mail: Redis lost its lane, which is being filled from the ledger" in text


def test_what_keeps_tasks_from_starting_is_said_below_the_table():
    pause = {"id": "all", "by": "ann", "at": "2026-11-06T21:20:00.123Z", "reason": "a move"}
    worker = {"state": "absent", "taken_at": None, "detail": "tasks wait, but nobody takes"}
    lines = of_mail(pauses=[pause], worker=worker).splitlines()
    assert "Everything is paused until it is resumed, by ann (a move)" in lines
    assert "mail: tasks wait, but nobody takes" in lines


def test_a_type_that_is_not_deployed_has_the_ledgers_figures():
    one = TOLD["types"]["mail"] | {"in_line": 4, "now": None}
    text = stats_text(TOLD | {"types": {"old": one}}, width=None)
    assert [line.split() for line in text.splitlines() if line.startswith("old")] == [
        ["old", "4", "0", "1", "0", "-", "0", "not", "deployed"]
    ]


def test_an_empty_system_says_so_and_a_full_one_that_there_is_more():
    answer = stats_text(TOLD | {"types": {}, "as_of": None, "is_complete": False}, width=None)
    assert "no tasks" in answer
    assert answer.endswith("more tasks are waiting.")
