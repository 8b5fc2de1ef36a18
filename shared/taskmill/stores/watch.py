"""Watches ports: counts what passes through them, and ends the process where a test says so."""

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
    "leases": "tasks",
    "ledger": "tasks",
    "outbox": "orders",
    "parking": "tasks",
    "requests": "orders",
    "schedules": "orders",
}
"""The ports that are counted, and the module of `counted` that says how; imported on need."""


class Watch(Struct, frozen=True):
    """What stands around every port that a process opens."""

    counters: Counters
    crash_at: CrashAt | None = None

    def over(self, name: str, port: P, *, opener: str) -> P:
        """Return *port*, counted; *opener* names the stores that it belongs to."""
        if name in _COUNTED:
            self._count(name, port)
        if self.crash_at is None:
            return port
        return with_crash_point(name, port, self.crash_at, opener=opener)

    def _count(self, name: str, port: object) -> None:
        """Put a watcher around each counted call of *port*; it never makes these calls itself."""
        for call, watcher in _watchers_of(name).items():
            setattr(port, call, watcher(getattr(port, call), self.counters))


def _watchers_of(name: str) -> "Watchers":
    module = import_module(f"taskmill.stores.counted.{_COUNTED[name]}")
    watchers: Watchers = getattr(module, name.upper())
    return watchers
