"""What is submitted repeatedly, and when."""

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum

from msgspec import Raw, Struct

from taskmill.core.task import Millis, TaskId
from taskmill.schedules.catch_up import WINDOW, CatchUp
from taskmill.schedules.clock_changes import Dst
from taskmill.submission.enqueued import Enqueue

OPEN_TASKS = 10
"""How many of its latest tasks a schedule remembers, to detect overlaps with the next."""
OCTETS_AT_A_TIME = 8 * 1024 * 1024
"""Size limit for schedules that are read together, and for the requests of one statement."""


class Overlap(StrEnum):
    """What to do when the previous fire's task has not ended."""

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE_ONE = "queue_one"
    """One fire waits until that task has ended; further instants meanwhile are skipped."""
    CANCEL_RUNNING = "cancel_running"


class Definition(Struct, frozen=True, kw_only=True):
    """What a schedule submits and when, stored in the terms of its request."""

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


class FireRefused(Struct, frozen=True):
    """Why the task of the latest fire was refused."""

    code: str
    detail: str


class FireTally(Struct, frozen=True):
    """Counters of all instants so far."""

    fired: int = 0
    skipped: int = 0
    """The previous task had not ended."""
    missed: int = 0
    """Not fired in time or before a pause, and not made up for."""
    backfilled: int = 0
    """Requested by people, some of them perhaps repeatedly."""


class Schedule(Struct, frozen=True, kw_only=True):
    tenant: str
    name: str
    definition: Definition
    revision: int
    is_managed: bool
    next_at_ms: Millis | None
    """The next nominal instant; None while paused, or when there is none left."""
    decided_at_ms: Millis
    """Every instant up to this one has been decided."""
    held: Sequence[Millis] = ()
    """Instants that have come and must still be fired, earliest first."""
    paused: Pausing | None = None
    last: LastFire | None = None
    refused: FireRefused | None = None
    open_tasks: Sequence[TaskId] = ()
    tally: FireTally = FireTally()
    created_at_ms: Millis
    changed_at_ms: Millis


class Draft(Struct, frozen=True, kw_only=True):
    """A schedule as requested by people."""

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
    """What one instant of a schedule submits."""

    nominal_ms: Millis
    request: Enqueue


class ScheduleStep(Struct, frozen=True, kw_only=True):
    """The next state of a schedule; applied only if it is still as it was read."""

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
    """Tasks that block held fires."""


class DueSchedules(Struct, frozen=True):
    now_ms: Millis
    """The ledger's time: no other clock decides what is due."""
    schedules: Sequence[Schedule]
    has_more: bool
    """More may be due after these, some of them unreadable here."""


class Whereabouts(StrEnum):
    """Where the task of a fire is."""

    ENQUEUED = "enqueued"
    """Not in the log yet, so it cannot be cancelled."""
    LIVING = "living"
    OVER = "over"
    """It has ended or was refused."""
    UNKNOWN = "unknown"
    """In the log but not yet in the ledger; or deleted long ago."""
