"""Crashes the process at a chosen call of a port, so that tests can cover critical moments."""

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from taskmill.settings.crash_points import CrashAt, CrashMoment

P = TypeVar("P")

EXIT_CODE = 137
"""The exit code of a killed process."""


def die() -> None:
    os._exit(EXIT_CODE)


def with_crash_point(
    name: str, port: P, at: CrashAt, *, opener: str, end: Callable[[], None] = die
) -> P:
    """Return *port*; the process crashes when the point *at* is passed for the nth time."""
    if at.edge.port != name or at.edge.where not in {"", opener}:
        return port
    return cast("P", _WithCrashPoint(port, at, end))


class _WithCrashPoint:
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

        def call(*arguments: Any, **keywords: Any) -> Any:
            return self._call(verb, method, arguments, keywords)

        return call

    def _call(
        self,
        verb: str,
        method: Callable[..., Any],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        is_edge = verb == self._edge.method
        if is_edge and self._edge.moment is CrashMoment.BEFORE and any(arguments):
            self._pass()
        answer = method(*arguments, **keywords)
        if is_edge and self._edge.moment is CrashMoment.AFTER:
            if any(arguments) or answer or self._has_sent:
                self._pass()
            self._has_sent = False
        elif any(arguments):
            self._has_sent = True  # the next flush, which has no arguments, sends it
        return answer

    def _pass(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._end()
