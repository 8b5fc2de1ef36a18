"""Claims what arrives: only envelopes that hold a lease may start."""

import logging
from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TypeVar, assert_never

from msgspec import Struct, field

from taskmill.core import codec, topics
from taskmill.core.codec import RawEnvelope
from taskmill.core.errors import StoreUnavailable, Undecodable
from taskmill.core.log import LogRecord, Position, Source
from taskmill.core.owed import Cold
from taskmill.core.ports import Bus
from taskmill.core.task import Envelope, Millis
from taskmill.core.time import in_ms
from taskmill.execution.context import RunContext, Running, named
from taskmill.execution.lease import (
    Claim,
    ClaimAnswer,
    Claimed,
    Forgotten,
    HeldLease,
    LeaseRefused,
    Suspect,
)
from taskmill.execution.outcome import Attempt

M = TypeVar("M")

_log = logging.getLogger("taskmill.arrivals")


class Arrival(Struct, frozen=True):
    envelope: Envelope
    source: Source


class RawArrival(Arrival, frozen=True):
    """An envelope to pass on, which must keep fields that only a newer version knows."""

    raw: RawEnvelope


def open_arrivals(records: Iterable[LogRecord], bus: Bus) -> list[Arrival]:
    """Return the envelopes of *records*; records that were never a task go to `tasks.dlq`."""
    return [
        Arrival(envelope, source) for envelope, source in _members(records, codec.open_tasks, bus)
    ]


def open_own_arrivals(
    records: Sequence[LogRecord], bus: Bus
) -> tuple[list[Arrival], list[RawArrival]]:
    """Return the envelopes in a worker's records, and separately those of other types.

    The latter go to the dispatcher, which knows where their type belongs.
    """
    arrivals = open_arrivals(records, bus)
    places = {one.source.position for one in arrivals if _is_astray(one)}
    if not places:
        return arrivals, []
    _log.warning(
        "envelopes of another type in this type's topic",
        extra={"records": sorted(map(str, places))},
    )
    opened = open_raw_arrivals([one for one in records if one.position in places], bus)
    own = [one for one in arrivals if not _is_astray(one)]
    return own, [one for one in opened if _is_astray(one)]


def _is_astray(arrival: Arrival) -> bool:
    return arrival.envelope.type != topics.type_of(arrival.source.position.topic)


def open_raw_arrivals(records: Iterable[LogRecord], bus: Bus) -> list[RawArrival]:
    """Return the envelopes of *records* with their bytes, like `open_arrivals`."""
    return [
        RawArrival(raw.envelope, source, raw)
        for raw, source in _members(records, codec.open_raw, bus)
    ]


def _members(
    records: Iterable[LogRecord], open_value: Callable[[bytes | None], tuple[M, ...]], bus: Bus
) -> Iterator[tuple[M, Source]]:
    for record in records:
        try:
            members = open_value(record.value)
        except Undecodable as error:
            bus.send_undecodable(record, str(error))
            continue
        for index, member in enumerate(members):
            yield member, Source(record.position, index)


_log = logging.getLogger("taskmill.claim")


class Claimer(Struct):
    """The queue of arrivals waiting to run, and the suspects waiting to run alone.

    Arrivals with the fewest losses go first: a task that kills its process then delays those that
    ran with it once, not at each of its deaths.
    """

    run_context: RunContext
    waiting: deque[Arrival]
    suspects: list[tuple[Suspect, Arrival]] = field(default_factory=list)
    failed: set[Position] = field(default_factory=set)
    has_begun: bool = False
    is_closed: bool = False
    """True when nothing more starts here: waiting arrivals are retried."""

    @property
    def is_empty(self) -> bool:
        return not (self.waiting or self.suspects)

    def claim(self, *, free: int, is_idle: bool) -> list[Running]:
        """Return newly claimed tasks; a suspect only when nothing else runs."""
        tasks: list[Running] = []
        startable = self._startable(self.waiting, min(free, len(self.waiting)))
        if startable:
            tasks = self._ask(startable, alone=False)
        elif is_idle and self.suspects:
            _, arrival = self.suspects.pop(0)
            tasks = self._ask(self._startable(deque([arrival]), 1), alone=True)
        self.has_begun = self.has_begun or bool(tasks)
        return tasks

    def _startable(self, line: deque[Arrival], most: int) -> list[tuple[Arrival, timedelta]]:
        """Take from the queue what can end in time; the rest is retried.

        The first of an invocation always starts, with whatever time is left.
        """
        left = self.run_context.remaining() - self.run_context.pace.margin
        startable: list[tuple[Arrival, timedelta]] = []
        for _ in range(most):
            arrival = line.popleft()
            longest = self.run_context.longest.total_seconds()
            timeout = timedelta(seconds=min(arrival.envelope.timeout_seconds, longest))
            fits = timeout <= left or (not self.has_begun and left > timedelta())
            if fits and not (self.is_closed or self.run_context.is_leaving()):
                startable.append((arrival, min(timeout, left)))
            else:
                self.failed.add(arrival.source.position)
        return startable

    def _ask(self, startable: Sequence[tuple[Arrival, timedelta]], *, alone: bool) -> list[Running]:
        claims = [
            Claim(
                envelope=arrival.envelope,
                source=arrival.source,
                process=self.run_context.process,
                timeout=timeout,
                alone=alone,
            )
            for arrival, timeout in startable
        ]
        asked_at_ms = self.run_context.clock()
        try:
            answers = self.run_context.leases.claim(claims)
        except StoreUnavailable as error:
            _log.warning("claim failed", extra={"store": error.store, "why": error.why})
            self.failed.update(arrival.source.position for arrival, _ in startable)
            return []
        tasks = [
            self._begin(arrival, timeout, answer, asked_at_ms)
            for (arrival, timeout), answer in zip(startable, answers, strict=True)
        ]
        return [running for running in tasks if running is not None]

    def _begin(
        self, arrival: Arrival, timeout: timedelta, answer: ClaimAnswer, asked_at_ms: Millis
    ) -> Running | None:
        match answer:
            case Claimed():
                return self._running(arrival, timeout, answer, asked_at_ms)
            case Suspect():
                insort(self.suspects, (answer, arrival), key=_losses)
            case HeldLease() | Cold():
                self.failed.add(arrival.source.position)
            case LeaseRefused(facts):
                # If the holder dies, the log redelivers its own record: ours may be dropped.
                self.run_context.bus.send_facts(facts)
            case Forgotten():
                _log.warning(
                    "envelope without a record is too old to adopt", extra=named(arrival.envelope)
                )
            case _:
                assert_never(answer)
        return None

    def _running(
        self, arrival: Arrival, timeout: timedelta, claimed: Claimed, asked_at_ms: Millis
    ) -> Running:
        return Running(
            attempt=Attempt(
                envelope=arrival.envelope,
                token=claimed.token,
                losses=claimed.losses,
                started_at_ms=claimed.started_at_ms,
            ),
            position=arrival.source.position,
            timeout=timeout,
            deadline_ms=self.run_context.clock() + in_ms(timeout),
            ahead_ms=claimed.started_at_ms - asked_at_ms,
            unreported=claimed.unreported,
            cancel_requested=claimed.cancel_requested,
        )


def _losses(suspect: tuple[Suspect, Arrival]) -> int:
    return suspect[0].losses
