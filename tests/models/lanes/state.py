"""The whole system around a few tasks: a lane, the records' shard, the log, and who works."""

from typing import NamedTuple

from tests.models.lanes.lane import FRESH, Lane, Member
from tests.models.ledger import Row, fold
from tests.models.rules import Rules
from tests.models.shard import Entry, Envelope, Fact, Record, Shard


class Worker(NamedTuple):
    """An invocation with one member; `at` is its next step."""

    at: str
    """claim, run, settle, publish or leave."""
    member: Member
    source: int = 0
    """Names the take among those of its task."""
    epoch: int = 0
    """The lane's, as its process knew it when it asked the record."""
    token: int = 0
    end: str = ""
    """The status that its attempt leads to."""
    facts: tuple[Fact, ...] = ()
    has_said_end: bool = False
    is_paused: bool = False
    is_late: bool = False
    """The look that came with its take has come."""
    has_lapsed: bool = False
    """Its lease ran out under it, and it has not had an answer to a beat since."""
    is_start_reported: bool = False
    """The start of its attempt is in the log."""

    @property
    def envelope(self) -> Envelope:
        return Envelope(self.member.generation, self.member.turn)


class Tick(NamedTuple):
    """A scheduler with one member in hand; `at` is its next step."""

    at: str
    """look, publish, leave or put back."""
    member: Member
    look: int
    epoch: int
    """The lane's, as known before it asked the record."""
    facts: tuple[Fact, ...] = ()


class Mover(NamedTuple):
    """A scheduler with an entry of the due set; `at` is its next step."""

    at: str
    """enter or clear."""
    task: int
    entry: Entry
    is_paused: bool = False

    @property
    def member(self) -> Member:
        return Member(self.task, self.entry.turn, self.entry.generation)


class Gateway(NamedTuple):
    """A gateway that changed a task: it publishes, then withdraws what it cancelled."""

    member: Member
    entry: Entry
    epoch: int
    hold: int | None = None
    """Under which it owes facts of an order."""
    is_published: bool = False
    is_paused: bool = False


class Reader(NamedTuple):
    """Who changes a task by what it read before."""

    name: str
    """canceller or redriver, both at a gateway, or reconciler."""
    task: int
    seen: Record
    facts: tuple[Fact, ...] = ()
    row: Row = Row()
    """What the reconciler read in the ledger."""


class Restoring(NamedTuple):
    """The rebuild of the shard; `at` is its next step."""

    at: str
    """note, restore or open."""
    word: int
    noted: frozenset[tuple[int, Fact]] = frozenset()
    """What the ledger had not read of the log when its end was noted."""


class Budget(NamedTuple):
    """How often each fault and each choice may still happen."""

    kills: int = 0
    pauses: int = 0
    stalls: int = 0
    lost_replies: int = 0
    duplicates: int = 0
    releases: int = 0
    """How often a process stops while it runs something."""
    retries: int = 0
    cancels: int = 0
    changes: int = 0
    stops: int = 0
    """How often an operator pauses the lane."""
    redrives: int = 0
    reuses: int = 0
    expiries: int = 0
    overwrites: int = 0
    lane_losses: int = 0
    shard_losses: int = 0
    flushes: int = 0
    failovers: int = 0
    repeats: int = 0
    """How often a client repeats its request."""


class World(NamedTuple):
    """The surroundings of a case, apart from its faults."""

    tasks: int = 2
    window: int = 1
    """How many of them may run at a time."""
    is_begun: bool = True
    """Task 0 is taken, and the others wait; else nobody has entered."""
    workers: int = 2
    ticks: int = 1
    mortal: tuple[str, ...] = ("dispatcher", "worker", "scheduler")
    """Who may be killed."""
    drowsy: tuple[str, ...] = ("worker",)
    """Who may be paused."""
    ends: tuple[str, ...] = ("succeeded",)
    second_run_is_wrong: bool = True
    lags: bool = False
    """The ledger reads the log fact by fact, and a rebuild is several steps."""
    reads_first: bool = False
    """Gateways read a record, and ask for its change later."""
    reconciles: bool = False
    tells_starts: bool = False
    """Attempts last until a heartbeat, which publishes TaskStarted."""
    clock_falls_back: int = 0
    """How much the clock of the next server lags."""
    is_punctual: bool = False
    """No record is restored, so an entry that is not due says so."""


class State(NamedTuple):
    shards: tuple[Shard, ...]
    """What the records' shard has of each task: lost together, rebuilt together."""
    rows: tuple[Row, ...]
    """What the log says of each task."""
    ledger: tuple[Row, ...] = ()
    """What the ledger has read of it, where it lags."""
    unread: frozenset[tuple[int, Fact]] = frozenset()
    lane: Lane = Lane()
    pending: tuple[Member, ...] = ()
    """Submissions in `tasks.pending` whose position is not committed."""
    entering: Member | None = None
    """The dispatcher has entered (or, as a twin, committed) this one."""
    workers: tuple[Worker | None, Worker | None] = (None, None)
    ticks: tuple[Tick, ...] = ()
    mover: Mover | None = None
    gateways: frozenset[Gateway] = frozenset()
    rebuild: int = 0
    """The word of the lane's rebuild, between filling and opening."""
    is_stopped: bool = False
    """The rule book says that the lane is paused."""
    noted: frozenset[tuple[int, Fact]] | None = None
    """As of a rebuild of the shard, but of the lane's."""
    is_renewed: bool = False
    """The rebuild of the shard has given the lane another epoch."""
    restoring: Restoring | None = None
    slow: Restoring | None = None
    """A rebuild that was paused until its word ran out."""
    words: int = 0
    """How many rebuilds have begun, where they are several steps."""
    mending: frozenset[tuple[int, Fact]] | None = None
    """As `noted`, by who makes an overwritten record anew."""
    replica: tuple[Shard, ...] | None = None
    reader: Reader | None = None
    accepted: int = 0
    """The largest token of a settle of the first task that was accepted, where it matters."""
    unpublished: frozenset[tuple[int, Fact]] = frozenset()
    """What Redis has accepted since it last forgot, and the log does not say."""
    left: Budget = Budget()

    def spend(self, fault: str) -> "State":
        return self._replace(left=self.left._replace(**{fault: getattr(self.left, fault) - 1}))

    def put(self, index: int, worker: Worker | None) -> "State":
        """Neither invocation has a name: their order is that of what they do."""
        return self.with_workers((worker, self.workers[1 - index]))

    def with_workers(self, workers: tuple[Worker | None, Worker | None]) -> "State":
        one, other = workers
        is_sorted = other is None or (one is not None and one <= other)
        return self._replace(workers=(one, other) if is_sorted else (other, one))

    def with_shard(self, task: int, shard: Shard) -> "State":
        shards = self.shards
        return self._replace(shards=(*shards[:task], shard, *shards[task + 1 :]))

    @property
    def is_cold(self) -> bool:
        return self.shards[0].is_cold

    def record(self, task: int) -> Record | None:
        return self.shards[task].record

    def row(self, task: int) -> Row:
        """Return what the ledger says of a task."""
        return self.ledger[task] if self.ledger else self.rows[task]


def published(state: State, task: int, facts: tuple[Fact, ...], rules: Rules) -> State:
    """Put facts into the log, which the ledger follows at once unless it lags."""
    row = state.rows[task]
    for fact in facts:
        row = fold(row, fact, rules)
    rows = (*state.rows[:task], row, *state.rows[task + 1 :])
    rest = state.unpublished - {(task, fact) for fact in facts}
    unread = state.unread | {(task, fact) for fact in facts} if state.ledger else state.unread
    return state._replace(rows=rows, unpublished=rest, unread=unread)


def decided(state: State, task: int, facts: tuple[Fact, ...]) -> State:
    """Note what Redis has accepted and the log must say one day."""
    return state._replace(unpublished=state.unpublished | {(task, fact) for fact in facts})


def late(state: State, member: Member | None = None) -> State:
    """Let the look of a member come, or of all: whoever took it and has not claimed is late."""
    one, other = (_late(worker, member) for worker in state.workers)
    return state.with_workers((one, other))


def _late(worker: Worker | None, member: Member | None) -> Worker | None:
    if worker is None or worker.at != "claim" or member not in (None, worker.member):
        return worker
    return worker._replace(is_late=True)


def settled_looks(lane: Lane, ticks: tuple[Tick, ...]) -> Lane:
    """Make looks that no tick has in hand alike."""
    in_hand = {(tick.member, tick.look) for tick in ticks}
    flight = frozenset(
        one if (one.member, one.look) in in_hand else one._replace(look=FRESH)
        for one in lane.flight
    )
    return lane._replace(flight=flight)
