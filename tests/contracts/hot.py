"""The hot store for contract tests: its ports, and ways to lose its data."""

from dataclasses import dataclass

from msgspec.structs import replace

from taskmill.core.lifetimes import Lifetimes
from taskmill.core.owed import Owed
from taskmill.core.task import Status, shard_of
from taskmill.core.view import Waiting
from taskmill.execution.lease import Claimed, NextTurn, Settlement
from taskmill.stores.memory.dispatch import MemoryDelays, MemoryParking
from taskmill.stores.memory.execution import MemoryLeases
from taskmill.stores.memory.hot import (
    UNLISTED,
    MemoryAdmission,
    MemoryDueSet,
    MemoryHot,
    MemoryRecords,
)
from taskmill.stores.memory.orders import MemoryControl
from taskmill.stores.memory.recovery import MemoryColdShards, MemoryRepairs, MemoryShards
from taskmill.stores.redis.dispatch import RedisDelays, RedisParking
from taskmill.stores.redis.execution import RedisLeases
from taskmill.stores.redis.health import RedisShards
from taskmill.stores.redis.keys import ShardKeys, shard_keys
from taskmill.stores.redis.orders import RedisControl
from taskmill.stores.redis.records import RedisRecords
from taskmill.stores.redis.recovery import RedisColdShards, RedisRepairs
from taskmill.stores.redis.session import Session
from taskmill.stores.redis.shards import open_shards
from taskmill.stores.redis.submission import RedisAdmission, RedisDueSet, spell
from taskmill.stores.redis.unreadable import RedisUnreadable
from tests.builders import a_claim, a_success, deferred, now_ms

SHARDS = 4


def admitted(admission, request):
    """Return *request* with the generation that it gets."""
    (verdict,) = admission.admit([request])
    return replace(request, generation=verdict.generation)


def finished(hot, task, **spans):
    (claimed,) = hot.leases().claim([a_claim(task)])
    hot.leases(**spans).settle([a_success(task, claimed.token)])


def claimed(leases, task, **how):
    """Claim *task* and return the answer, which must be a lease."""
    (answer,) = leases.claim([a_claim(task, **how)])
    assert isinstance(answer, Claimed), answer
    return answer


def next_turn(task, token, *, due_at_ms):
    """Return the settlement of a turn that another one follows."""
    following = replace(task, turn=task.turn + 1, attempt=task.attempt + 1)
    facts = (deferred(task, token=token),)
    return Settlement(
        envelope=task,
        token=token,
        status=Status.RETRYING,
        facts=facts,
        next=NextTurn(
            waiting=Waiting(due_at_ms=due_at_ms, reason="failed"),
            owed=Owed(facts=facts, task=following),
        ),
    )


@dataclass
class InMemory:
    store: MemoryHot

    def __post_init__(self):
        self.store.open()

    def admission(self, **spans):
        return MemoryAdmission(self.store, lifetimes=Lifetimes(**spans))

    def due(self, **spans):
        return MemoryDueSet(self.store, lifetimes=Lifetimes(**spans))

    def leases(self, **spans):
        return MemoryLeases(self.store, lifetimes=Lifetimes(**spans))

    def control(self, **spans):
        return MemoryControl(self.store, lifetimes=Lifetimes(**spans))

    def delays(self, **spans):
        return MemoryDelays(self.store, lifetimes=Lifetimes(**spans))

    def records(self):
        return MemoryRecords(self.store)

    def parking(self, **spans):
        return MemoryParking(self.store, **spans)

    def cold_shards(self, **spans):
        return MemoryColdShards(self.store, lifetimes=Lifetimes(**spans))

    def repairs(self, **spans):
        return MemoryRepairs(self.store, lifetimes=Lifetimes(**spans))

    def shards(self):
        return MemoryShards(self.store)

    def unlist(self, name):
        """Lose only a member of the due set."""
        self.store.due[name] = (UNLISTED, self.store.due[name][1])

    def forget(self):
        self.store.forget()

    def request_cancel(self, task):
        """Mark a running task as cancelled in its record."""
        self.store.records[task.id].cancel_requested = True

    def become_another_server(self):
        self.store.restart()

    def forget_lifetimes(self):
        """Lose only the lifetimes of records."""
        self.store.lifetimes.clear()

    def life_left_ms(self, task):
        """Return how long the record of a task is still kept."""
        ends = self.store.records[task.id].ends_at_ms or self.store.lifetimes[task.id]
        return ends - now_ms()

    def open(self):
        self.store.open()


@dataclass
class InValkey:
    session: Session

    def __post_init__(self):
        self.forget()
        self.open()

    def admission(self, **spans):
        return RedisAdmission(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def due(self, **spans):
        return RedisDueSet(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def leases(self, **spans):
        return RedisLeases(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def control(self, **spans):
        return RedisControl(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def delays(self, **spans):
        return RedisDelays(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def records(self):
        return RedisRecords(self.session, shards=SHARDS)

    def parking(self, **spans):
        return RedisParking(self.session, shards=SHARDS, **spans)

    def cold_shards(self, **spans):
        return RedisColdShards(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def repairs(self, **spans):
        return RedisRepairs(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def unreadable(self):
        return RedisUnreadable(self.session, shards=SHARDS)

    def shards(self):
        return RedisShards(self.session, shards=SHARDS)

    def unlist(self, name):
        """Lose only a member of the due set."""
        self.session.command("ZREM", shard_keys(name.id, SHARDS).due, spell(name))

    def forget(self):
        self.session.command("FLUSHALL")

    def request_cancel(self, task):
        """Mark a running task as cancelled in its record."""
        record = ShardKeys(shard_of(task.id, SHARDS), SHARDS).record(task.id)
        self.session.command("HSET", record, "cancel_requested", "1")

    def become_another_server(self):
        """Make the markers and rebuilds name another server, as after a restart."""
        for shard in range(SHARDS):
            keys = ShardKeys(shard, SHARDS)
            self.session.command("SET", keys.marker, "another server")
            self.session.command("SET", keys.rebuild, "a word|another server", "XX", "KEEPTTL")

    def forget_lifetimes(self):
        """Lose only the lifetimes of records."""
        for shard in range(SHARDS):
            self.session.command("DEL", ShardKeys(shard, SHARDS).lifetimes)

    def life_left_ms(self, task):
        """Return how long the record of a task is still kept."""
        keys = ShardKeys(shard_of(task.id, SHARDS), SHARDS)
        ends = self.session.command("ZSCORE", keys.lifetimes, task.id)
        return int(ends) - now_ms() if ends else self.session.command("PTTL", keys.record(task.id))

    def open(self):
        open_shards(self.session, SHARDS)
