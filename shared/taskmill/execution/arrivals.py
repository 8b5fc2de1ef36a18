"""What a function takes from the log: envelopes, each with its place."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from taskmill.core import codec, topics
from taskmill.core.codec import Sealed
from taskmill.core.errors import Undecodable
from taskmill.core.log import LogRecord, Source
from taskmill.core.ports import Bus
from taskmill.core.task import Envelope

M = TypeVar("M")

_log = logging.getLogger("taskmill.arrivals")


class Arrival(Struct, frozen=True):
    envelope: Envelope
    source: Source


class SealedArrival(Arrival, frozen=True):
    """What is passed on, and must keep what only a newer version knows."""

    sealed: Sealed


def open_arrivals(records: Iterable[LogRecord], bus: Bus) -> list[Arrival]:
    """Return the envelopes of *records*; what was never a task goes to `tasks.dlq` as it is."""
    return [
        Arrival(envelope, source) for envelope, source in _members(records, codec.open_tasks, bus)
    ]


def open_own_arrivals(
    records: Sequence[LogRecord], bus: Bus
) -> tuple[list[Arrival], list[SealedArrival]]:
    """Return the envelopes of a worker's records, and apart those of another type than its topic's.

    These are for the dispatcher, which knows the way of their type.
    """
    arrivals = open_arrivals(records, bus)
    places = {one.source.position for one in arrivals if _is_astray(one)}
    if not places:
        return arrivals, []
    _log.warning("tasks in the topic of another type", extra={"records": sorted(map(str, places))})
    opened = open_sealed_arrivals([one for one in records if one.position in places], bus)
    own = [one for one in arrivals if not _is_astray(one)]
    return own, [one for one in opened if _is_astray(one)]


def _is_astray(arrival: Arrival) -> bool:
    return arrival.envelope.type != topics.type_of(arrival.source.position.topic)


def open_sealed_arrivals(records: Iterable[LogRecord], bus: Bus) -> list[SealedArrival]:
    """Return the envelopes of *records* with their bytes, like `open_arrivals`."""
    return [
        SealedArrival(sealed.envelope, source, sealed)
        for sealed, source in _members(records, codec.open_sealed, bus)
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
