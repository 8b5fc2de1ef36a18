"""A run as seen from three sides: its clients, its effects, and the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    OK = "ok"
    FAIL = "fail"
    DEFERRED = "deferred"
    """Taken, but another body may have come before under the key."""
    UNKNOWN = "unknown"
    """No answer, or one that says that it may have happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """A request for a task. Its label is in the metadata: equal requests have equal labels."""

    label: str
    body: str
    key: str | None = None
    outcome: Outcome = Outcome.OK
    id: str | None = None
    run_at_ms: int | None = None
    invoked_ms: int = 0
    returned_ms: int = 0
    http: int | None = None
    has_retry_after: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A task as one client saw it; the reads of a reader are in order."""

    reader: str
    id: str
    status: str
    generation: int = 1
    attempt: int = 1
    losses: int = 0
    http: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Redrive:
    id: str
    outcome: Outcome = Outcome.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """An external effect of a handler; an owned one is in our database, unique by its key."""

    label: str
    generation: int
    is_owned: bool
    token: str = ""
    at_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A fact in the ledger's history."""

    id: str
    kind: str
    generation: int = 1
    turn: int = 1
    at_ms: int = 0
    token: int = 0
    attempt: int = 1
    losses: int = 0
    started_at_ms: int | None = None
    due_at_ms: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskVersion:
    """A task in the ledger at the end."""

    id: str
    label: str
    status: str
    generation: int = 1
    turn: int = 1
    attempt: int = 1
    losses: int = 0
    max_attempts: int = 4
    reason: str | None = None
    finished_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """A task that was submitted for a nominal instant of a schedule, by anybody."""

    schedule: str
    nominal_ms: int
    task_id: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The nominal instants at which a schedule must fire, by its calendar and policies."""

    schedule: str
    fires_ms: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A figure with a cap, as sampled during the run."""

    name: str
    value: float
    cap: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    first_ms: int
    factor: float
    cap_ms: int

    def floor_ms(self, attempt: int) -> int:
        """Return the minimum wait after this attempt: half of it is fixed."""
        return int(min(self.first_ms * self.factor ** (attempt - 1), self.cap_ms) / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    submits: Sequence[Submit] = ()
    reads: Sequence[Read] = ()
    redrives: Sequence[Redrive] = ()
    effects: Sequence[Effect] = ()
    facts: Sequence[Told] = ()
    rows: Sequence[TaskVersion] = ()
    records: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """Generation and status of each task that Redis still has."""

    plans: Sequence[Plan] = ()
    fires: Sequence[Fired] = ()
    samples: Sequence[Sample] = ()
    expected_dead: frozenset[str] = frozenset()
    """The labels that are made to die; every other death is somebody else's fault."""

    faults_end_ms: int | None = None
    bound_ms: int = 15_000
    kills: int = 0
    in_flight: int | None = None
    """How many tasks one process may run side by side: with each kill so many effects may go out
    again. None where stores forgot or were away: then nobody knows how many."""

    backoff: Backoff | None = None
    longest_call_ms: int = 35_000

    @property
    def size(self) -> int:
        return len(self.submits) + len(self.reads) + len(self.effects) + len(self.facts)
