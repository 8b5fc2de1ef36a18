"""Decides when to stop calling an unavailable store, and when to try it again."""

from datetime import timedelta
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from taskmill.core.time import in_ms

FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(seconds=10)


class Breaker(Struct, frozen=True, kw_only=True):
    """Closed without a pause; open until its pause is over; then half open: one call may try."""

    pause: timedelta = timedelta()
    shut_until_ms: int = 0

    @property
    def is_closed(self) -> bool:
        return not self.pause

    def is_shut(self, now_ms: int) -> bool:
        return now_ms < self.shut_until_ms

    def tried(self, now_ms: int) -> Self:
        """Return the state while the one call that was let through has not reported its result.

        If it never does, the next call is let through after another pause.
        """
        return replace(self, shut_until_ms=now_ms + in_ms(self.pause)) if self.pause else self

    def failed(self, now_ms: int) -> Self:
        pause = min(max(self.pause * 2, FIRST_PAUSE), LONGEST_PAUSE)
        return replace(self, pause=pause, shut_until_ms=now_ms + in_ms(pause))

    def succeeded(self) -> Self:
        return replace(self, pause=timedelta(), shut_until_ms=0)
