"""Publishes what waits in the outbox, once the log takes it again."""

import logging
from collections.abc import Sequence

from taskmill.domain import wire
from taskmill.domain.errors import Undecodable, Unpublishable
from taskmill.domain.outbox import Unsent
from taskmill.domain.outcome import ERROR_TEXT_LIMIT, clip
from taskmill.domain.wire import Sealed
from taskmill.ports.bus import Bus
from taskmill.ports.outbox import Held, Outbox

ROWS_AT_A_TIME = 500
ROUNDS = 20

_log = logging.getLogger("taskmill.relay")


def relay(outbox: Outbox, bus: Bus) -> int:
    """Publish the rows of the outbox as they are, mark them, and return how many those were.

    Nobody else publishes what is held, and what is marked stands in the log: a death on any line
    only means that rows are published again, which claim or admit finds out.
    """
    relayed = 0
    for _ in range(ROUNDS):
        with outbox.held(most=ROWS_AT_A_TIME) as held:
            count = len(held.rows)
            _publish_in_halves(_readable(held), held, bus)
        relayed += count
        if count < ROWS_AT_A_TIME:
            break
    return relayed


def _readable(held: Held) -> list[tuple[Unsent, Sealed]]:
    sealed: list[tuple[Unsent, Sealed]] = []
    for row in held.rows:
        try:
            sealed.append((row, wire.seal(row.envelope)))
        except Undecodable as error:
            _park(row, error, held)
    return sealed


def _publish_in_halves(rows: Sequence[tuple[Unsent, Sealed]], held: Held, bus: Bus) -> None:
    """Publish all; where the log refuses one of them, look for it so that the others flow."""
    if not rows:
        return
    try:
        bus.send_pending([sealed for _, sealed in rows])
        bus.flush()
    except Unpublishable as error:
        if len(rows) == 1:
            _park(rows[0][0], error, held)
            return
        middle = len(rows) // 2
        _publish_in_halves(rows[:middle], held, bus)
        _publish_in_halves(rows[middle:], held, bus)
    else:
        held.mark_published([row for row, _ in rows])


def _park(row: Unsent, error: Exception, held: Held) -> None:
    held.park(row, clip(str(error), ERROR_TEXT_LIMIT))
    _log.error("outbox row parked", extra={"row": row.number, "why": str(error)})
