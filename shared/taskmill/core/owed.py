"""Messages that Redis owes to the log: decided, but not yet known to be published."""

from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from taskmill.core.facts import Fact
from taskmill.core.task import Envelope, TaskId


class OwedKind(StrEnum):
    """Where a due entry goes: `tasks.pending`, the lane of its type, `tasks.events`.

    Parked tasks go to `tasks.pending` again: the dispatcher may know their type by then.
    """

    SUBMISSION = "submission"
    TURN = "turn"
    FACTS = "facts"
    PARKED = "parked"


HELD_ALONE = frozenset({OwedKind.TURN, OwedKind.FACTS})
"""What is cleared only under the hold under which it was published: a rebuild may count on the
turn by then, and another order may owe more facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedKey:  # not a Struct: two fields are excluded from comparison
    """The name of a due entry; a new turn gets a new name."""

    id: TaskId
    generation: int
    turn: int
    kind: OwedKind
    slot: int = 0
    """The time slot at whose end a turn is parked. In the next slot it gets a new name, so that
    clearing the old entry cannot remove the new one. Within a slot, copies are one entry."""
    task: bytes = field(default=b"", compare=False, repr=False)
    """The envelope under this name, passed on unchanged; not part of the name."""
    hold: int | None = field(default=None, compare=False, repr=False)
    """Until when the scheduler or gateway that publishes it has it to itself (ms); not part of the
    name."""


class Owed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Messages to publish: first the facts that ended something, then the task."""

    facts: tuple[Fact, ...] = ()
    task: Envelope | None = None


class Cold(Struct, frozen=True):
    """Redis lost data, or may have: nothing is asked of the shard until it is rebuilt."""


class Cleared(StrEnum):
    DONE = "done"
    OTHER_GENERATION = "other_generation"
    LATE = "late"
    """The hold ran out before, or another has the entry: nothing was changed."""
    COLD = "cold"
