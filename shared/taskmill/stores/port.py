"""A property of the stores that opens a port on first use."""

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from taskmill.stores.stores import Stores

P = TypeVar("P")

_OPENING: Final = RLock()
"""Held while a port is opened. Several jobs of a process start at once, each with its own stores,
and packages such as psycopg break when several threads import them at the same time.
"""


class port(Generic[P]):  # noqa: N801 - used as a decorator, like `property`
    """A `cached_property` for ports: opens one at a time per process, and watches it."""

    def __init__(self, opens: Callable[["Stores"], P]) -> None:
        self._opens = opens
        self.__doc__ = opens.__doc__

    def __set_name__(self, owner: type["Stores"], name: str) -> None:
        self._name = name

    def __get__(self, stores: "Stores", owner: type["Stores"]) -> P:
        with _OPENING:
            ports = stores.__dict__
            if self._name not in ports:
                ports[self._name] = stores.watched(self._name, self._opens(stores))
            port: P = ports[self._name]
            return port
