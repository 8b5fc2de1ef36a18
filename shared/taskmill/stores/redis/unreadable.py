"""Keys in Redis whose type is not the one that the queue gave them."""

from collections.abc import Iterator, Sequence

from taskmill.core import codec
from taskmill.core.owed import Owed, OwedKey
from taskmill.core.task import Millis, TaskId
from taskmill.recovery.ports import UnreadableKey
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import (
    DISABLED_ENDPOINTS,
    WAITING_PLACES,
    ShardKeys,
    shard_keys,
    tag_of,
    task_in,
)
from taskmill.stores.redis.session import Call, Session
from taskmill.stores.redis.submission import read

_MOST_OF_A_SHARD = 500
_OWED_AT_A_TIME = 500


class RedisUnreadable:
    def __init__(self, session: Session, *, shards: int) -> None:
        self._session = session
        self._shards = shards
        self._list = scripts.load("recovery/list_unreadable")
        self._drop = scripts.load("recovery/drop_unreadable")
        noted = [ShardKeys(shard, shards).apart for shard in range(shards)]
        noted += [_noted(key) for key in (WAITING_PLACES, DISABLED_ENDPOINTS)]
        self._calls: list[Call] = [([key], [_MOST_OF_A_SHARD]) for key in noted]

    def found(self) -> Sequence[UnreadableKey]:
        answers = self._session.call(self._list, self._calls)
        return [
            UnreadableKey(name=(key := name.decode()), id=task_in(key), age_ms=Millis(int(age)))
            for answer in answers
            for name, age in zip(answer[::2], answer[1::2], strict=True)
        ]

    def owed(self, ids: Sequence[TaskId]) -> Sequence[tuple[OwedKey, Owed]]:
        return [entry for task_id in ids for entry in self._owed(task_id)]

    def _owed(self, task_id: TaskId) -> Iterator[tuple[OwedKey, Owed]]:
        key, cursor = shard_keys(task_id, self._shards).owed, b"0"
        while True:
            cursor, members = self._session.command(
                "HSCAN", key, cursor, "MATCH", f"{task_id}|*", "COUNT", _OWED_AT_A_TIME
            )
            for member, value in zip(members[::2], members[1::2], strict=True):
                yield read(member, value), codec.open_owed(value)
            if cursor == b"0":
                return

    def drop(self, ids: Sequence[TaskId]) -> None:
        calls: list[Call] = []
        for task_id in ids:
            keys = shard_keys(task_id, self._shards)
            calls.append(([keys.marker, keys.record(task_id)], []))
        self._session.call(self._drop, calls)

    def leave(self, entries: Sequence[UnreadableKey]) -> int:
        return sum(self._session.command("ZREM", _noted(one.name), one.name) for one in entries)


def _noted(key: str) -> str:
    return f"{tag_of(key)}:apart"
