"""What is owed to the log: decided in Redis, and not yet known to be published."""

from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from taskmill.core.facts import Fact
from taskmill.core.task import Envelope, TaskId


class OwedKind(StrEnum):
    """Where a due entry is published: `tasks.pending`, the worker's topic, `tasks.events`.

    What is parked goes to `tasks.pending` again: the dispatcher may know its type by then.
    """

    SUBMISSION = "submission"
    TURN = "turn"
    FACTS = "facts"
    PARKED = "parked"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedKey:  # no Struct: one field is no part of what it is compared by
    """The name of a due entry; a new turn is a new name."""

    id: TaskId
    generation: int
    turn: int
    kind: OwedKind
    slot: int = 0
    """The span of time to whose end a turn is parked. After it, the turn is parked again under
    another name: clearing the old entry cannot remove the new one. In it, copies are one entry."""
    task: bytes = field(default=b"", compare=False, repr=False)
    """The envelope that stands under this name, to be passed on as it is; no part of the name."""


class Owed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What must be published: first the facts that ended something, then the task."""

    facts: tuple[Fact, ...] = ()
    task: Envelope | None = None


class Cold(Struct, frozen=True):
    """Redis forgot, or may have: it is not asked until its shard is rebuilt."""


class Cleared(StrEnum):
    DONE = "done"
    OTHER_GENERATION = "other_generation"
    COLD = "cold"
