"""A clock that stands still until it is moved."""

from datetime import UTC, datetime, timedelta

from taskmill.core.task import Millis
from taskmill.core.time import in_ms

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class MovableClock:
    def __init__(self, now: datetime = BEGIN) -> None:
        self._now_ms = round(now.timestamp() * 1000)

    def __call__(self) -> Millis:
        return Millis(self._now_ms)

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self._now_ms / 1000, UTC)

    def move(self, span: timedelta) -> None:
        """Let that much time pass; time never goes back."""
        self._now_ms += max(in_ms(span), 0)

    def move_to(self, at_ms: int) -> None:
        self._now_ms = max(self._now_ms, at_ms)
