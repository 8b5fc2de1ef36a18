"""The records in Redis, for readers."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from taskmill.core import codec
from taskmill.core.owed import Cold
from taskmill.core.task import Millis, Status, TaskId
from taskmill.core.view import Absent, Ending, Reading, TaskView, Waiting
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import shard_keys
from taskmill.stores.redis.session import Call, Session


class RedisRecords:
    def __init__(self, session: Session, *, shards: int) -> None:
        self._session = session
        self._shards = shards
        self._read = scripts.load("submission/read_record")

    def read(self, ids: Sequence[TaskId]) -> Sequence[Reading]:
        calls: list[Call] = []
        for task_id in ids:
            keys = shard_keys(task_id, self._shards)
            calls.append(([keys.marker, keys.record(task_id)], []))
        answers = self._session.call(self._read, calls, unreadable=[b"COLD"])
        return [_reading(task_id, answer) for task_id, answer in zip(ids, answers, strict=True)]


def _reading(task_id: TaskId, answer: Any) -> Reading:
    if answer == [b"COLD"]:
        return Cold()
    if not answer:
        return Absent()
    return view_of(task_id, answer)


def view_of(task_id: TaskId, answer: Sequence[Any]) -> TaskView:
    """Decode the eleven fields that readers need."""
    (
        spec,
        status,
        generation,
        attempt,
        losses,
        started,
        ending,
        result,
        waiting,
        cancel_requested,
        first,
    ) = answer
    is_waiting = waiting and status == b"retrying"
    return TaskView(
        id=task_id,
        spec=codec.open_shown(spec),
        status=Status(status.decode()),
        generation=int(generation),
        attempt=int(attempt),
        losses=int(losses or 0),
        started_at_ms=Millis(int(started)) if started else None,
        ending=msgspec.json.decode(ending, type=Ending) if ending else None,
        result=Raw(result) if result else None,
        waiting=msgspec.json.decode(waiting, type=Waiting) if is_waiting else None,
        cancel_requested=cancel_requested == b"1",
        first_started_at_ms=Millis(int(first)) if first else None,
    )
