"""The hot store for contract tests: its ports, and ways to lose its data."""

from dataclasses import dataclass

from msgspec.structs import replace

from taskmill.core.lifetimes import Lifetimes
from taskmill.core.owed import Owed
from taskmill.core.task import Status, shard_of
from taskmill.core.view import Waiting
from taskmill.execution.lease import Claimed, NextTurn, Settlement
from taskmill.lanes.caps import USUAL_CAPS
from taskmill.ledger.projection import row_of
from taskmill.recovery.divergence import RepairAnswer, RepairOrder
from taskmill.recovery.restoration import hot_view
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.memory.dispatch import MemoryDelays, MemoryParking, MemoryShelvedRecords
from taskmill.stores.memory.execution import MemoryLeases, MemoryTurns
from taskmill.stores.memory.hot import (
    UNLISTED,
    MemoryAdmission,
    MemoryDueSet,
    MemoryHot,
    MemoryRecords,
)
from taskmill.stores.memory.lanes import MemoryColdLanes, MemoryLanes, MemoryRings
from taskmill.stores.memory.lanes.wake_ups import WakeUps
from taskmill.stores.memory.orders import MemoryControl
from taskmill.stores.memory.recovery import (
    MemoryColdShards,
    MemoryLaneStates,
    MemoryPlacements,
    MemoryRepairs,
    MemoryShards,
)
from taskmill.stores.redis.dispatch import RedisDelays, RedisParking
from taskmill.stores.redis.execution import RedisLeases
from taskmill.stores.redis.health import RedisLaneStates, RedisShards
from taskmill.stores.redis.keys import ShardKeys, lane_keys, shard_keys
from taskmill.stores.redis.lanes import RedisColdLanes, RedisLanes, RedisRings
from taskmill.stores.redis.orders import RedisControl
from taskmill.stores.redis.placements import RedisPlacements
from taskmill.stores.redis.records import RedisRecords
from taskmill.stores.redis.recovery import RedisColdShards, RedisRepairs
from taskmill.stores.redis.session import Session
from taskmill.stores.redis.shards import open_lanes, open_shards
from taskmill.stores.redis.shelved import RedisShelvedRecords
from taskmill.stores.redis.submission import RedisAdmission, RedisDueSet, spell
from taskmill.stores.redis.turns import RedisTurns
from taskmill.stores.redis.unreadable import RedisUnreadable
from tests.builders import a_claim, a_success, deferred, now_ms

SHARDS = 4
CATALOGUE = AssembledCatalogue()
TYPES = tuple(entry.name for entry in CATALOGUE.entries())
PARTITIONS = 6


def admitted(admission, request):
    """Return *request* with the generation that it gets."""
    (verdict,) = admission.admit([request])
    return replace(request, generation=verdict.generation)


def mended(hot, task, *, lease):
    """Give the record of *task* a lease of an unknown holder, as the reconciler does."""
    (snapshot,) = hot.control().see([task.id])
    row = row_of(task)
    order = RepairOrder(seen=snapshot.moment, view=hot_view(row, row.spec))
    assert hot.repairs(lease=lease).repair([order]) == [RepairAnswer.DONE]


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
        self.open_lanes()

    def admission(self, **spans):
        return MemoryAdmission(self.store, lifetimes=Lifetimes(**spans))

    def due(self, **spans):
        return MemoryDueSet(self.store, lifetimes=Lifetimes(**spans))

    def leases(self, **spans):
        return MemoryLeases(self.store, lifetimes=Lifetimes(**spans))

    def turns(self, **spans):
        return MemoryTurns(self.store, lifetimes=Lifetimes(**spans))

    def control(self, **spans):
        return MemoryControl(self.store, lifetimes=Lifetimes(**spans))

    def delays(self, **spans):
        return MemoryDelays(self.store, lifetimes=Lifetimes(**spans))

    def shelved_records(self):
        return MemoryShelvedRecords(self.store)

    def records(self):
        return MemoryRecords(self.store)

    def parking(self, **spans):
        return MemoryParking(self.store, **spans)

    def cold_shards(self, **spans):
        return MemoryColdShards(self.store, lifetimes=Lifetimes(**spans))

    def placements(self):
        return MemoryPlacements(self.store)

    def repairs(self, **spans):
        return MemoryRepairs(self.store, lifetimes=Lifetimes(**spans))

    def shards(self):
        return MemoryShards(self.store)

    def lane_states(self):
        return MemoryLaneStates(self.store, CATALOGUE)

    def unlist(self, name):
        """Lose only a member of the due set."""
        self.store.due[name] = (UNLISTED, self.store.due[name][1])

    def forget(self):
        self.store.forget()

    def request_cancel(self, task):
        """Mark a running task as cancelled in its record."""
        self.store.records[task.id].cancel_requested = True

    def lose_source(self, task):
        """Let the holder of a lease be unknown, as after a rebuild."""
        self.store.records[task.id].holding.source = None

    def shorten_life(self, task, *, to_ms):
        """Let the record of a task end soon."""
        if task.id in self.store.lifetimes:
            self.store.lifetimes[task.id] = now_ms() + to_ms
        else:
            self.store.records[task.id].ends_at_ms = now_ms() + to_ms

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

    # Lanes

    def lanes(self, catalogue=CATALOGUE, caps=USUAL_CAPS, **spans):
        return MemoryLanes(self.store, catalogue, lifetimes=Lifetimes(**spans), caps=caps)

    def cold_lanes(self, caps=USUAL_CAPS, **spans):
        return MemoryColdLanes(self.store, CATALOGUE, lifetimes=Lifetimes(**spans), caps=caps)

    def rings(self):
        return MemoryRings(self.store, pause=lambda span: None)

    def open_lanes(self):
        self.store.lanes.open()

    def forget_lanes(self):
        self.store.forget_lanes()

    def forget_shards(self):
        self.store.forget_shards()

    def forget_who_takes(self, lane):
        """Let so much time pass that nobody counts as taking, starting or waiting for a ring."""
        self.store.lanes[lane].wake_ups = WakeUps()

    def heard_rings(self, lane):
        """Use up all rings, and return for which partitions they were."""
        wake_ups = self.store.lanes[lane].wake_ups
        return [one for one in range(PARTITIONS) if wake_ups.is_rung((lane, one))]

    def lane_content(self, lane):
        """Return the tasks of a lane, with their order, line and whether they are in flight."""
        held = self.store.lanes[lane]
        return {
            (str(one.member), one.order, str(one.line), one.raw, one.member in held.flight)
            for one in held.tasks.values()
        }


@dataclass
class InValkey:
    session: Session

    def __post_init__(self):
        self.forget()
        self.open()
        self.open_lanes()

    def admission(self, **spans):
        return RedisAdmission(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def due(self, **spans):
        return RedisDueSet(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def leases(self, **spans):
        return RedisLeases(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def turns(self, **spans):
        return RedisTurns(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def control(self, **spans):
        return RedisControl(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def delays(self, **spans):
        return RedisDelays(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def shelved_records(self):
        return RedisShelvedRecords(self.session, shards=SHARDS)

    def records(self):
        return RedisRecords(self.session, shards=SHARDS)

    def parking(self, **spans):
        return RedisParking(self.session, shards=SHARDS, **spans)

    def cold_shards(self, **spans):
        return RedisColdShards(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def placements(self):
        return RedisPlacements(self.session, shards=SHARDS)

    def repairs(self, **spans):
        return RedisRepairs(self.session, shards=SHARDS, lifetimes=Lifetimes(**spans))

    def unreadable(self):
        return RedisUnreadable(self.session, shards=SHARDS)

    def shards(self):
        return RedisShards(self.session, shards=SHARDS)

    def lane_states(self):
        return RedisLaneStates(self.session, CATALOGUE)

    def unlist(self, name):
        """Lose only a member of the due set."""
        self.session.command("ZREM", shard_keys(name.id, SHARDS).due, spell(name))

    def forget(self):
        self.session.command("FLUSHALL")

    def request_cancel(self, task):
        """Mark a running task as cancelled in its record."""
        record = ShardKeys(shard_of(task.id, SHARDS), SHARDS).record(task.id)
        self.session.command("HSET", record, "cancel_requested", "1")

    def lose_source(self, task):
        """Let the holder of a lease be unknown, as after a rebuild."""
        record = shard_keys(task.id, SHARDS).record(task.id)
        self.session.command("HSET", record, "source", "")

    def shorten_life(self, task, *, to_ms):
        """Let the record of a task end soon."""
        keys = shard_keys(task.id, SHARDS)
        if self.session.command("ZSCORE", keys.lifetimes, task.id):
            self.session.command("ZADD", keys.lifetimes, now_ms() + to_ms, task.id)
        else:
            self.session.command("PEXPIRE", keys.record(task.id), to_ms)

    def become_another_server(self):
        """Make the markers and rebuilds name another server, as after a restart."""
        for shard in range(SHARDS):
            keys = ShardKeys(shard, SHARDS)
            self.session.command("SET", keys.marker, "another server")
            self.session.command("SET", keys.rebuild, "a word|another server", "XX", "KEEPTTL")
        for keys in map(lane_keys, TYPES):
            self.session.command("SET", keys.marker, "another server", "XX")
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

    # Lanes

    def lanes(self, catalogue=CATALOGUE, caps=USUAL_CAPS, **spans):
        return RedisLanes(self.session, catalogue, lifetimes=Lifetimes(**spans), caps=caps)

    def cold_lanes(self, caps=USUAL_CAPS, **spans):
        return RedisColdLanes(self.session, CATALOGUE, lifetimes=Lifetimes(**spans), caps=caps)

    def rings(self):
        return RedisRings(self.session)

    def open_lanes(self):
        open_lanes(self.session, TYPES)

    def forget_lanes(self):
        for keys in map(lane_keys, TYPES):
            self.session.command("DEL", keys.rebuild, *keys.every)
        for lane in TYPES:
            self.heard_rings(lane)

    def forget_shards(self):
        for shard in range(SHARDS):
            keys = ShardKeys(shard, SHARDS)
            others = (keys.due, keys.owed, keys.lifetimes)
            self.session.command("DEL", keys.marker, keys.rebuild, *others)

    def forget_who_takes(self, lane):
        """Let so much time pass that nobody counts as taking, starting or waiting for a ring."""
        self.session.command("DEL", *lane_keys(lane).every[7:10])
        self.heard_rings(lane)

    def heard_rings(self, lane):
        """Use up all rings, and return for which partitions they were."""
        keys = lane_keys(lane)
        rings = ((one, keys.rings(lane, one)) for one in range(PARTITIONS))
        return [one for one, key in rings if self.session.command("LPOP", key)]

    def lane_content(self, lane):
        """Return the tasks of a lane, with their order, line and whether they are in flight."""
        _, _, tasks, lines, _, flight, *_ = lane_keys(lane).every
        pairs = iter(self.session.command("HGETALL", tasks))
        flying = set(self.session.command("ZRANGE", flight, 0, -1))
        waiting = set(self.session.command("ZRANGE", lines, 0, -1))
        content = set()
        for member, task in zip(pairs, pairs, strict=True):
            place, _, raw = task.partition(b"\n")
            order, line = place[:16], place[16:]
            is_flying = member in flying
            assert (b"\t".join((line, order, member)) in waiting) is not is_flying, member
            content.add((member.decode(), int(order), line.decode(), raw, is_flying))
        assert len(content) == len(waiting) + len(flying), "a member without a task"
        return content
