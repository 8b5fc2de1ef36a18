"""The readable output of `taskmill stats`."""

from taskmill_local.cli.commands.stats import stats_text

TOLD = {
    "as_of": "2026-11-18T17:00:00.000Z",
    "types": {
        "echo": {
            "depth": {"queued": 12, "running": 2, "retrying": 3},
            "in_line": 14,
            "oldest_wait_seconds": 75.5,
            "last_minute": {"submitted": 40, "succeeded": 38, "died": 1},
        },
        "mail": {
            "depth": {"retrying": 1},
            "in_line": 0,
            "oldest_wait_seconds": None,
            "last_minute": {},
        },
    },
    "in_flight": 2,
    "is_complete": True,
    "last_minute": {"submitted": 40, "succeeded": 38},
    "lag": {"dispatcher": 0, "worker-echo": 12},
    "enqueued": {"waiting": 3, "oldest_wait_seconds": 75.5, "parked": 1},
    "outbox": {"waiting": 2, "parked": 1},
}


def test_the_figures_stand_in_columns():
    assert stats_text(TOLD, width=None).splitlines() == [
        "in the last minute: 40 submitted, 38 succeeded",
        "",
        "TYPE  QUEUED  RUNNING  RETRYING  SCHEDULED  WAITING  OLDEST WAIT  ENDED/MIN",
        "echo  12      2        3         0          14       1.3 min      39",
        "mail  0       0        1         0          0        -            0",
        "",
        "READER       LAG",
        "dispatcher   0",
        "worker-echo  12",
        "",
        "enqueued requests: 3 waiting, the oldest for 1.3 min; 1 refused",
        "",
        "outbox: 2 waiting for Kafka; 1 refused by it",
        "",
        "ledger as of 2026-11-18T17:00:00.000Z",
    ]


def test_an_empty_system_says_so_and_a_full_one_that_there_is_more():
    answer = stats_text(TOLD | {"types": {}, "as_of": None, "is_complete": False}, width=None)
    assert "no tasks" in answer
    assert answer.endswith("more tasks are waiting.")
