"""A calendar returns the instants of a rule in a zone, with their peculiarities."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskmill.schedules.clock_changes import Dst, Fold, Gap
from taskmill.schedules.occurrences import Calendar, Unusable, jitter, read_calendar

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


def calendar(rule, zone="UTC", gap=Gap.SKIP, fold=Fold.FIRST):
    given = {"cron": rule, "every_seconds": None}
    if isinstance(rule, int):
        given = {"cron": None, "every_seconds": rule}
    read = read_calendar(**given, zone=zone, dst=Dst(gap=gap, fold=fold), now=NOW)
    assert isinstance(read, Calendar), read
    return read


def seen(coming):
    at = coming.at and coming.at.strftime("%d. %H:%MZ")
    return coming.reading.strftime("%d. %H:%M"), at, coming.mark and coming.mark.value


def preview(since, count, *asked, **policy):
    return [seen(c) for c in calendar(*asked, **policy).preview(at(since), count)]


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        (Gap.SKIP, [("28. 02:30", None, "skipped"), ("29. 02:30", "29. 00:30Z", None)]),
        (Gap.SHIFT, [("28. 02:30", "28. 01:30Z", "shifted")]),
    ],
)
def test_what_clocks_leave_out_in_spring_is_skipped_or_later_by_an_hour(gap, expected):
    assert preview("2027-03-27T12:00", 1, "30 2 * * *", "Europe/Berlin", gap=gap) == expected


@pytest.mark.parametrize(
    ("fold", "second"),
    [(Fold.FIRST, []), (Fold.BOTH, [("31. 02:30", "31. 01:30Z", "second")])],
)
def test_what_clocks_show_twice_in_autumn_fires_once_or_twice(fold, second):
    found = preview("2027-10-30T12:00", 3, "30 2 * * *", "Europe/Berlin", fold=fold)
    assert found[: 1 + len(second)] == [("31. 02:30", "31. 00:30Z", "first"), *second]
    assert all(mark is None for _, _, mark in found[1 + len(second) :])


def test_a_rule_of_each_half_hour_pauses_for_an_hour_unless_both_are_wanted():
    since, until = at("2027-10-31T00:00"), at("2027-10-31T02:00")
    asked = "*/30 * * * *", "Europe/Berlin"
    assert len(calendar(*asked).between(since, until, 10)) == 2
    assert len(calendar(*asked, fold=Fold.BOTH).between(since, until, 10)) == 4


def test_where_a_shifted_and_a_usual_fire_meet_there_is_one():
    shifting = calendar("*/30 * * * *", "Europe/Berlin", gap=Gap.SHIFT)
    found = shifting.between(at("2027-03-28T00:00"), at("2027-03-28T03:00"), 10)
    assert found == [at("2027-03-28T00:30") + n * 30 * 60 * SECOND for n in range(6)]


def test_a_skipped_day_is_skipped_or_shifted_onto_the_next():
    asked = "0 9 * * *", "Pacific/Apia"
    since = "2011-12-29T12:00"
    skipping = preview(since, 2, *asked)
    assert [mark for _, _, mark in skipping] == [None, "skipped", None]
    shifting = preview(since, 3, *asked, gap=Gap.SHIFT)
    assert [reading for reading, _, _ in shifting] == ["29. 09:00", "31. 09:00", "01. 09:00"]


def test_an_interval_is_absolute_and_counted_from_1970():
    each = calendar(7 * 3600, "Europe/Berlin")
    found = each.between(at("2027-03-27T00:00"), at("2027-03-29T00:00"), 100)
    assert all(b - a == 7 * 3600 * SECOND for a, b in pairwise(found))
    assert int(found[0].timestamp()) % (7 * 3600) == 0
    assert each.count(at("2027-03-27T00:00"), at("2027-03-29T00:00")) == len(found) == 7


def test_an_instant_is_behind_the_moment_and_the_end_belongs_to_the_span():
    daily = calendar("0 12 * * *")
    assert daily.after(NOW - SECOND / 2) == NOW
    assert daily.after(NOW) == NOW + DAY
    assert daily.between(NOW, NOW + DAY, 9) == [NOW + DAY]
    assert daily.count(NOW, NOW + DAY) == 1
    assert daily.latest(NOW, NOW + 9 * DAY, 2) == [NOW + 8 * DAY, NOW + 9 * DAY]
    assert daily.latest(NOW, NOW - DAY, 2) == []


def test_what_fires_each_second_is_counted_over_years_at_once():
    each = calendar("* * * * * *", "Europe/Berlin", fold=Fold.BOTH)
    start, end = at("2000-01-01T00:00"), at("2030-01-01T00:00")
    assert each.count(start, end) == (end - start) // SECOND
    assert each.latest(start, end, 2) == [end - SECOND, end]


@pytest.mark.parametrize(
    ("asked", "field", "reason"),
    [
        ({"cron": "0 0 31 2 *"}, "cron", "'0 0 31 2 *' never fires"),
        ({"cron": "0 0 30 2 *"}, "cron", "never fires"),
        ({"cron": "30 2 * 3 0#2", "zone": "America/New_York"}, "cron", "never fires"),
        ({"cron": "0 0 * *"}, "cron", "five fields"),
        ({"cron": "@daily", "zone": "Europe/Atlantis"}, "timezone", "'Europe/Atlantis' is no"),
        ({"cron": "@daily", "zone": "Europe"}, "timezone", "is not an IANA time zone"),
        ({"cron": "@daily", "zone": "../UTC"}, "timezone", "is not an IANA time zone"),
        ({"cron": "@daily", "zone": "right/UTC"}, "timezone", "is not an IANA time zone"),
        ({"cron": "@daily", "zone": ""}, "timezone", "is not an IANA time zone"),
        ({"cron": "@daily", "zone": "A" * 10_000}, "timezone", "is not an IANA time zone"),
        ({"every_seconds": 0}, "every_seconds", "a number from 1 to 31622400"),
        ({"every_seconds": 10**30}, "every_seconds", "a number from 1"),
        ({"cron": "@daily", "every_seconds": 1}, "every_seconds", "not both"),
        ({}, "cron", "give cron or every_seconds"),
    ],
)
def test_what_is_no_calendar_is_refused_with_the_reason(asked, field, reason):
    refused = read_calendar(**{"cron": None, "every_seconds": None} | asked, now=NOW)
    assert isinstance(refused, Unusable)
    assert refused.field == field
    assert reason in refused.reason


def test_what_fires_only_when_clocks_leave_it_out_may_be_shifted():
    shifting = calendar("30 2 * 3 0#2", "America/New_York", gap=Gap.SHIFT)
    assert shifting.after(NOW) == at("2027-03-14T07:30")


def test_the_far_end_of_time_has_no_instants():
    assert calendar("@daily").after(datetime(9999, 12, 31, tzinfo=UTC)) is None


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.text(max_size=9), st.datetimes(timezones=st.just(UTC)), st.timedeltas(timedelta(0), DAY))
def test_jitter_is_the_same_for_all_and_less_than_it_may_be(name, instant, within):
    found = jitter(name, instant, within)
    assert found == jitter(name, instant, within)
    assert timedelta(0) <= found <= max(within - timedelta(milliseconds=1), timedelta(0))


def test_jitter_spreads_schedules_of_the_same_minute():
    found = {jitter(f"s{n}", NOW, 60 * SECOND) // (6 * SECOND) for n in range(200)}
    assert found == set(range(10))
