"""Counts what is admitted, and what becomes of rows of the outbox and of enqueued requests."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

from taskmill.core.counting import Count
from taskmill.core.owed import Cold
from taskmill.core.ports import Counters
from taskmill.core.refusal import Refusal
from taskmill.core.task import Envelope
from taskmill.stores.counted.watchers import Call, Watchers, by_answer
from taskmill.submission.admission import AdmittedBefore, Conflict, Created, Replayed, Verdict
from taskmill.submission.enqueued import Enqueued, LookBack
from taskmill.submission.outbox import Unsent
from taskmill.submission.ports import Held, HeldRequests

VERDICTS: Final[Mapping[type[Verdict], str]] = {
    Created: "created",
    AdmittedBefore: "known",
    Replayed: "replayed",
    Conflict: "conflict",
    Cold: "cold",
}


def _admitted(
    counters: Counters, envelopes: Sequence[Envelope], verdicts: Sequence[Verdict]
) -> None:
    """Count what the dispatcher admits; the gateway counts what it answered."""
    for envelope, verdict in zip(envelopes, verdicts, strict=True):
        if envelope.deferred:
            counters.count(Count.DEFERRED, answer=VERDICTS[type(verdict)])


def _relaying(call: Call, counters: Counters) -> Call:
    @contextmanager
    def watched(**how: Any) -> Iterator[Held]:
        with call(**how) as held:
            counted = CountedHeld(held)
            yield counted
        for answer, rows in counted.answers.items():
            counters.count(Count.OUTBOX, rows, answer=answer)

    return watched


def _taking(call: Call, counters: Counters) -> Call:
    @contextmanager
    def watched(**how: Any) -> Iterator[HeldRequests]:
        with call(**how) as held:
            counted = CountedHeldRequests(held)
            yield counted
        for answer, rows in counted.answers.items():
            counters.count(Count.ENQUEUED, rows, answer=answer)
        counters.count(Count.ENQUEUED_IN_VAIN, counted.parked)

    return watched


ADMISSION: Final[Watchers] = {"admit": by_answer(_admitted)}
OUTBOX: Final[Watchers] = {"held": _relaying}
REQUESTS: Final[Watchers] = {"held": _taking}


class CountedHeld:
    """What is marked counts at the end: an alarm looks at what was parked."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self.answers = {"relayed": 0, "parked": 0}

    @property
    def rows(self) -> Sequence[Unsent]:
        return self._held.rows

    def mark_published(self, rows: Sequence[Unsent]) -> None:
        self._held.mark_published(rows)
        self.answers["relayed"] += len(rows)

    def park(self, row: Unsent, reason: str) -> None:
        self._held.park(row, reason)
        self.answers["parked"] += 1


class CountedHeldRequests:
    """What is marked counts at the end: an alarm looks at what was parked."""

    def __init__(self, held: HeldRequests) -> None:
        self._held = held
        self.answers = {"taken": 0, "put_off": 0}
        self.parked = 0

    @property
    def rows(self) -> Sequence[Enqueued]:
        return self._held.rows

    def look_back(self, rows: Sequence[Enqueued]) -> LookBack:
        return self._held.look_back(rows)

    def mark_done(self, rows: Sequence[Enqueued]) -> None:
        self._held.mark_done(rows)
        self.answers["taken"] += len(rows)

    def park(self, row: Enqueued, why: Refusal) -> None:
        self._held.park(row, why)
        self.parked += 1

    def put_off(self, rows: Sequence[Enqueued], by: timedelta) -> None:
        self._held.put_off(rows, by)
        self.answers["put_off"] += len(rows)
