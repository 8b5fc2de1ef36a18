"""What is deployed."""

from collections.abc import Sequence
from typing import Protocol

from taskmill.domain.catalogue import PayloadMisfit, TypeEntry


class Catalogue(Protocol):
    """The deployed types."""

    def entries(self) -> Sequence[TypeEntry]: ...

    def entry(self, name: str) -> TypeEntry | None: ...

    def misfit(self, name: str, payload: object) -> PayloadMisfit | None: ...
