"""The whole system around one task: Redis, log, two workers, a client, the ledger, a rebuild."""

from typing import NamedTuple

from tests.models.ledger import Row
from tests.models.shard import Entry, Envelope, Fact, Record, Shard


class Worker(NamedTuple):
    """An invocation with one record; `at` is its next step."""

    at: str
    """claim, alone (claim with that word), run, settle, flush or commit."""
    position: int
    envelope: Envelope
    token: int = 0
    end: str = ""
    """The status that its attempt leads to."""
    facts: tuple[Fact, ...] = ()
    is_paused: bool = False
    has_lapsed: bool = False
    """Its lease ran out once under it."""
    is_old: bool = False
    """Its poller lost the partition: the record goes to somebody else too."""
    is_start_reported: bool = False
    """The start of its attempt is in the log."""

    @property
    def turn(self) -> tuple[int, int]:
        return self.envelope.generation, self.envelope.turn


class Client(NamedTuple):
    """A client that changes a task by what it read before: it reads, asks, publishes."""

    at: str
    """ask or publish."""
    name: str
    """canceller or redriver, both at a gateway, or reconciler."""
    seen: Record
    facts: tuple[Fact, ...]
    owed: Entry | None = None
    row: Row = Row()
    """What the reconciler read in the ledger."""
    is_paused: bool = False


class Rebuild(NamedTuple):
    at: str
    """note, restore or open."""
    word: int
    noted: frozenset[Fact] = frozenset()


class Budget(NamedTuple):
    """How often each fault and each choice may still happen."""

    kills: int = 0
    pauses: int = 0
    duplicates: int = 0
    rebalances: int = 0
    lost_replies: int = 0
    retries: int = 0
    cancels: int = 0
    redrives: int = 0
    repeats: int = 0
    reuses: int = 0
    flushes: int = 0
    failovers: int = 0
    expiries: int = 0
    overwrites: int = 0


class State(NamedTuple):
    shard: Shard
    line: tuple[Envelope, ...] = (Envelope(1),)
    """The worker's topic: each position comes until it is committed."""
    committed: frozenset[int] = frozenset()
    workers: tuple[Worker | None, Worker | None] = (None, None)
    client: Client | None = None
    log: frozenset[Fact] = frozenset()
    """The records of `tasks.pending` and `tasks.events`."""
    applied: frozenset[Fact] = frozenset()
    row: Row = Row()
    rebuild: Rebuild | None = None
    slow: Rebuild | None = None
    """A rebuild that was paused until its word ran out."""
    mending: frozenset[Fact] | None = None
    """The end of the log when the restoration of an overwritten record noted it."""
    words: int = 0
    """How often something was restored; each rebuild's word is another."""
    replica: Shard | None = None
    accepted: int = 0
    """The largest token of a settle that was accepted."""
    decided: frozenset[Fact] = frozenset()
    """What Redis accepted since it last forgot."""
    left: Budget = Budget()

    def spend(self, fault: str) -> "State":
        return self._replace(left=self.left._replace(**{fault: getattr(self.left, fault) - 1}))

    def put(self, index: int, worker: Worker | None) -> "State":
        pair = (worker, self.workers[1]) if index == 0 else (self.workers[0], worker)
        return self._replace(workers=pair)


class World(NamedTuple):
    """The surroundings of a case, apart from its faults."""

    ends: tuple[str, ...] = ("succeeded",)
    tells_starts: bool = False
    """Attempts last until a heartbeat, which publishes TaskStarted."""
    one_partition: bool = False
    """Records come strictly in order, and a commit covers those before it."""
    clock_falls_back: int = 0
    """How much the clock of the next server lags."""
    second_run_is_wrong: bool = True
    workers_may_pause: bool = True
    """Else only gateways are ever paused."""
    rebuilds_may_pause: bool = False
    reconciles: bool = False
    replica_is_kept: bool = True
    """A failover finds what the replica had; else nothing."""
