"""Every key that the queue owns in Redis; no other module spells one."""

from functools import cache
from typing import TypeGuard

from taskmill.core.task import TaskId, TaskType, shard_of

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
    "state": "hash",
    "tasks": "hash",
    "lines": "zset",
    "open": "zset",
    "flight": "zset",
    "rules": "hash",
    "taking": "zset",
    "woken": "zset",
    "promises": "zset",
    "sizes": "hash",
    "shelf": "hash",
    "rings": "list",
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


class LaneKeys:
    """The keys of one lane, all in one slot."""

    def __init__(self, lane: str) -> None:
        self.tag = f"tm:{{lane.{lane}}}"
        self.marker = f"{self.tag}:alive"
        self.rebuild = f"{self.tag}:rebuild"
        self.apart = f"{self.tag}:apart"
        self.state, self.tasks, *others = (f"{self.tag}:{name}" for name in _OF_A_LANE)
        self.lines, self.sizes = f"{self.tag}:lines", f"{self.tag}:sizes"
        self.every = (self.marker, self.state, self.tasks, *others)
        """As the scripts on lanes expect them: the marker, then those that lines.lua names."""

    def rings(self, task_type: TaskType, partition: int) -> str:
        return f"{self.tag}:rings:{task_type}|{partition}"


_OF_A_LANE = (
    *("state", "tasks", "lines", "open", "flight", "rules"),
    *("taking", "woken", "promises", "sizes", "shelf"),
)


def shard_keys(task_id: TaskId, shards: int) -> ShardKeys:
    return _keys(shard_of(task_id, shards), shards)


_keys = cache(ShardKeys)
"""Cached: a task needs its keys four times, and there are few shards."""

lane_keys = cache(LaneKeys)


def tag_of(key: str) -> str:
    """Return what the keys that a script may touch together begin with."""
    return key[: key.index("}") + 1]


def type_of(key: str) -> str:
    """Return the type that a key has in Redis; a record is a hash."""
    name, _, _ = key[len(tag_of(key)) + 1 :].partition(":")
    return _TYPES.get(name, RECORD)


def is_key(argument: object) -> TypeGuard[str]:
    return isinstance(argument, str) and argument.startswith("tm:{")


def task_in(key: str) -> TaskId | None:
    """Return the task whose record a key is."""
    return TaskId(key.rpartition(":")[2]) if type_of(key) == RECORD else None
