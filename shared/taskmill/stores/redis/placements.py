"""Where tasks of a rebuilt lane belong, by their records in Redis."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from taskmill.core import codec
from taskmill.core.owed import Cold
from taskmill.recovery.placement import InDueSet, InFlight, InLine, Overwritten, Placement
from taskmill.recovery.restoration import HotView
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import shard_keys
from taskmill.stores.redis.session import Call, Session

_UNREADABLE = [b"UNREADABLE"]


class RedisPlacements:
    def __init__(self, session: Session, *, shards: int) -> None:
        self._session = session
        self._shards = shards
        self._place = scripts.load("recovery/place_turn")

    def place(self, tasks: Sequence[HotView]) -> Sequence[Placement]:
        answers = self._session.call(
            self._place, [self._call(view) for view in tasks], unreadable=_UNREADABLE
        )
        return [_placement(view, answer) for view, answer in zip(tasks, answers, strict=True)]

    def _call(self, view: HotView) -> Call:
        task, due_at_ms = view.envelope, view.due_at_ms
        keys = shard_keys(task.id, self._shards)
        return [keys.marker, keys.record(task.id), keys.due, keys.owed], [
            task.id,
            task.generation,
            task.turn,
            "" if due_at_ms is None else due_at_ms,
            "" if due_at_ms is None else codec.encode(view.owed),
        ]


def _placement(view: HotView, answer: Any) -> Placement:
    match answer:
        case [b"LIVES", generation, turn, attempt, left]:
            return InFlight(
                envelope=replace(
                    view.envelope,
                    generation=int(generation),
                    turn=int(turn),
                    attempt=int(attempt),
                ),
                look_after=timedelta(milliseconds=int(left)),
            )
        case [b"OWED"]:
            return InDueSet()
        case [b"WAITS"]:
            return InLine()
        case [b"UNREADABLE"]:
            return Overwritten()
        case _:
            return Cold()
