"""What a function takes from the log: envelopes, each with its place."""

from collections.abc import Iterable
from dataclasses import dataclass

from taskmill.domain import wire
from taskmill.domain.errors import Undecodable
from taskmill.domain.lease import Source
from taskmill.domain.log import LogRecord
from taskmill.domain.task import Envelope
from taskmill.ports import Bus


@dataclass(frozen=True, slots=True)
class Arrival:
    envelope: Envelope
    source: Source


def open_arrivals(records: Iterable[LogRecord], bus: Bus) -> list[Arrival]:
    """Return the envelopes of *records*; what was never a task goes to `tasks.dlq` as it is."""
    arrivals: list[Arrival] = []
    for record in records:
        try:
            envelopes = wire.open_tasks(record.value)
        except Undecodable as error:
            bus.send_undecodable(record.value, record.position, str(error))
            continue
        arrivals.extend(
            Arrival(envelope, Source(record.position, index))
            for index, envelope in enumerate(envelopes)
        )
    return arrivals
