"""What Redis says when a submission asks to be admitted, and what is then owed."""

from typing import TypeAlias

from msgspec import Struct

from taskmill.core.owed import Cold, Owed


class Created(Struct, frozen=True):
    generation: int


class AdmittedBefore(Struct, frozen=True):
    """The same submission asked before; what it still owes comes along."""

    generation: int
    owed: Owed | None


class Replayed(Struct, frozen=True):
    """The same request came before under this key; what its winner still owes comes along."""

    generation: int
    owed: Owed | None


class Conflict(Struct, frozen=True):
    """Another request came before under this key; what its winner still owes comes along."""

    generation: int
    owed: Owed | None


Verdict: TypeAlias = Created | AdmittedBefore | Replayed | Conflict | Cold
