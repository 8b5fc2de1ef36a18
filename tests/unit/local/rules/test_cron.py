"""Schedule expressions, compared with a naive check of every minute."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskmill_local.cron import Cron, Rate, parse
from taskmill_local.errors import PlatformError

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def next_after(expression: str, moment: datetime) -> datetime | None:
    schedule = parse(expression)
    assert isinstance(schedule, Cron)
    return schedule.next_after(moment)


@pytest.mark.parametrize(
    ("expression", "period"),
    [
        ("rate(1 minute)", MINUTE),
        ("rate(5 minutes)", 5 * MINUTE),
        ("rate(1 hour)", 60 * MINUTE),
        ("rate(12 hours)", DAY / 2),
        ("rate(1 day)", DAY),
        ("rate(7 days)", 7 * DAY),
    ],
)
def test_a_rate_is_a_period(expression, period):
    assert parse(expression) == Rate(period=period)


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("cron(0 10 * * ? *)", "2026-11-18T10:00", "2026-11-19T10:00"),
        ("cron(0/15 * * * ? *)", "2026-11-18T10:00:30", "2026-11-18T10:15"),
        ("cron(15 12 ? * MON-FRI *)", "2026-11-20T12:15", "2026-11-23T12:15"),
        ("cron(0 18 ? * 1,7 *)", "2026-11-18T00:00", "2026-11-21T18:00"),
        ("cron(0 8 1 * ? *)", "2026-12-01T08:00", "2027-01-01T08:00"),
        ("cron(0 0 L * ? *)", "2028-02-01T00:00", "2028-02-29T00:00"),
        ("cron(0 0 1W * ? *)", "2026-08-01T00:00", "2026-08-03T00:00"),
        ("cron(0 0 31W * ? *)", "2026-05-30T00:00", "2026-07-31T00:00"),
        ("cron(0 0 31W * ? *)", "2026-05-01T00:00", "2026-05-29T00:00"),
        ("cron(0 0 15W 11 ? *)", "2026-11-01T00:00", "2026-11-16T00:00"),
        ("cron(0 0 14W 11 ? *)", "2026-11-01T00:00", "2026-11-13T00:00"),
        ("cron(0 0 ? * 6L *)", "2026-11-01T00:00", "2026-11-27T00:00"),
        ("cron(0 0 ? * FRIL *)", "2026-11-27T00:00", "2026-12-25T00:00"),
        ("cron(0 0 ? * L *)", "2026-11-18T00:00", "2026-11-21T00:00"),
        ("cron(0 0 ? * 3#2 *)", "2026-11-01T00:00", "2026-11-10T00:00"),
        ("cron(0 0 ? * TUE#5 *)", "2026-11-01T00:00", "2026-12-29T00:00"),
        ("cron(0 0 29 2 ? *)", "2026-11-01T00:00", "2028-02-29T00:00"),
        ("cron(30 6 ? JAN-MAR/2 mon 2027)", "2026-11-18T00:00", "2027-01-04T06:30"),
        ("cron(59 23 31 12 ? 2030-2040/5)", "2031-01-01T00:00", "2035-12-31T23:59"),
    ],
)
def test_a_cron_expression_fires_next(expression, after, expected):
    assert next_after(expression, at(after)) == at(expected)


def test_years_that_are_over_never_fire():
    assert next_after("cron(0 0 1 1 ? 2020)", at("2026-01-01")) is None


def test_a_day_that_no_month_has_never_fires():
    assert next_after("cron(0 0 31 2 ? *)", at("2026-01-01")) is None


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("every day", "neither a rate nor a cron"),
        ("rate(0 minutes)", "positive whole number"),
        ("rate(1 minutes)", "one minute"),
        ("rate(5 minute)", "several minutes"),
        ("rate(90 seconds)", "minutes, hours or days"),
        ("cron(* * * * *)", "six fields, not 5"),
        ("cron(* * * * * *)", "exactly one"),
        ("cron(0 0 ? * ? *)", "exactly one"),
        ("cron(60 0 1 * ? *)", "'60' is not a number from 0 to 59"),
        ("cron(0 24 1 * ? *)", "'24' is not a number from 0 to 23"),
        ("cron(0 0 0 * ? *)", "'0' is not a number from 1 to 31"),
        ("cron(0 0 1 FOO ? *)", "'FOO' is not a number from 1 to 12"),
        ("cron(0 0 ? * 8 *)", "'8' is not a number from 1 to 7"),
        ("cron(0 0 ? * 2#6 *)", "'6' is not a number from 1 to 5"),
        ("cron(0 0 ? * 2#1,3#1 *)", "cannot be combined"),
        ("cron(0 0 1 * ? 2200)", "'2200' is not a number from 1970 to 2199"),
        ("cron(5-1 0 1 * ? *)", "runs backwards"),
        ("cron(0/0 0 1 * ? *)", "'0' is not a number from 1 to 60"),
        ("cron(1,,2 0 1 * ? *)", "'' is not a number"),
        ("cron(-1 0 1 * ? *)", "'' is not a number"),
        ("cron(0 0 ٣ * ? *)", "is not a number"),
    ],
)
def test_a_malformed_expression_is_refused_with_its_reason(expression, reason):
    with pytest.raises(PlatformError, match="cannot be used") as refused:
        parse(expression)
    assert reason in str(refused.value)


def spans(low: int, high: int) -> st.SearchStrategy[tuple[str, frozenset[int]]]:
    """Draw a part of a field together with the numbers that it means."""
    number = st.integers(low, high)
    step = st.integers(1, high - low + 1)
    span = st.tuples(number, number).map(sorted)
    return st.one_of(
        number.map(lambda n: (str(n), frozenset({n}))),
        span.map(lambda s: (f"{s[0]}-{s[1]}", frozenset(range(s[0], s[1] + 1)))),
        st.tuples(span, step).map(
            lambda x: (f"{x[0][0]}-{x[0][1]}/{x[1]}", frozenset(range(x[0][0], x[0][1] + 1, x[1])))
        ),
        st.tuples(number, step).map(
            lambda x: (f"{x[0]}/{x[1]}", frozenset(range(x[0], high + 1, x[1])))
        ),
        step.map(lambda s: (f"*/{s}", frozenset(range(low, high + 1, s)))),
        st.just(("*", frozenset(range(low, high + 1)))),
    )


def fields(low: int, high: int) -> st.SearchStrategy[tuple[str, frozenset[int]]]:
    return st.lists(spans(low, high), min_size=1, max_size=3).map(
        lambda parts: (
            ",".join(text for text, _ in parts),
            frozenset().union(*(n for _, n in parts)),
        )
    )


@settings(max_examples=60, deadline=None)
@given(
    minutes=fields(0, 59),
    hours=fields(0, 23),
    days=fields(1, 31),
    months=fields(1, 12),
    weekdays=fields(1, 7),
    by_weekday=st.booleans(),
    after=st.datetimes(datetime(2026, 1, 1), datetime(2029, 1, 1)),  # noqa: DTZ001 - made aware below
)
def test_the_next_instant_is_the_first_minute_that_fits(  # noqa: PLR0913, PLR0917 - a field each
    minutes, hours, days, months, weekdays, by_weekday, after
):
    after = after.replace(tzinfo=UTC)
    chosen = ("?", weekdays[0]) if by_weekday else (days[0], "?")
    expression = f"cron({minutes[0]} {hours[0]} {chosen[0]} {months[0]} {chosen[1]} *)"

    def fits(moment: datetime) -> bool:
        weekday = moment.isoweekday() % 7 + 1
        is_day = weekday in weekdays[1] if by_weekday else moment.day in days[1]
        return (
            moment.minute in minutes[1]
            and moment.hour in hours[1]
            and moment.month in months[1]
            and is_day
        )

    found = next_after(expression, after)
    candidate = after.replace(second=0, microsecond=0) + MINUTE
    horizon = min(candidate + 3 * DAY, found or candidate + 3 * DAY)
    while candidate < horizon:
        assert not fits(candidate)
        candidate += MINUTE
    assert found is None or (found > after and fits(found))


@settings(max_examples=100, deadline=None)
@given(number=st.integers(1, 31), month=st.integers(1, 12), year=st.integers(2000, 2100))
def test_a_nearest_weekday_is_a_working_day_of_the_month_and_none_is_nearer(number, month, year):
    found = next_after(f"cron(0 0 {number}W {month} ? {year})", datetime(1999, 1, 1, tzinfo=UTC))
    last = monthrange(year, month)[1]
    working = [
        day for day in range(1, last + 1) if datetime(year, month, day, tzinfo=UTC).weekday() < 5
    ]
    if number > last:
        assert found is None
    else:
        assert found is not None
        assert found.month == month
        assert abs(found.day - number) == min(abs(day - number) for day in working)
        assert found.day in working
