"""Watches ports: counts what passes through them, and ends the process where a test says so."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, TypeVar, cast

from msgspec import Struct

from taskmill.core.ports import Counters
from taskmill.settings.crash_points import CrashAt
from taskmill.stores.counted.watchers import Watchers
from taskmill.stores.crash import with_crash_point

P = TypeVar("P")

COUNTED: Final[Mapping[str, str]] = {
    "admission": "submission",
    "bus": "log",
    "control": "orders",
    "delays": "dispatch",
    "due": "dispatch",
    "firing": "schedules",
    "leases": "execution",
    "ledger": "ledger",
    "outbox": "submission",
    "parking": "dispatch",
    "requests": "submission",
    "schedules": "schedules",
}
"""The ports that are counted, and the module of `counted` that says how; imported on need."""


class Watch(Struct, frozen=True):
    """What stands around every port that a process opens."""

    counters: Counters
    crash_at: CrashAt | None = None

    def over(self, name: str, port: P, *, opener: str) -> P:
        """Return *port*, counted; *opener* names the stores that it belongs to."""
        watched = _counted(name, port, self.counters) if name in COUNTED else port
        if self.crash_at is None:
            return watched
        return with_crash_point(name, watched, self.crash_at, opener=opener)


def watchers_of(name: str) -> Watchers:
    module = import_module(f"taskmill.stores.counted.{COUNTED[name]}")
    watchers: Watchers = getattr(module, name.upper())
    return watchers


def _counted(name: str, port: P, counters: Counters) -> P:
    return cast("P", _Counted(port, watchers_of(name), counters))


class _Counted:
    """A port with watchers around some of its calls; all else is the port's own."""

    def __init__(self, port: object, watchers: Watchers, counters: Counters) -> None:
        self._port = port
        self._watchers = watchers
        self._counters = counters

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        watcher = self._watchers.get(name)
        return found if watcher is None else watcher(found, self._counters)
