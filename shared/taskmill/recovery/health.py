"""Health of the hot state: its shards, and the lanes."""

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from taskmill.core.task import TaskType
from taskmill.core.time import in_ms

REBUILD_TAKES = timedelta(seconds=30)
"""A rebuild that takes longer is reported."""

DUE_IS_TAKEN_WITHIN = timedelta(seconds=30)
"""A scheduler polls ten times a second: if entries are due for so long, none is running."""


_NAMED = 5


class ShardState(StrEnum):
    LIVE = "live"
    REBUILDING = "rebuilding"
    """It lost data, or may have, and is being rebuilt."""

    COLD = "cold"
    """It lost data, or may have, and nobody rebuilds it."""


class ShardHealth(Struct, frozen=True, kw_only=True):
    state: ShardState
    overdue_ms: int = 0
    """How long the first due entry has waited to be taken."""

    unlisted: int = 0
    """How many entries are owed but missing from the due set: nobody would publish them."""


class LaneHealth(Struct, frozen=True, kw_only=True):
    """Whether tasks of a type can be taken."""

    type: TaskType
    state: ShardState


def nobody_rebuilds(shards: Sequence[ShardHealth]) -> str | None:
    """Return a sentence when shards are cold for too long."""
    cold = sum(one.state is ShardState.COLD for one in shards)
    if not cold:
        return None
    return (
        f"{cold} of {len(shards)} shards of Redis are cold and not being rebuilt, so their tasks"
        " do not run: start a scheduler"
    )


def rebuild_drags(shards: Sequence[ShardHealth]) -> str | None:
    """Return a sentence about shards whose rebuild takes long."""
    cold = sum(one.state is not ShardState.LIVE for one in shards)
    if not cold:
        return None
    return (
        f"{cold} of {len(shards)} shards of Redis are being rebuilt, and their tasks do not run"
        " meanwhile: a rebuild waits until the recorder has read the log"
    )


def nobody_takes(shards: Sequence[ShardHealth]) -> str | None:
    """Return a sentence when due entries stay in the due set."""
    overdue = max((one.overdue_ms for one in shards), default=0)
    if overdue <= in_ms(DUE_IS_TAKEN_WITHIN):
        return None
    return f"due tasks have waited for {overdue // 1000} s: start a scheduler"


def cold_lanes(lanes: Sequence[LaneHealth]) -> str | None:
    """Return a sentence about lanes that are cold for too long."""
    cold = [one for one in lanes if one.state is not ShardState.LIVE]
    if not cold:
        return None
    names = ", ".join(one.type for one in cold[:_NAMED]) + (", …" if len(cold) > _NAMED else "")
    if all(one.state is ShardState.REBUILDING for one in cold):
        return (
            f"{len(cold)} of {len(lanes)} lanes are being rebuilt ({names}), and their tasks do not"
            " start meanwhile: a rebuild waits until the recorder has read the log"
        )
    return (
        f"{len(cold)} of {len(lanes)} lanes are cold ({names}), so their tasks do not start: start"
        " a scheduler that knows these types"
    )
