"""In any zone, for any expression and policies, fires match the local clock.

The oracle asks `zoneinfo` alone, minute by minute, and reads no expression: it is drawn as sets.
"""

from dataclasses import dataclass
from datetime import UTC, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import event, given, settings
from hypothesis import strategies as st

from taskmill.schedules.catch_up import MOST, ON_TIME, CatchUp, Lateness, due
from taskmill.schedules.clock_changes import Dst, Fold, Gap
from taskmill.schedules.occurrences import read_calendar
from tests.unit.schedules.test_zones import DAY, END, FIRST, HOUR, MINUTE, ZONES, jumps_of

SECOND = timedelta(seconds=1)
TEN_YEARS = (END - FIRST) // SECOND


@dataclass(frozen=True)
class Drawn:
    """An expression as sets of its values; None means every value."""

    seconds: frozenset | None
    minutes: frozenset | None
    hours: frozenset | None
    dates: frozenset | None
    weekdays: frozenset | None

    @property
    def text(self):
        five = (self.minutes, self.hours, self.dates, None, self.weekdays)
        fields = five if self.seconds is None else (*five, self.seconds)
        answer = (sorted(one) if one else ["*"] for one in fields)
        return " ".join(",".join(map(str, one)) for one in answer)

    def names(self, reading):
        return (
            (self.minutes is None or reading.minute in self.minutes)
            and (self.hours is None or reading.hour in self.hours)
            and self._names_day(reading)
        )

    def _names_day(self, reading):
        by_date = self.dates is not None and reading.day in self.dates
        by_weekday = self.weekdays is not None and reading.isoweekday() % 7 in self.weekdays
        return by_date or by_weekday or self.dates is self.weekdays is None


def some(low, high, most):
    return st.frozensets(st.integers(low, high), min_size=1, max_size=most)


NIGHT = some(0, 4, 4)
EXPRESSIONS = st.builds(
    Drawn,
    seconds=st.none() | some(0, 59, 3),
    minutes=st.none() | some(0, 59, 4),
    hours=st.one_of(NIGHT, NIGHT, st.none(), some(0, 23, 6)),
    dates=st.none() | st.none() | some(1, 31, 20),
    weekdays=st.none() | st.none() | some(0, 6, 5),
)


@cache
def jumps_in(name):
    return [at for at, _, _ in jumps_of(ZoneInfo(name))]


def changes_its_clocks(name):
    zone = ZoneInfo(name)
    return len({(FIRST + days * DAY).astimezone(zone).utcoffset() for days in (0, 90, 180)}) > 1


ZONES_WITH_JUMPS = [name for name in ZONES if changes_its_clocks(name)]
A_ZONE = st.sampled_from([*ZONES_WITH_JUMPS, *ZONES_WITH_JUMPS, *ZONES])


def spans(most):
    """Draw whole hours and seconds apart: otherwise most would be short."""
    seconds = st.integers(1, 3600)
    return st.builds(
        lambda hours, rest: hours * HOUR + rest * SECOND, st.integers(0, most), seconds
    )


@st.composite
def stretches(draw, name):
    """Draw two moments within ten years, mostly with a clock change between them."""
    jumps = jumps_in(name)
    if jumps and draw(st.sampled_from([True, True, True, False])):
        near = draw(st.sampled_from(jumps))
        return near - draw(spans(23)), near + draw(spans(23))
    behind = FIRST + draw(st.integers(0, TEN_YEARS)) * SECOND
    return behind, behind + draw(spans(40))


def looked_at(zone, first, end):
    """Yield each UTC minute with its reading, whether it is repeated, and skipped readings."""
    at = first.replace(second=0) - DAY
    last = None
    while at <= end:
        local = at.astimezone(zone)
        reading, is_again = local.replace(tzinfo=None, fold=0), bool(local.fold)
        while last is not None and last + MINUTE < reading:
            last += MINUTE
            yield last.replace(tzinfo=zone).astimezone(UTC), last, None
        last = reading
        yield at, reading, is_again
        at += MINUTE


def expected(zone, drawn, dst, first, end):
    found = set()
    for at, reading, is_again in looked_at(zone, first, end):
        is_left_out = is_again is None
        fires = dst.gap is Gap.SHIFT if is_left_out else dst.fold is Fold.BOTH or not is_again
        if fires and drawn.names(reading):
            found |= {at + second * SECOND for second in drawn.seconds or {0}}
    return sorted(at for at in found if first < at <= end)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_what_fires_is_what_clocks_show(data):
    name, drawn = data.draw(A_ZONE), data.draw(EXPRESSIONS)
    dst = data.draw(st.builds(Dst, gap=st.sampled_from(Gap), fold=st.sampled_from(Fold)))
    behind, now = data.draw(stretches(name))
    calendar = read_calendar(cron=drawn.text, every_seconds=None, zone=name, dst=dst, now=behind)
    wanted = expected(ZoneInfo(name), drawn, dst, behind, now)
    event(f"jumps: {any(behind < at <= now for at in jumps_in(name))}, fires: {bool(wanted)}")
    assert calendar.between(behind, now, len(wanted) + 1) == wanted
    assert calendar.count(behind, now) == len(wanted)
    assert calendar.latest(behind, now, 3) == wanted[-3:]
    if wanted:
        assert calendar.after(behind) == wanted[0]
    lateness = data.draw(
        st.builds(
            Lateness,
            catch_up=st.sampled_from(CatchUp),
            window=st.sampled_from([HOUR, DAY]),
        )
    )
    answer = due(calendar, lateness, behind=behind, now=now)
    assert answer.to_fire == made_up_for(wanted, lateness, now)
    assert answer.skipped == len(wanted) - len(answer.to_fire)


def made_up_for(wanted, lateness, now):
    fresh = [at for at in wanted if at > now - ON_TIME]
    late = [at for at in wanted if at not in fresh]
    match lateness.catch_up:
        case CatchUp.NONE:
            return fresh[-MOST:]
        case CatchUp.ONE:
            return (fresh or late[-1:])[-MOST:]
        case CatchUp.ALL:
            return [at for at in wanted if at > now - lateness.window or at in fresh][-MOST:]
