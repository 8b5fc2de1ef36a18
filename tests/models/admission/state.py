"""One key, two requests at two gateways, and everything around them."""

from typing import NamedTuple

from tests.models.ledger import Row
from tests.models.shard import Envelope, Fact, Shard


class Gateway(NamedTuple):
    at: str = "admit"
    """admit, publish, clear; answered or dead."""
    kind: str = "own"
    """What it publishes: own, replay or deferred."""
    envelope: Envelope = Envelope(0)
    answer: str = ""
    """202, deferred (a 202 that says so), 200, 422 or 503."""
    is_paused: bool = False

    @property
    def is_done(self) -> bool:
        return self.at in ("answered", "dead")


class Line(NamedTuple):
    """A record of `tasks.pending`, with its readers so far."""

    envelope: Envelope
    is_dispatched: bool = False


class Rebuild(NamedTuple):
    at: str = "read"
    """read (the outbox), note, restore or open."""
    word: int = 0
    noted: frozenset[Fact] = frozenset()


class Budget(NamedTuple):
    kills: int = 0
    pauses: int = 0
    flushes: int = 0
    failovers: int = 0
    aways: int = 0
    lost_replies: int = 0
    outages: int = 0


class State(NamedTuple):
    gateways: tuple[Gateway, Gateway]
    shard: Shard = Shard()
    is_away: bool = False
    """Redis cannot be reached; it forgets nothing."""
    has_kafka: bool = True
    pending: frozenset[Line] = frozenset()
    work: frozenset[Envelope] = frozenset()
    log: frozenset[Fact] = frozenset()
    applied: frozenset[Fact] = frozenset()
    row: Row = Row()
    outbox: frozenset[Envelope] = frozenset()
    rebuild: Rebuild | None = None
    words: int = 0
    replica: Shard | None = None
    runs: frozenset[tuple[int, str]] = frozenset()
    """The generations that ran, with their bodies."""
    left: Budget = Budget()

    def spend(self, fault: str) -> "State":
        return self._replace(left=self.left._replace(**{fault: getattr(self.left, fault) - 1}))

    def put(self, index: int, gateway: Gateway) -> "State":
        pair = (gateway, self.gateways[1]) if index == 0 else (self.gateways[0], gateway)
        return self._replace(gateways=pair)

    def published(self, envelope: Envelope) -> "State":
        """Append to `tasks.pending`: dispatcher and recorder read it independently."""
        fact = Fact(envelope.generation, 1, "submitted", 0, envelope.submission, envelope.body)
        rest = self.pending - {Line(envelope, is_dispatched=True)}
        return self._replace(pending=rest | {Line(envelope)}, log=self.log | {fact})
