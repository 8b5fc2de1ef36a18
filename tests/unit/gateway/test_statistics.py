"""Statistics by type: what waits, since when, what runs and what happened."""

import pytest
from msgspec.structs import replace

from taskmill.core.task import TaskType, Timing
from tests.builders import an_envelope, cancelled, deferred, died, started, succeeded
from tests.contracts.ledgers import batch_of
from tests.unit.gateway.calls import get
from tests.unit.stage import NOW, Stage

MAIL = TaskType("email")


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def a_task(number, *, age=0, **changes):
    """Return a task that is so many seconds old when the stage begins."""
    at = NOW - 1000 * age
    named = {"id": f"01a31edd-2c00-7000-8000-{number:012d}"}
    return an_envelope(**named | {"generation": at, "created_at_ms": at} | changes)


def told(stage, *events):
    stage.ledger.record(batch_of(*events))
    return get(stage, "/v1/stats").body


def test_nothing_waits_in_an_empty_system(stage):
    figures = told(stage)
    assert (figures["types"], figures["in_flight"]) == ({}, 0)
    assert set(figures["last_minute"].values()) == {0}


def test_what_runs_is_in_flight_whatever_its_type(stage):
    running = [a_task(1), a_task(2), a_task(3, type=MAIL)]
    figures = told(stage, *running, *map(started, running), a_task(4))
    assert figures["in_flight"] == 3
    assert figures["types"]["echo"]["depth"] == {"running": 2, "queued": 1}
    assert figures["types"]["email"]["depth"] == {"running": 1}
    assert figures["types"]["email"]["oldest_wait_seconds"] is None


def test_the_oldest_wait_is_that_of_the_first_in_line(stage):
    figures = told(stage, a_task(1, age=30), a_task(2, age=90.5), a_task(3, type=MAIL, age=4))
    waits = {name: one["oldest_wait_seconds"] for name, one in figures["types"].items()}
    assert waits == {"echo": 90.5, "email": 4}


def test_what_waits_for_a_time_stands_in_line_once_that_has_come(stage):
    """The ledger calls it retrying or scheduled until it begins."""
    retried, later = a_task(1, age=100), a_task(2, age=200)
    delayed = a_task(3, age=300, timing=Timing(run_at_ms=NOW - 45_000))
    facts = [deferred(retried, due_at_ms=NOW - 20_000), deferred(later, due_at_ms=NOW + 20_000)]
    echo = told(stage, retried, later, delayed, *facts, a_task(4, age=10))["types"]["echo"]
    assert echo["depth"] == {"retrying": 2, "scheduled": 1, "queued": 1}
    assert (echo["in_line"], echo["oldest_wait_seconds"]) == (3, 45)


def test_what_is_redriven_waits_since_then(stage):
    dead = a_task(1, age=500)
    again = a_task(1, age=500, generation=NOW - 3000)
    echo = told(stage, dead, died(dead), again)["types"]["echo"]
    assert (echo["depth"], echo["oldest_wait_seconds"]) == ({"queued": 1}, 3)


def test_what_happened_of_late_is_told_of_each_type(stage):
    one, two, three = a_task(1), a_task(2), a_task(3, type=MAIL)
    figures = told(stage, one, two, three, succeeded(one), deferred(two), cancelled(three))
    none = dict.fromkeys(("submitted", "succeeded", "retried", "died", "cancelled", "lost"), 0)
    assert figures["types"]["echo"]["last_minute"] == none | {
        "submitted": 2,
        "succeeded": 1,
        "retried": 1,
    }
    assert figures["types"]["email"]["last_minute"] == none | {"submitted": 1, "cancelled": 1}
    assert figures["last_minute"] == none | {
        "submitted": 3,
        "succeeded": 1,
        "retried": 1,
        "cancelled": 1,
    }


def test_what_happened_to_types_that_nobody_deployed_has_one_word(stage):
    odd = [a_task(number, type=TaskType(f"odd-{number}")) for number in range(5)]
    figures = told(stage, *odd, *map(died, odd))
    assert list(figures["types"]) == ["other"]
    assert figures["types"]["other"]["last_minute"]["died"] == 5


def test_what_an_older_recorder_wrote_counts_in_the_sum_alone(stage):
    """It told no type beside its facts."""
    done = a_task(1)
    stage.ledger.record(batch_of(done, succeeded(done)))
    history = stage.ledger.history
    history.update((name, replace(one, type=None)) for name, one in history.items())
    figures = told(stage)
    assert (figures["types"], figures["last_minute"]["succeeded"]) == ({}, 1)
