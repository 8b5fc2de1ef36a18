"""Ports of lanes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from taskmill.core.codec import RawEnvelope
from taskmill.core.owed import Cold
from taskmill.core.task import TaskType
from taskmill.core.wake_up import WakeUp
from taskmill.lanes.lane import (
    Enter,
    Entered,
    Filled,
    HeldEnvelope,
    LaneCount,
    LanePause,
    Leave,
    LookLater,
    Member,
    PutBack,
    Shelved,
    Take,
    TakeAnswer,
    TurnState,
    Watched,
)
from taskmill.lanes.rules import PauseOrder, RuleBook, RuleKey, RulesChanged


class Lanes(Protocol):
    """What waits for a worker, and what was taken by one."""

    def enter(self, tasks: Sequence[RawEnvelope], *, past: bool = False) -> Enter:
        """Put each task into its line, unless it is in its lane already.

        A first turn is shelved while its line is full or its shelf is open, unless it goes *past*
        the shelf.
        """
        ...

    def bring_in(self, tasks: Sequence[Shelved | RawEnvelope]) -> Enter:
        """Put tasks of the shelf into their lines, in order; those without room stay shelved.

        Those without envelopes are over. The shelf of a line closes with the task that was shelved
        last.
        """
        ...

    def with_room(self, lines: Mapping[TaskType, Sequence[str]]) -> Sequence[str]:
        """Return those of *lines*, by type, that less waits in than half of what they may hold."""
        ...

    def take(self, take: Take) -> TakeAnswer | Cold: ...

    def leave(self, task_type: TaskType, leaves: Sequence[Leave]) -> None: ...

    def put_back(self, tasks: Sequence[PutBack]) -> Sequence[WakeUp]: ...

    def look_later(self, tasks: Sequence[LookLater]) -> None: ...

    def watch(
        self, *, most: int, only: TaskType | None = None
    ) -> Sequence[tuple[TaskType, Watched]]:
        """Return, for each live lane, what is to be looked at; nobody else does so meanwhile.

        A worker watches *only* the lane of its type, which still knows that no scheduler has come.
        """
        ...

    def epochs(self, types: Collection[TaskType]) -> Sequence[str | None]:
        """Return the epoch of each type's lane; None while it is cold."""
        ...

    def withdraw(self, task_type: TaskType, members: Sequence[Member], *, epoch: str) -> int:
        """Take members out of their lines, and return how many; none that is in flight."""
        ...

    def holds(self, tasks: Sequence[tuple[TaskType, Member]]) -> Sequence[bool | None]:
        """Return whether each is in its lane, in line or in flight; None while that is cold."""
        ...

    def set_pauses(
        self, pauses: Sequence[LanePause], *, revision: int, wakes: bool = True
    ) -> Sequence[WakeUp]:
        """Set the pauses of every live lane, unless it knows newer ones.

        A caller that cannot wake leaves that to the next tick.
        """
        ...

    def revisions(self, types: Collection[TaskType]) -> Sequence[int | None]:
        """Return the revision of each lane's pauses, 0 for none; None while the lane is cold."""
        ...

    def count(self, types: Sequence[TaskType]) -> Sequence[LaneCount | Cold]: ...


class Rules(Protocol):
    """The rule book. Revisions grow with each change, in the order of the commits."""

    def revision(self) -> int: ...

    def book(self) -> RuleBook: ...

    def pause(self, order: PauseOrder) -> RulesChanged:
        """Add a pause, or replace that of the same key."""
        ...

    def resume(self, key: RuleKey) -> RulesChanged:
        """Remove a pause; without one, nothing changes."""
        ...

    def pass_by(self, revision: int) -> int:
        """Take a revision beyond this one, unless the book is there; return the book's."""
        ...


class Turns(Protocol):
    """The records of what is in flight."""

    def look(self, members: Sequence[Member]) -> Sequence[TurnState]:
        """Return what becomes of each; a lease found lapsed is closed, and never extended again."""
        ...


class Rings(Protocol):
    """Rings for processes that promised to ask again."""

    def wait(self, task_type: TaskType, partition: int) -> bool:
        """Wait for a ring, a second at most, and return whether there was one."""
        ...


class ColdLanes(Protocol):
    """Lanes that lost data, or may have. Each step requires the nonce of its rebuild."""

    def cold(self) -> Sequence[TaskType]: ...

    def begin(self, nonce: str, types: Sequence[TaskType]) -> Sequence[TaskType]: ...

    def keep(self, nonce: str, types: Sequence[TaskType]) -> Sequence[TaskType]: ...

    def fill(
        self, nonce: str, task_type: TaskType, tasks: Sequence[Filled | Shelved]
    ) -> Sequence[Entered]:
        """Put tasks into a lane; first turns beyond what a line may hold are shelved.

        All are cold if the lane has lost the nonce. Those that are shelved already open the shelves
        of their lines.
        """
        ...

    def open(self, nonce: str, types: Sequence[TaskType]) -> Sequence[TaskType]: ...

    def leave(self, nonce: str, types: Sequence[TaskType]) -> None: ...

    def close(self, types: Sequence[TaskType]) -> Sequence[TaskType]:
        """Make lanes cold, and keep what they hold; return those that had not lost data before."""
        ...

    def empty(self, types: Sequence[TaskType]) -> Sequence[TaskType]:
        """Empty lanes that are still closed, and return them; they stay closed."""
        ...

    def held(
        self, task_type: TaskType, *, after: str, most: int
    ) -> tuple[str, Sequence[HeldEnvelope]]:
        """Return where to go on, and about *most* tasks of a closed lane: "0" is start and end."""
        ...

    def renew_epochs(self) -> None:
        """Give every living lane a new epoch, before a rebuilt shard is opened."""
        ...
