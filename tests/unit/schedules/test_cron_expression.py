"""The readings of cron expressions, and refusals of ambiguous ones."""

from datetime import date, datetime, time, timedelta
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskmill.schedules.cron_expression import Cron
from taskmill.schedules.read_cron import Malformed, read_cron

MINUTE = timedelta(minutes=1)
SOME = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
FAR = datetime.fromisoformat("2400-01-01T00:00:00")


def read(expression):
    cron = read_cron(expression)
    assert isinstance(cron, Cron), cron
    return cron


def first_of(expression, since, count=3):
    found = read(expression).readings(datetime.fromisoformat(since), FAR)
    return [each.isoformat(" ") for each in islice(found, count)]


@pytest.mark.parametrize(
    ("expression", "readings"),
    [
        ("30 2 * * *", ["2027-01-01 02:30:00", "2027-01-02 02:30:00"]),
        ("*/20 * * * *", ["2027-01-01 00:00:00", "2027-01-01 00:20:00"]),
        ("5/20 * * * *", ["2027-01-01 00:05:00", "2027-01-01 00:25:00"]),
        ("* * * * * */40", ["2027-01-01 00:00:00", "2027-01-01 00:00:40"]),
        ("0 12 * * * 15", ["2027-01-01 12:00:15", "2027-01-02 12:00:15"]),
        ("0 9 * * MON-FRI", ["2027-01-01 09:00:00", "2027-01-04 09:00:00"]),
        ("0 9 * * sat-sun", ["2027-01-02 09:00:00", "2027-01-03 09:00:00"]),
        ("0 9 * * 7", ["2027-01-03 09:00:00", "2027-01-10 09:00:00"]),
        ("0 9 * * 0", ["2027-01-03 09:00:00", "2027-01-10 09:00:00"]),
        ("0 9 * * 5-7", ["2027-01-01 09:00:00", "2027-01-02 09:00:00"]),
        ("0 9 * * fri#2", ["2027-01-08 09:00:00", "2027-02-12 09:00:00"]),
        ("0 9 * * 5#5", ["2027-01-29 09:00:00", "2027-04-30 09:00:00"]),
        ("0 9 * * L5", ["2027-01-29 09:00:00", "2027-02-26 09:00:00"]),
        ("0 9 L * *", ["2027-01-31 09:00:00", "2027-02-28 09:00:00"]),
        ("0 9 L 2 *", ["2027-02-28 09:00:00", "2028-02-29 09:00:00"]),
        ("0 9 31 * *", ["2027-01-31 09:00:00", "2027-03-31 09:00:00"]),
        ("0 9 13 * 5", ["2027-01-01 09:00:00", "2027-01-08 09:00:00"]),
        ("0 9 2 * 5", ["2027-01-01 09:00:00", "2027-01-02 09:00:00"]),
        ("0 0 29 2 *", ["2028-02-29 00:00:00", "2032-02-29 00:00:00"]),
        ("0 0 * feb 1#5", ["2044-02-29 00:00:00", "2072-02-29 00:00:00"]),
        ("@daily", ["2027-01-01 00:00:00", "2027-01-02 00:00:00"]),
        ("@Weekly", ["2027-01-03 00:00:00", "2027-01-10 00:00:00"]),
        ("@yearly", ["2027-01-01 00:00:00", "2028-01-01 00:00:00"]),
        ("  0\t0  1,15 JAN-mar/2 * ", ["2027-01-01 00:00:00", "2027-01-15 00:00:00"]),
    ],
)
def test_an_expression_names_readings(expression, readings):
    assert first_of(expression, "2027-01-01 00:00:00", 2) == readings


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "not 1"),
        ("* * * *", "not 4"),
        ("* * * * * * 2027", "not 7"),
        ("60 * * * *", "'60' is not a valid minute: use a number from 0 to 59"),
        ("* 24 * * *", "'24' is not a valid hour"),
        ("* * 0 * *", "'0' is not a valid day of the month: use a number from 1 to 31"),
        ("* * * 13 *", "'13' is not a valid month"),
        ("* * * foo *", "or a name such as jan"),
        ("* * * * 8", "'8' is not a valid day of the week"),
        ("* * * * * 60", "'60' is not a valid second"),
        ("*/0 * * * *", "'0' is not a valid step"),
        ("*/90 * * * *", "'90' is not a valid step"),
        ("30-10 * * * *", "'30-10' runs backwards in the field for the minute"),
        ("-5 * * * *", "'' is not a valid minute"),
        ("1,,2 * * * *", "'' is not a valid minute"),
        ("1.5 * * * *", "'1.5' is not a valid minute"),
        ("\u0665 * * * *", "is not a valid minute"),
        ("0 0 ? * 1", "'?' is not a valid day of the month"),
        ("0 0 15W * *", "'15w' is not a valid day of the month"),
        ("0 0 * * 5L", "'5l' is not a valid day of the week"),
        ("0 0 * * 1#6", "must be 1 to 5, the week of the month"),
        ("H * * * *", "'h' is not a valid minute"),
        ("R(0-5) * * * *", "'r(0' is not a valid minute"),
        ("@reboot", "'@reboot' is not one of @yearly"),
        ("* " * 200, "at most 256 characters"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_reason(expression, reason):
    refused = read_cron(expression)
    assert isinstance(refused, Malformed)
    assert reason in refused.reason


@pytest.mark.parametrize(
    ("expression", "never"),
    [
        ("0 0 31 2 *", True),
        ("0 0 30 2 *", True),
        ("0 0 31 4,6,9,11 *", True),
        ("0 0 29 2 *", False),
        ("0 0 L 2 *", False),
        ("0 0 31 2 1", False),
        ("0 0 30,31 1-2 *", False),
    ],
)
def test_days_that_no_year_has_are_known(expression, never):
    assert read(expression).never_fires() is never


@SOME
@given(st.text() | st.text(alphabet="0123456789*/-,#lL @mon", max_size=40))
def test_whatever_is_written_is_read_or_refused(text):
    found = read_cron(text)
    assert isinstance(found, Malformed) or found.expression == text


def parts(low, high):
    numbers = st.integers(low, high)
    spans = st.tuples(numbers, numbers).map(sorted)
    steps = st.integers(1, max(high, 1))
    part = st.one_of(
        numbers.map(lambda n: (str(n), {n})),
        spans.map(lambda s: (f"{s[0]}-{s[1]}", set(range(s[0], s[1] + 1)))),
        st.tuples(spans, steps).map(
            lambda p: (f"{p[0][0]}-{p[0][1]}/{p[1]}", set(range(p[0][0], p[0][1] + 1, p[1])))
        ),
        st.tuples(numbers, steps).map(
            lambda p: (f"{p[0]}/{p[1]}", set(range(p[0], high + 1, p[1])))
        ),
        steps.map(lambda step: (f"*/{step}", set(range(low, high + 1, step)))),
    )
    listed = st.lists(part, min_size=1, max_size=3).map(
        lambda each: (",".join(text for text, _ in each), set().union(*(ns for _, ns in each)))
    )
    return st.just(("*", set(range(low, high + 1)))) | listed


times = st.builds(
    lambda day, hour, minute, second: datetime.combine(day, time(hour, minute, second)),
    st.dates(date(2020, 1, 1), date(2035, 1, 1)),
    *(st.integers(0, high) for high in (23, 59, 59)),
)
fields = st.tuples(parts(0, 59), parts(0, 23), parts(1, 31), parts(1, 12), parts(0, 6))


@SOME
@given(fields, times, st.integers(0, 3 * 1440))
def test_the_readings_are_those_that_a_look_at_each_minute_finds(fields, since, length):
    """Where both days are given, either will do."""
    minutes, hours, dates, months, weekdays = fields
    expression = " ".join(text for text, _ in fields)
    days = [text != "*" for text, _ in (dates, weekdays)]

    def is_named(at):
        is_day = [at.day in dates[1], at.isoweekday() % 7 in weekdays[1]]
        fits = any(is_day) if all(days) else all(is_day)
        return fits and at.minute in minutes[1] and at.hour in hours[1] and at.month in months[1]

    end = since + length * MINUTE
    first = since if not since.second else since.replace(second=0) + MINUTE
    looked = [at for n in range(length) if (at := first + n * MINUTE) < end and is_named(at)]
    assert list(read(expression).readings(since, end)) == looked
    assert read(expression).count(since, end) == len(looked)
