"""Wraps ports: adds metrics to their calls and, for tests, a crash point."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct

from taskmill.core.ports import Counters
from taskmill.settings.crash_points import CrashAt
from taskmill.stores.crash import with_crash_point

if TYPE_CHECKING:
    from taskmill.stores.counted.tasks import Watchers

P = TypeVar("P")

_COUNTED: Final[Mapping[str, str]] = {
    "admission": "tasks",
    "bus": "tasks",
    "control": "orders",
    "delays": "tasks",
    "due": "tasks",
    "firing": "orders",
    "lanes": "lanes",
    "leases": "tasks",
    "ledger": "tasks",
    "outbox": "orders",
    "parking": "tasks",
    "requests": "orders",
    "schedules": "orders",
}
"""The module of `counted` with the metrics of each counted port; imported when it is opened."""


class Watch(Struct, frozen=True):
    """The wrappers of every port that a process opens."""

    counters: Counters
    crash_at: CrashAt | None = None

    def over(self, name: str, port: P, *, opener: str) -> P:
        """Return *port* with its metrics; *opener* names the stores that it belongs to."""
        if name in _COUNTED:
            self._count(name, port)
        if self.crash_at is None:
            return port
        return with_crash_point(name, port, self.crash_at, opener=opener)

    def _count(self, name: str, port: object) -> None:
        """Wrap each counted method of *port*, which never calls these methods itself."""
        for call, watcher in _watchers_of(name).items():
            setattr(port, call, watcher(getattr(port, call), self.counters))


def _watchers_of(name: str) -> "Watchers":
    module = import_module(f"taskmill.stores.counted.{_COUNTED[name]}")
    watchers: Watchers = getattr(module, name.upper())
    return watchers
