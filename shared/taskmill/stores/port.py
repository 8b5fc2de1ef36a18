"""A port of the stores, which the first caller opens."""

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from taskmill.stores.stores import Stores

P = TypeVar("P")

_OPENING: Final = RLock()
"""Held while a port is opened. Several jobs of a process start at once, each with stores of its
own, and packages such as psycopg break when several threads import them at the same time.
"""


class port(Generic[P]):  # noqa: N801 - it is written as a decorator, like `property`
    """A `cached_property` that opens one port at a time in this process, and watches it."""

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
