"""After downtime a schedule fires as its policy says, and counts the rest."""

from datetime import UTC, datetime, timedelta

import pytest

from taskmill.schedules.catch_up import CatchUp, Lateness, due
from taskmill.schedules.occurrences import Calendar, Every, read_calendar

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
NOW = datetime(2027, 1, 1, 12, 0, 0, tzinfo=UTC)
MINUTELY = Calendar(rule=Every(period=MINUTE))


def ago(*minutes):
    return [NOW - n * MINUTE for n in minutes]


@pytest.mark.parametrize(
    ("catch_up", "fired", "skipped"),
    [(CatchUp.NONE, (), 3), (CatchUp.ONE, (1,), 2), (CatchUp.ALL, (3, 2, 1), 0)],
)
def test_three_missed_instants_are_skipped_or_one_or_all_fire(catch_up, fired, skipped):
    now = NOW - 20 * SECOND
    given = Lateness(catch_up=catch_up, on_time=10 * SECOND)
    found = due(MINUTELY, given, behind=NOW - 4 * MINUTE, now=now)
    assert found.to_fire == ago(*fired)
    assert found.skipped == skipped
    assert found.next_at == NOW


@pytest.mark.parametrize(
    ("catch_up", "fired", "skipped"),
    [(CatchUp.NONE, (0,), 3), (CatchUp.ONE, (0,), 3), (CatchUp.ALL, (3, 2, 1, 0), 0)],
)
def test_one_that_is_on_time_fires_by_every_policy_and_stands_for_those_before(
    catch_up, fired, skipped
):
    found = due(
        MINUTELY, Lateness(catch_up=catch_up), behind=NOW - 4 * MINUTE, now=NOW + 5 * SECOND
    )
    assert found.to_fire == ago(*fired)
    assert found.skipped == skipped


def test_of_all_only_those_within_the_window_fire():
    given = Lateness(catch_up=CatchUp.ALL, window=5 * MINUTE)
    found = due(MINUTELY, given, behind=NOW - 60 * MINUTE, now=NOW + SECOND)
    assert found.to_fire == ago(4, 3, 2, 1, 0)
    assert found.skipped == 55


def test_of_too_many_the_latest_fire():
    given = Lateness(catch_up=CatchUp.ALL, most=3)
    found = due(MINUTELY, given, behind=NOW - 60 * MINUTE, now=NOW)
    assert found.to_fire == ago(2, 1, 0)
    assert found.skipped == 57


def test_a_year_of_missed_seconds_is_counted_and_not_walked():
    given = Lateness(catch_up=CatchUp.ALL, window=timedelta(days=365))
    secondly = Calendar(rule=Every(period=SECOND))
    found = due(secondly, given, behind=NOW - timedelta(days=365), now=NOW)
    assert len(found.to_fire) == given.most
    assert found.skipped == 365 * 86_400 - given.most


@pytest.mark.parametrize(
    ("zone", "fired", "next_at"),
    [("Etc/GMT-1", "01:00", 25), ("Etc/GMT-2", "00:00", 24), ("UTC", None, 2)],
    ids=["as foreseen", "an hour earlier", "an hour later"],
)
def test_where_the_rules_of_a_zone_changed_meanwhile_an_instant_still_fires_once(
    zone, fired, next_at
):
    """It was foreseen for 01:00, by the rules that the zone had when that was decided."""
    midnight = datetime(2027, 1, 2, tzinfo=UTC)
    calendar = read_calendar(cron="0 2 * * *", every_seconds=None, zone=zone, now=midnight)
    behind = midnight - 12 * 60 * MINUTE
    found = due(calendar, Lateness(), behind=behind, now=midnight + 60 * MINUTE)
    assert [f"{at:%H:%M}" for at in found.to_fire] == ([fired] if fired else [])
    assert (found.skipped, found.next_at) == (0, midnight + next_at * 60 * MINUTE)


@pytest.mark.parametrize("catch_up", CatchUp)
def test_before_its_time_nothing_fires(catch_up):
    given = Lateness(catch_up=catch_up)
    found = due(MINUTELY, given, behind=NOW, now=NOW + 59 * SECOND)
    assert (found.to_fire, found.skipped, found.next_at) == ([], 0, NOW + MINUTE)
