"""Port for the state of webhook receivers."""

from collections.abc import Sequence
from typing import Protocol

from taskmill.core.task import Millis
from taskmill.egress.endpoints import DisabledEndpoint


class Endpoints(Protocol):
    """Webhook receivers that answered 410 Gone and are no longer called."""

    def disable(self, url: str, *, at_ms: Millis) -> None: ...

    def is_disabled(self, url: str) -> bool: ...

    def enable(self, url: str) -> bool:
        """Enable it again; return whether it was disabled."""
        ...

    def disabled(self, *, most: int) -> Sequence[DisabledEndpoint]:
        """Return the most recently disabled ones."""
        ...
