"""Formats where an error was raised: the frames of a worker's code, without values."""

from traceback import TracebackException
from typing import Final

_MOST_FRAMES: Final = 50
_LONGEST_PART: Final = 1_000
_LONGEST_STACK: Final = 32_768
"""Far more than is kept: the search for secrets needs complete text."""


def stack_of(error: BaseException, *, below: str) -> str | None:
    """Return where *error* was raised, as Python prints it, from the frames below a module on.

    An error that cannot be printed because its own code is broken has no stack.
    """
    frames = error.__traceback__
    while frames and frames.tb_next and frames.tb_frame.f_globals.get("__name__") == below:
        frames = frames.tb_next
    try:
        # A negative limit keeps the frames closest to the error.
        traceback = TracebackException(
            type(error), error, frames, limit=-_MOST_FRAMES, compact=True
        )
        parts = [_clipped(part) for part in traceback.format()]
    except Exception:  # noqa: BLE001 - the error is the worker's own, and may be broken too
        return None
    return _last_of(parts).rstrip()


def _clipped(part: str) -> str:
    return part if len(part) <= _LONGEST_PART else f"{part[:_LONGEST_PART]}…\n"


def _last_of(parts: list[str]) -> str:
    tail: list[str] = []
    size = 0
    for part in reversed(parts):
        size += len(part)
        if size > _LONGEST_STACK:
            break
        tail.append(part)
    return "".join(reversed(tail))
