"""What is submitted again and again, and when."""

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum

from msgspec import Raw, Struct

from taskmill.core.task import Millis, TaskId
from taskmill.schedules.catch_up import WINDOW, CatchUp
from taskmill.schedules.coming import Dst
from taskmill.submission.enqueued import Enqueue

OPEN_TASKS = 10
"""So many of its latest tasks a schedule remembers, to see whether they overlap the next."""
OCTETS_AT_A_TIME = 8 * 1024 * 1024
"""So large are the schedules that are looked at together, and the requests of one statement."""


class Overlap(StrEnum):
    """What becomes of a fire while the task of the one before has not ended."""

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE_ONE = "queue_one"
    """One waits until that task has ended; those that come meanwhile are skipped."""
    CANCEL_RUNNING = "cancel_running"


class Definition(Struct, frozen=True, kw_only=True):
    """What a schedule submits and when, as it is kept: in the words of its request."""

    task: Raw
    cron: str | None = None
    every_seconds: int | None = None
    timezone: str = "UTC"
    dst: Dst = Dst()
    overlap: Overlap = Overlap.ALLOW
    catch_up: CatchUp = CatchUp.ONE
    catch_up_window_seconds: int = WINDOW // timedelta(seconds=1)
    jitter_seconds: float = 0

    @property
    def octets(self) -> int:
        return memoryview(self.task).nbytes


class Pausing(Struct, frozen=True):
    at_ms: Millis
    by: str


class LastFire(Struct, frozen=True):
    nominal_ms: Millis
    at_ms: Millis
    task_id: TaskId


class Refused(Struct, frozen=True):
    """Why the task of the last fire was not taken."""

    code: str
    detail: str


class FireTally(Struct, frozen=True):
    """What became of all instants so far."""

    fired: int = 0
    skipped: int = 0
    """The task before had not ended."""
    missed: int = 0
    """Nobody fired them in time, or before a pause, and they are not made up for."""
    backfilled: int = 0
    """Asked for by people, some of them perhaps once more."""


class Schedule(Struct, frozen=True, kw_only=True):
    tenant: str
    name: str
    definition: Definition
    revision: int
    is_managed: bool
    next_at_ms: Millis | None
    """The nominal instant that comes next; none while it is paused, or when none comes any more."""
    decided_at_ms: Millis
    """Of every instant until then it is decided what becomes of it."""
    held: Sequence[Millis] = ()
    """Instants that have come and are still to be fired, the next one first."""
    paused: Pausing | None = None
    last: LastFire | None = None
    refused: Refused | None = None
    open_tasks: Sequence[TaskId] = ()
    tally: FireTally = FireTally()
    created_at_ms: Millis
    changed_at_ms: Millis


class Draft(Struct, frozen=True, kw_only=True):
    """A schedule as people want it."""

    tenant: str
    name: str
    definition: Definition
    is_managed: bool
    next_at_ms: Millis | None
    decided_at_ms: Millis
    held: Sequence[Millis] = ()
    paused: Pausing | None = None
    skipped: int = 0
    missed: int = 0


class Fire(Struct, frozen=True):
    """What one instant of a schedule asks for."""

    nominal_ms: Millis
    request: Enqueue


class Step(Struct, frozen=True, kw_only=True):
    """What is to become of a schedule; nothing does if it is not as it was seen any more."""

    seen: Schedule
    now_ms: Millis
    fires: Sequence[Fire] = ()
    next_at_ms: Millis | None
    look_at_ms: Millis | None
    decided_at_ms: Millis
    held: Sequence[Millis] = ()
    skipped: int = 0
    missed: int = 0
    open_tasks: Sequence[TaskId] = ()
    to_cancel: Sequence[TaskId] = ()
    """These are in the way of what is held."""


class DueSchedules(Struct, frozen=True):
    now_ms: Millis
    """The time of the ledger: no other clock decides what is due."""
    schedules: Sequence[Schedule]
    has_more: bool
    """Others may be due behind these, of which some may be unreadable here."""


class Whereabouts(StrEnum):
    """Where the task of a fire is."""

    ENQUEUED = "enqueued"
    """Not in the log yet: nobody can cancel it."""
    LIVING = "living"
    OVER = "over"
    """It has ended, or was refused."""
    UNKNOWN = "unknown"
    """In the log, and not in the ledger yet; or long forgotten."""
