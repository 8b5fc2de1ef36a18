"""What is known of the receivers of webhooks."""

from collections.abc import Sequence
from typing import Protocol

from taskmill.core.task import Millis
from taskmill.egress.endpoints import DisabledEndpoint


class Endpoints(Protocol):
    """The receivers of webhooks that said that they are gone: nobody calls them again."""

    def disable(self, url: str, *, at_ms: Millis) -> None: ...

    def is_disabled(self, url: str) -> bool: ...

    def enable(self, url: str) -> bool:
        """Let it be called again; return whether it was disabled."""
        ...

    def disabled(self, *, most: int) -> Sequence[DisabledEndpoint]:
        """Return those that were disabled last."""
        ...
