"""At every clock change of every zone, a calendar agrees with a check of each minute.

Neither the zones' jumps nor the instants are asked of what is tested, but of `zoneinfo`. Of jumps
that are alike, one is looked at; TASKMILL_EVERY_ZONE=1 looks at each zone's own, hour by hour.
"""

import os
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from zoneinfo import ZoneInfo, available_timezones

import pytest

from taskmill.schedules.clock_changes import Dst, Fold, Gap
from taskmill.schedules.cron_expression import Cron
from taskmill.schedules.occurrences import Calendar
from taskmill.schedules.read_cron import read_cron
from taskmill.schedules.zones import find_zone, segments

IS_FULL = bool(os.environ.get("TASKMILL_EVERY_ZONE"))
FIRST, END = datetime(2024, 1, 1, tzinfo=UTC), datetime(2034, 1, 1, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NO_IANA = {"localtime", "posixrules", "Factory"}
ZONES = sorted(name for name in available_timezones() if name not in NO_IANA)
RULES = {
    "*/20 * * * *": lambda at: at.minute % 20 == 0,
    "30 2 * * *": lambda at: (at.hour, at.minute) == (2, 30),
    "15 0-3 * * *": lambda at: at.hour < 4 and at.minute == 15,
    "0 0 * * *": lambda at: (at.hour, at.minute) == (0, 0),
    "45 1,23 * * 0,6": lambda at: at.isoweekday() > 5 and at.hour in {1, 23} and at.minute == 45,
}
RULES_AND_LOOKS = list(RULES.items())
POLICIES = list(product(Gap, Fold))


def offset(zone, instant):
    return instant.astimezone(zone).utcoffset()


def jumps_of(zone, first=FIRST, end=END):
    """Return the clock changes as instant, offset before and offset after."""
    step, found, instant = (HOUR if IS_FULL else DAY), [], first
    before = offset(zone, first)
    while instant < end:
        instant += step
        after = offset(zone, instant)
        if after != before:
            found.append((exactly(zone, instant - step, instant), before, after))
            before = after
    return found


def exactly(zone, early, late):
    after = offset(zone, late)
    while late - early > timedelta(seconds=1):
        middle = (early + (late - early) / 2).replace(microsecond=0)
        early, late = (early, middle) if offset(zone, middle) == after else (middle, late)
    return late


def looked_at(zone, first, end):
    """Return each minute's reading, whether it is a repetition, and those left out as shifted."""
    shown, left_out = [], []
    instant = first
    while instant < end:
        local = instant.astimezone(zone)
        shown.append((instant, local.replace(tzinfo=None, fold=0), bool(local.fold)))
        instant += MINUTE
    reading, last = shown[0][1], max(each for _, each, _ in shown)
    while reading <= last:
        as_if = reading.replace(tzinfo=zone).astimezone(UTC)
        if as_if.astimezone(zone).replace(tzinfo=None) != reading:
            left_out.append((as_if, reading))
        reading += MINUTE
    return shown, left_out


def expected(shown, left_out, is_named, gap, fold):
    fires = {
        at
        for at, reading, is_again in shown
        if is_named(reading) and (fold is Fold.BOTH or not is_again)
    }
    if gap is Gap.SHIFT:
        fires |= {at for at, reading in left_out if is_named(reading)}
    return sorted(fires)


def calendars(zone, rules):
    for (text, is_named), (gap, fold) in product(rules, POLICIES):
        cron = read_cron(text)
        assert isinstance(cron, Cron)
        yield Calendar(rule=cron, zone=zone.key, dst=Dst(gap=gap, fold=fold)), is_named


def rules_for(turn):
    """Return all rules, or two of them in turn."""
    at = turn % len(RULES_AND_LOOKS)
    return RULES_AND_LOOKS if IS_FULL else (RULES_AND_LOOKS * 2)[at : at + 2]


def check_around(zone, jump, margin, rules=RULES_AND_LOOKS):
    first, end = jump - margin, jump + margin
    shown, left_out = looked_at(zone, first, end)
    behind = first - timedelta(seconds=1)
    for calendar, is_named in calendars(zone, rules):
        due = expected(shown, left_out, is_named, calendar.dst.gap, calendar.dst.fold)
        due = [at for at in due if first <= at < end]
        until = end - timedelta(seconds=1)
        about = zone.key, jump, calendar.rule.expression, calendar.dst
        assert calendar.between(behind, until, 10_000) == due, about
        assert calendar.count(behind, until) == len(due), about
        assert calendar.latest(behind, until, 2) == due[-2:], about
        for earlier, later in pairwise([behind, *due]):
            assert calendar.after(earlier) == later, about


@pytest.fixture(scope="module")
def jumps():
    return {name: jumps_of(ZoneInfo(name)) for name in ZONES}


def test_each_zone_of_the_iana_is_found():
    assert len(ZONES) > 400
    assert all(find_zone(name) for name in ZONES)


def test_the_jumps_of_ten_years_are_known_for_each_zone(jumps):
    for name, expected in jumps.items():
        spans = list(segments(ZoneInfo(name), FIRST, END + timedelta(seconds=1)))
        found = [(b.start, b.before, b.offset) for a, b in pairwise(spans)]
        assert found == expected, name
        assert all(a.end == b.start and a.after == b.offset for a, b in pairwise(spans)), name


def test_around_each_jump_every_instant_fires_as_the_policy_says(jumps):
    seen = set()
    for name, its in jumps.items():
        for jump in its:
            if IS_FULL or jump not in seen:
                seen.add(jump)
                check_around(ZoneInfo(name), jump[0], 4 * HOUR, rules_for(len(seen)))
    assert len(seen) > 300


@pytest.mark.parametrize(
    ("name", "year", "jumps"),
    [
        ("Australia/Lord_Howe", 2026, 2),  # half an hour
        ("Africa/Casablanca", 2026, 2),  # back for Ramadan, with less than UTC in winter
        ("Pacific/Apia", 2011, 3),  # a day that was not
        ("Pacific/Kwajalein", 1993, 1),  # another one
        ("Antarctica/Troll", 2026, 2),  # two hours
        ("Europe/Dublin", 2026, 2),  # daylight saving in winter, and negative
        ("Africa/Cairo", 2014, 4),  # two summers in a year
        ("America/Caracas", 2007, 1),  # half an hour back, for good
        ("Asia/Pyongyang", 2018, 1),  # half an hour forward
        ("America/Argentina/San_Luis", 2008, 3),
        ("Europe/Istanbul", 2016, 1),
        ("America/Godthab", 2023, 1),
        ("Atlantic/Azores", 2026, 2),
        ("America/New_York", 2099, 2),  # by rule alone
    ],
)
def test_what_is_special_about_some_zones_is_seen(name, year, jumps):
    zone = ZoneInfo(name)
    start = datetime(year, 1, 1, tzinfo=UTC)
    found = jumps_of(zone, start, start + 365 * DAY)
    assert len(found) == jumps
    for at, _, _ in found:
        check_around(zone, at, 27 * HOUR)


@pytest.mark.parametrize("name", ["UTC", "Europe/Dublin", "Pacific/Apia", "Pacific/Kiritimati"])
def test_the_turn_of_the_year_is_a_night_as_others(name):
    check_around(ZoneInfo(name), datetime(2027, 1, 1, tzinfo=UTC), 27 * HOUR)
