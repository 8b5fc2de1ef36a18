"""Guards a store, so that callers do not wait for it again while it is down."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from taskmill.core.errors import StoreUnavailable
from taskmill.core.time import in_ms
from taskmill.stores.breaker import Breaker

FOR_EVER = timedelta.max
QUICK = timedelta(milliseconds=250)


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class Guard:
    """A circuit breaker by the process's own clock.

    A failure that takes less than *tolerance* does not open it: a store that refuses at once may be
    called again at once.
    """

    def __init__(
        self,
        store: str,
        *,
        tolerance: timedelta = FOR_EVER,
        opened: Callable[[str], None] = lambda _store: None,
        clock_ms: Callable[[], int] = _monotonic_ms,
    ) -> None:
        self._store = store
        self._tolerance = in_ms(tolerance)
        self._opened = opened
        self._clock_ms = clock_ms
        self._breaker = Breaker()

    def is_shut(self) -> bool:
        return self._breaker.is_shut(self._clock_ms())

    def is_in_doubt(self) -> bool:
        """Return whether the store has failed and not responded since."""
        return not self._breaker.is_closed

    def enter(self) -> int:
        """Return the time of entry, or raise without waiting."""
        now = self._clock_ms()
        if self._breaker.is_shut(now):
            raise StoreUnavailable(self._store, "it did not respond a moment ago")
        self._breaker = self._breaker.tried(now)
        return now

    def failed(self, entered_ms: int) -> None:
        now = self._clock_ms()
        if now - entered_ms < self._tolerance:
            self._breaker = self._breaker.succeeded()
            return
        if self._breaker.is_closed:
            self._opened(self._store)
        self._breaker = self._breaker.failed(now)

    def succeeded(self) -> None:
        self._breaker = self._breaker.succeeded()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Pass a call through and learn from its result; errors of the caller do not count."""
        entered = self.enter()
        try:
            yield
        except StoreUnavailable:
            self.failed(entered)
            raise
        self.succeeded()
