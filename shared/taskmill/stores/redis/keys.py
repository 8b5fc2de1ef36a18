"""Every key that the queue owns in Redis; no other module spells one."""

from functools import cache
from typing import TypeGuard

from taskmill.core.task import TaskId, shard_of

WAITING_PLACES = "tm:{gateway}:waiting"
DISABLED_ENDPOINTS = "tm:{webhooks}:disabled"
EVERY_RECORD = "tm:*:task:*"
"""A pattern that also matches records from another number of shards."""

RECORD = "record"
_TYPES = {
    "alive": "string",
    "rebuild": "string",
    "due": "zset",
    "owed": "hash",
    "lifetimes": "zset",
    "apart": "zset",
    "waiting": "zset",
    "disabled": "zset",
}


class ShardKeys:
    """The keys of one shard, all in one slot, so that a script may use them together."""

    def __init__(self, shard: int, shards: int) -> None:
        self.tag = f"tm:{{{shards}.{shard}}}"
        self.marker = f"{self.tag}:alive"
        self.due = f"{self.tag}:due"
        self.owed = f"{self.tag}:owed"
        self.rebuild = f"{self.tag}:rebuild"
        self.lifetimes = f"{self.tag}:lifetimes"
        self.apart = f"{self.tag}:apart"

    def record(self, task_id: TaskId) -> str:
        return f"{self.tag}:task:{task_id}"


def shard_keys(task_id: TaskId, shards: int) -> ShardKeys:
    return _keys(shard_of(task_id, shards), shards)


_keys = cache(ShardKeys)
"""Cached: a task needs its keys four times, and there are few shards."""


def tag_of(key: str) -> str:
    """Return what the keys that a script may touch together begin with."""
    return key[: key.index("}") + 1]


def type_of(key: str) -> str:
    """Return the type that a key has in Redis; a record is a hash."""
    return _TYPES.get(key[len(tag_of(key)) + 1 :], RECORD)


def is_key(argument: object) -> TypeGuard[str]:
    return isinstance(argument, str) and argument.startswith("tm:{")


def task_in(key: str) -> TaskId | None:
    """Return the task whose record a key is."""
    return TaskId(key.rpartition(":")[2]) if type_of(key) == RECORD else None
