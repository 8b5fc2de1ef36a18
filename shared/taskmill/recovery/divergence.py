"""Divergences between the ledger and a task's record, and their repairs."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias, assert_never

from msgspec import Struct

from taskmill.core.lifetimes import ADOPTION_AGE
from taskmill.core.owed import Cold, OwedKind
from taskmill.core.task import Millis, Status, TaskId, TaskType
from taskmill.core.time import FAR, in_ms
from taskmill.core.view import Absent
from taskmill.orders.control import Moment, Sight, Sighting
from taskmill.recovery.restoration import HotView

BROUGHT_NEAR_WITHIN = timedelta(minutes=2)
"""In which a task is brought near whose time has come near."""


class Divergence(StrEnum):
    LEDGER_BEHIND = "ledger_behind"
    RECORD_BEHIND = "record_behind"
    RECORD_MISSING = "record_missing"
    NOWHERE_IN_LINE = "nowhere_in_line"
    UNLISTED = "unlisted"
    """Of due entries, not of tasks: the due set does not name them."""


ABOUT: Mapping[Divergence, tuple[str, str]] = {
    Divergence.LEDGER_BEHIND: (
        "the record is further than the ledger, which has read the whole log",
        "publish the record's last facts once more",
    ),
    Divergence.RECORD_BEHIND: (
        "the ledger is further than the record",
        "raise the record to what the ledger knows",
    ),
    Divergence.RECORD_MISSING: (
        "unfinished in the ledger for more than an hour, and without a record",
        "make the record from the ledger and put the task in line",
    ),
    Divergence.NOWHERE_IN_LINE: (
        "unfinished in both, but neither owed nor in the log",
        "put the task in line once more",
    ),
    Divergence.UNLISTED: (
        "owed, but not named by the due set, so nobody publishes it",
        "let it be due now",
    ),
}
"""What each means, and what is done about it."""


class Standing(Struct, frozen=True, kw_only=True):
    """How far the ledger knows a task to be."""

    id: TaskId
    type: TaskType
    status: Status
    generation: int
    turn: int
    due_at_ms: Millis | None
    finished_at_ms: Millis | None

    @property
    def position(self) -> "Position":
        """The place in life where the record should be: a retrying one is in its next turn."""
        is_retrying = self.status is Status.RETRYING
        return self.generation, self.status.is_final, self.turn + is_retrying


Position: TypeAlias = tuple[int, bool, int]
"""Generation, whether it is closed, turn."""


def position_of(sighting: Sighting) -> Position:
    task = sighting.task
    return task.generation, task.status.is_final, sighting.turn


def divergence(standing: Standing, sight: Sight, *, now: Millis) -> Divergence | None:
    """Say how both disagree, if they do; a moment later it may have passed."""
    match sight:
        case Cold():
            return None
        case Absent():
            is_old = standing.generation + in_ms(ADOPTION_AGE) < now
            is_lost = is_old and standing.generation and not standing.status.is_final
            return Divergence.RECORD_MISSING if is_lost and not _is_far(standing, now) else None
        case Sighting():
            return _between(standing, sight, now)
        case _:
            assert_never(sight)


def _is_far(standing: Standing, now: Millis) -> bool:
    """Tell whether it has no record because it is due far ahead."""
    if standing.status is not Status.SCHEDULED or standing.due_at_ms is None:
        return False
    return standing.due_at_ms - now > in_ms(FAR - BROUGHT_NEAR_WITHIN)


def _between(standing: Standing, sight: Sighting, now: Millis) -> Divergence | None:
    known, told = position_of(sight), standing.position
    if known[0] == told[0] and known[1] and told[1]:
        is_same = sight.task.status is standing.status
        return None if is_same else Divergence.RECORD_BEHIND  # of two ends the ledger's is right
    if told > known:
        return Divergence.RECORD_BEHIND
    if told < known:
        return None if OwedKind.SUBMISSION in sight.owed else Divergence.LEDGER_BEHIND
    due = sight.task.due_at_ms
    is_early = due is not None and due > now
    return None if sight.owed or is_early else Divergence.NOWHERE_IN_LINE


class Diverged(Struct, frozen=True, kw_only=True):
    """A disagreement that did not pass."""

    kind: Divergence
    standing: Standing
    sight: Sighting | Absent

    @property
    def sign(self) -> "Sign":
        """What must be the same at the next look."""
        token = self.sight.token if isinstance(self.sight, Sighting) else 0
        return self.kind, self.standing, self.seen, token

    @property
    def seen(self) -> Moment | None:
        return self.sight.moment if isinstance(self.sight, Sighting) else None


Sign: TypeAlias = tuple[Divergence, Standing, Moment | None, int]


class RepairOrder(Struct, frozen=True, kw_only=True):
    """Raises a record to what the ledger knows, if it is still as it was seen."""

    seen: Moment | None
    """None: there was no record, and the task must be put in line anew."""
    view: HotView

    @property
    def due_at_ms(self) -> Millis | None:
        """When it must be put in line; None when it stands there already."""
        if self.view.due_at_ms is not None:
            return self.view.due_at_ms
        return Millis(0) if self.seen is None else None


class RepairAnswer(StrEnum):
    DONE = "done"
    MOVED = "moved"
    """The task went on since it was seen: nothing was changed."""
    COLD = "cold"
