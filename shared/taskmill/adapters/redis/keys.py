"""Every key the queue owns in Redis. Nothing else spells a key."""

from dataclasses import dataclass

from taskmill.domain.naming import shard_of
from taskmill.domain.task import TaskId

WAITING_PLACES = "tm:{gateway}:waiting"


@dataclass(frozen=True, slots=True)
class ShardKeys:
    """The keys of one shard: one slot, so that a script may touch them together."""

    shard: int
    shards: int

    @property
    def tag(self) -> str:
        return f"tm:{{{self.shards}.{self.shard}}}"

    @property
    def marker(self) -> str:
        return f"{self.tag}:alive"

    @property
    def due(self) -> str:
        return f"{self.tag}:due"

    @property
    def owed(self) -> str:
        return f"{self.tag}:owed"

    @property
    def lifetimes(self) -> str:
        return f"{self.tag}:lifetimes"

    def record(self, task_id: TaskId) -> str:
        return f"{self.tag}:task:{task_id}"


def shard_keys(task_id: TaskId, shards: int) -> ShardKeys:
    return ShardKeys(shard_of(task_id, shards), shards)
