"""When a zone's rules change, a moved instant fires once, at its new time.

A process keeps the rules that it has read; other ones come with another process.
"""

import pytest

from taskmill.schedules.catch_up import CatchUp
from taskmill.schedules.schedule import FireTally
from tests.unit.schedules.conftest import ZONE
from tests.unit.schedules.scheduling import HOUR, MINUTE, Scheduling

MIDNIGHT = 86_400
"""In seconds, since the time from which the desk counts."""

NIGHTLY = {"cron": "0 2 * * *", "timezone": ZONE}


@pytest.fixture
def scheduling():
    scheduling = Scheduling()
    scheduling.now += 12 * HOUR
    return scheduling


def fire_each_minute(scheduling, span):
    for _ in range(span // MINUTE):
        scheduling.fire(behind=MINUTE)


def test_an_instant_that_moves_behind_what_was_foreseen_fires_then(scheduling, rules):
    rules(2)
    seen = scheduling.make(**NIGHTLY)
    scheduling.now = seen.next_at_ms - HOUR
    rules(1)
    fire_each_minute(scheduling, 3 * HOUR)
    assert scheduling.fired() == [MIDNIGHT + 3_600]
    assert scheduling.seen().tally == FireTally(fired=1)


@pytest.mark.parametrize(
    ("catch_up", "tally"),
    [(CatchUp.ONE, FireTally(fired=1)), (CatchUp.NONE, FireTally(missed=1))],
)
def test_an_instant_that_moves_before_what_was_foreseen_is_late_by_as_much(
    scheduling, rules, catch_up, tally
):
    rules(1)
    seen = scheduling.make(**NIGHTLY, catch_up=catch_up)
    scheduling.now = seen.next_at_ms - 2 * HOUR
    rules(2)
    fire_each_minute(scheduling, 3 * HOUR)
    assert scheduling.fired() == [MIDNIGHT] * tally.fired
    assert scheduling.seen().tally == tally
    assert scheduling.seen().next_at_ms == seen.next_at_ms + 23 * HOUR


@pytest.mark.parametrize(
    ("catch_up", "fired", "tally"),
    [
        (CatchUp.ONE, [0, 1, 25], FireTally(fired=3)),
        (CatchUp.NONE, [0, 25], FireTally(fired=2, missed=1)),
    ],
)
def test_what_fired_by_the_rules_before_is_another_instant_by_those_behind(
    scheduling, rules, catch_up, fired, tally
):
    """It is made up for a day later, when the next one was foreseen, unless nothing is."""
    rules(2)
    seen = scheduling.make(**NIGHTLY, catch_up=catch_up)
    scheduling.now = seen.next_at_ms - MINUTE
    fire_each_minute(scheduling, MINUTE)
    rules(1)
    fire_each_minute(scheduling, 26 * HOUR)
    assert scheduling.fired() == [MIDNIGHT + 3_600 * hours for hours in fired]
    assert scheduling.seen().tally == tally
