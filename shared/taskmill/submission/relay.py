"""Publishes the outbox once the log is available again."""

import logging
from collections.abc import Sequence
from typing import Protocol

from taskmill.core import codec
from taskmill.core.codec import RawEnvelope
from taskmill.core.errors import Undecodable
from taskmill.core.ports import Bus
from taskmill.core.text import ERROR_TEXT_LIMIT, clip
from taskmill.submission.halving import publish_in_halves
from taskmill.submission.outbox import Unsent
from taskmill.submission.ports import HeldRows, Outbox

ROWS_AT_A_TIME = 500
ROUNDS = 20

_log = logging.getLogger("taskmill.relay")


class RelayStores(Protocol):
    """Ports for the relay."""

    @property
    def bus(self) -> Bus: ...

    @property
    def outbox(self) -> Outbox: ...


class Relay:
    def __init__(self, stores: RelayStores) -> None:
        self._stores = stores

    def run(self) -> int:
        """Publish the rows of the outbox unchanged, mark them, and return their number.

        Nobody else publishes held rows, and marked ones are in the log: after a death on any line
        rows are only published again, which claim or admit detects.
        """
        relayed = 0
        for _ in range(ROUNDS):
            with self._stores.outbox.held(most=ROWS_AT_A_TIME) as hold:
                count = len(hold.rows)
                _publish(_readable(hold), hold, self._stores.bus)
            relayed += count
            if count < ROWS_AT_A_TIME:
                break
        return relayed


def _readable(hold: HeldRows) -> list[tuple[Unsent, RawEnvelope]]:
    raw: list[tuple[Unsent, RawEnvelope]] = []
    for row in hold.rows:
        try:
            raw.append((row, codec.as_raw(row.envelope)))
        except Undecodable as error:
            _park(row, error, hold)
    return raw


def _publish(rows: Sequence[tuple[Unsent, RawEnvelope]], hold: HeldRows, bus: Bus) -> None:

    def send(some: Sequence[tuple[Unsent, RawEnvelope]]) -> None:
        bus.send_pending([raw for _, raw in some])
        bus.flush()

    for some, refusal in publish_in_halves(rows, send):
        if refusal is None:
            hold.mark_published([row for row, _ in some])
        else:
            _park(some[0][0], refusal, hold)


def _park(row: Unsent, error: Exception, hold: HeldRows) -> None:
    hold.park(row, clip(str(error), ERROR_TEXT_LIMIT))
    _log.error("outbox row parked", extra={"row": row.number, "why": str(error)})
