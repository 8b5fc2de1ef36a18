"""The meaning of a cron expression between two clock changes, with policies for the changes."""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from heapq import merge

from msgspec import Struct

from taskmill.schedules.cron_expression import Cron
from taskmill.schedules.zones import Segment


class Gap(StrEnum):
    """What to do with readings that clocks skip when they go forward."""

    SKIP = "skip"
    SHIFT = "shift"
    """They fire later by the clock change: 02:30 fires at what is then called 03:30."""


class Fold(StrEnum):
    """What to do with readings that clocks show twice when they go back."""

    FIRST = "first"
    BOTH = "both"


class Dst(Struct, frozen=True, kw_only=True):
    """What a schedule does at daylight saving changes, and at any other clock change."""

    gap: Gap = Gap.SKIP
    fold: Fold = Fold.FIRST


class Mark(StrEnum):
    """What is unusual about a fire."""

    SKIPPED = "skipped"
    """Clocks skip its reading, and it does not fire."""
    SHIFTED = "shifted"
    FIRST = "first"
    """Clocks show its reading twice: this time, and about an hour later."""
    SECOND = "second"


class Coming(Struct, frozen=True, kw_only=True):
    """A reading named by a rule, and when it fires; without an instant, it does not fire."""

    reading: datetime
    at: datetime | None
    mark: Mark | None = None


class Readings(Struct, frozen=True, kw_only=True):
    """A cron expression with its policies for clock changes."""

    cron: Cron
    dst: Dst

    def coming(self, segment: Segment, first: datetime, until: datetime) -> Iterator[Coming]:
        """Yield the occurrences in a segment from *first* on and before *until*, in order."""
        if segment.offset > segment.before and self.dst.gap is Gap.SKIP and first == segment.start:
            yield from self._skipped(segment)
        elif segment.offset > segment.before and self.dst.gap is Gap.SHIFT:
            yield from self._with_shifted(segment, first, until)
            return
        yield from self._usual(segment, first, until)

    def count(self, segment: Segment, first: datetime, until: datetime) -> int:
        """Return how many of them fire."""
        usual = self.cron.count(self._since(segment, first), segment.reading(until))
        if segment.offset <= segment.before or self.dst.gap is Gap.SKIP:
            return usual
        jump = segment.offset - segment.before
        low, high = self._left_out(segment, first, until)
        doubled = set(self.cron.readings(low + jump, high + jump))
        return usual + sum(each + jump not in doubled for each in self.cron.readings(low, high))

    def _usual(self, segment: Segment, first: datetime, until: datetime) -> Iterator[Coming]:
        for reading in self.cron.readings(self._since(segment, first), segment.reading(until)):
            yield Coming(
                reading=reading,
                at=segment.instant(reading),
                mark=_mark(segment, reading),
            )

    def _skipped(self, segment: Segment) -> Iterator[Coming]:
        low, high = segment.left_out
        for reading in self.cron.readings(low, high):
            yield Coming(reading=reading, at=None, mark=Mark.SKIPPED)

    def _with_shifted(self, segment: Segment, first: datetime, until: datetime) -> Iterator[Coming]:
        """Yield regular and shifted ones; where they coincide, only one."""
        low, high = self._left_out(segment, first, until)
        shifted = (
            Coming(reading=each, at=segment.shifted(each), mark=Mark.SHIFTED)
            for each in self.cron.readings(low, high)
        )
        last: datetime | None = None
        for each in merge(self._usual(segment, first, until), shifted, key=_instant):
            if each.at != last:
                yield each
            last = each.at

    def _since(self, segment: Segment, first: datetime) -> datetime:
        if self.dst.fold is Fold.FIRST:
            return max(segment.reading(first), segment.fresh)
        return segment.reading(first)

    def _left_out(
        self, segment: Segment, first: datetime, until: datetime
    ) -> tuple[datetime, datetime]:
        """Return the skipped readings that fire from *first* on and before *until*."""
        low, high = segment.left_out
        jump = segment.offset - segment.before
        return max(low, segment.reading(first) - jump), min(high, segment.reading(until) - jump)


def _mark(segment: Segment, reading: datetime) -> Mark | None:
    if reading < segment.fresh:
        return Mark.SECOND
    return Mark.FIRST if reading >= segment.repeated else None


def _instant(coming: Coming) -> tuple[bool, datetime]:
    return coming.at is None, coming.at or coming.reading
