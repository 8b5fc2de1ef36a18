"""Opens the records of a topic: the envelopes in them, and where they stand."""

from collections.abc import Iterable

from msgspec import Struct

from taskmill.core import codec
from taskmill.core.codec import RawEnvelope
from taskmill.core.errors import Undecodable
from taskmill.core.log import LogRecord, Position
from taskmill.core.ports import Bus
from taskmill.core.task import Envelope


class Arrival(Struct, frozen=True):
    """An envelope to pass on, which must keep fields that only a newer version knows."""

    raw: RawEnvelope
    position: Position

    @property
    def envelope(self) -> Envelope:
        return self.raw.envelope


def open_arrivals(records: Iterable[LogRecord], bus: Bus) -> list[Arrival]:
    """Return the envelopes of *records*; records that were never a task are in `tasks.dlq` then.

    The caller may wake processes: if that fails, whatever is still on its way is lost.
    """
    arrivals: list[Arrival] = []
    is_sound = True
    for record in records:
        try:
            members = codec.open_raw(record.value)
        except Undecodable as error:
            bus.send_undecodable(record, str(error))
            is_sound = False
            continue
        arrivals += [Arrival(raw, record.position) for raw in members]
    if not is_sound:
        bus.flush()
    return arrivals
