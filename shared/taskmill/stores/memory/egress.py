"""Disabled endpoints, in memory."""

from collections.abc import Sequence

from taskmill.core.task import Millis
from taskmill.egress.endpoints import MOST_DISABLED, DisabledEndpoint


class MemoryEndpoints:
    def __init__(self) -> None:
        self._disabled: dict[str, Millis] = {}

    def disable(self, url: str, *, at_ms: Millis) -> None:
        self._disabled[url] = at_ms
        if len(self._disabled) > MOST_DISABLED:
            latest = self.disabled(most=MOST_DISABLED)
            self._disabled = {one.url: one.at_ms for one in latest}

    def is_disabled(self, url: str) -> bool:
        return url in self._disabled

    def enable(self, url: str) -> bool:
        return self._disabled.pop(url, None) is not None

    def disabled(self, *, most: int) -> Sequence[DisabledEndpoint]:
        latest = sorted(self._disabled, key=lambda url: (self._disabled[url], url), reverse=True)
        return [DisabledEndpoint(url, self._disabled[url]) for url in latest[:most]]
