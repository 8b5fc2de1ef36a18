"""Redis's answers to a submission, and the messages that are then owed."""

from typing import TypeAlias

from msgspec import Struct

from taskmill.core.owed import Cold, Owed


class Created(Struct, frozen=True):
    generation: int


class AdmittedBefore(Struct, frozen=True):
    """The same submission was admitted before; includes what it still owes."""

    generation: int
    owed: Owed | None


class Replayed(Struct, frozen=True):
    """An identical request came before under this key; includes what its winner still owes."""

    generation: int
    owed: Owed | None


class Conflict(Struct, frozen=True):
    """A different request came before under this key; includes what its winner still owes."""

    generation: int
    owed: Owed | None


Verdict: TypeAlias = Created | AdmittedBefore | Replayed | Conflict | Cold
