"""Ends the process at an edge of a port: so tests die on the lines that matter."""

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from taskmill.settings.crash_points import CrashAt, Moment

P = TypeVar("P")

EXIT_CODE = 137
"""What a process that was killed leaves."""


def die() -> None:
    os._exit(EXIT_CODE)


def rigged(name: str, bound: P, at: CrashAt, end: Callable[[], None] = die) -> P:
    """Return *bound*, a port of this name or a value of several, with the edge rigged.

    The process ends when the edge is passed for the nth time.
    """
    port = at.edge.port
    if at.edge.where not in {"", name}:
        return bound
    if name == port:
        return cast("P", _Rigged(bound, at, end))
    if isinstance(bound, Struct) and hasattr(bound, port):
        ends = _Rigged(getattr(bound, port), at, end)
        return cast("P", replace(cast("Any", bound), **{port: ends}))
    return bound


class _Rigged:
    def __init__(self, port: object, at: CrashAt, end: Callable[[], None]) -> None:
        self._port = port
        self._edge = at.edge
        self._left = at.nth
        self._end = end
        self._has_sent = False

    def __getattr__(self, verb: str) -> Any:
        method = getattr(self._port, verb)
        if not callable(method):
            return method

        def call(*given: Any, **named: Any) -> Any:
            return self._call(verb, method, given, named)

        return call

    def _call(
        self, verb: str, method: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        is_edge = verb == self._edge.method
        if is_edge and self._edge.moment is Moment.BEFORE and any(given):
            self._pass()
        answer = method(*given, **named)
        if is_edge and self._edge.moment is Moment.AFTER:
            if any(given) or answer or self._has_sent:
                self._pass()
            self._has_sent = False
        elif any(given):
            self._has_sent = True  # what a flush, which is given nothing, is about
        return answer

    def _pass(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._end()
