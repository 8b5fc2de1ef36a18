"""The composition root: every port of the queue, over one session to each store.

A port is opened, and its adapter imported, on first use: at a cold start a function pays only for
the clients that it uses.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct

from taskmill.core.counting import Count
from taskmill.core.lifetimes import Lifetimes
from taskmill.core.ports import Bus, Clock, Counters, LogEnds, LogReaders, Pause
from taskmill.execution.pace import lifetimes_of
from taskmill.settings import Settings
from taskmill.stores.guard import QUICK, Guard
from taskmill.stores.patience import USUAL, Patience
from taskmill.stores.port import port
from taskmill.stores.watch import Watch

if TYPE_CHECKING:  # importing all ports would slow every cold start
    from taskmill.dispatch.ports import Delays, DueSet, Parking, ShelvedRecords
    from taskmill.egress.ports import Endpoints
    from taskmill.execution.ports import Leases
    from taskmill.insight.ports import LedgerFigures
    from taskmill.lanes.ports import ColdLanes, Lanes, Rings, Rules, Turns
    from taskmill.ledger.ports import (
        Archive,
        Expiries,
        FarTasks,
        Ledger,
        LedgerRows,
        NewerBatches,
        Quarantine,
        Shelf,
        WholeRows,
    )
    from taskmill.orders.ports import Control, RedriveJobs
    from taskmill.recovery.ports import (
        ColdShards,
        LaneStates,
        Placements,
        Repairs,
        Shards,
        TaskVersions,
        UnreadableKeys,
    )
    from taskmill.schedules.ports import Firing, Schedules
    from taskmill.stores.api_keys import ApiKeys
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.redis.session import Session
    from taskmill.submission.ports import (
        Admission,
        Blobs,
        Catalogue,
        Outbox,
        Records,
        Requests,
        Waiters,
    )

P = TypeVar("P")

_STORES: Final = {"kafka": "Kafka", "redis": "Redis", "postgres": "PostgreSQL", "s3": "S3"}
_TOLERANCE: Final = {"kafka": timedelta()}


class Surroundings(Struct, frozen=True, kw_only=True):
    """The services of a process that its stores need: clock, randomness, counters, catalogue."""

    clock: Clock
    pause: Pause
    entropy: Callable[[], bytes]
    counters: Counters
    catalogue: Callable[[], "Catalogue"]


class Stores:
    def __init__(
        self,
        settings: Settings,
        *,
        name: str,
        around: Surroundings,
        patience: Patience = USUAL,
    ) -> None:
        self.settings = settings
        self.pace = settings.pace
        self.keeps = settings.keeps
        self.clock = around.clock
        self.pause = around.pause
        self.counters = around.counters
        self._name = name
        self._around = around
        self._patience = patience
        self._watch = Watch(counters=around.counters, crash_at=settings.crash_at)
        self._guards: dict[str, Guard] = {}

    def opened(self, *names: str) -> "Stores":
        """Open these ports now, during the start of the process, and return *self*."""
        for name in names:
            getattr(self, name)
        return self

    @cached_property
    def catalogue(self) -> "Catalogue":
        return self._around.catalogue()

    @cached_property
    def api_keys(self) -> "ApiKeys | None":
        """Return the API keys of the gateway; None admits every caller, on a local machine."""
        from taskmill.stores.api_keys import ApiKeys

        read = self.settings.read_api_keys
        return None if read is None else ApiKeys(read)

    # Kafka

    @port
    def bus(self) -> Bus:
        from taskmill.stores.kafka.bus import KafkaBus

        return KafkaBus(self.settings.kafka, **self._within("kafka"))

    @port
    def log_ends(self) -> LogEnds:
        from taskmill.stores.kafka.ends import KafkaLogEnds

        return KafkaLogEnds(self.settings.kafka, **self._within("kafka"))

    @port
    def readers(self) -> LogReaders:
        from taskmill.stores.kafka.readers import KafkaReaders

        return KafkaReaders(self.settings.kafka)

    # Redis

    @port
    def admission(self) -> "Admission":
        from taskmill.stores.redis.submission import RedisAdmission

        return RedisAdmission(self._redis, **self._kept)

    @port
    def due(self) -> "DueSet":
        from taskmill.stores.redis.submission import RedisDueSet

        return RedisDueSet(self._redis, **self._kept)

    @port
    def records(self) -> "Records":
        from taskmill.stores.redis.records import RedisRecords

        return RedisRecords(self._redis, shards=self.settings.shards)

    @port
    def waiters(self) -> "Waiters":
        from taskmill.stores.redis.waiters import RedisWaiters

        return RedisWaiters(
            self._redis,
            places=self.settings.waiting_places,
            new_nonce=lambda: self._around.entropy().hex(),
        )

    @port
    def delays(self) -> "Delays":
        from taskmill.stores.redis.dispatch import RedisDelays

        return RedisDelays(self._redis, **self._kept)

    @port
    def shelved_records(self) -> "ShelvedRecords":
        from taskmill.stores.redis.shelved import RedisShelvedRecords

        return RedisShelvedRecords(self._redis, shards=self.settings.shards)

    @port
    def parking(self) -> "Parking":
        from taskmill.stores.redis.dispatch import RedisParking

        return RedisParking(self._redis, shards=self.settings.shards)

    @port
    def lanes(self) -> "Lanes":
        from taskmill.stores.redis.lanes import RedisLanes

        return RedisLanes(
            self._redis,
            self.catalogue,
            lifetimes=lifetimes_of(self.settings.pace),
            most_partitions=self.settings.worker_partitions,
        )

    @port
    def cold_lanes(self) -> "ColdLanes":
        from taskmill.stores.redis.lanes import RedisColdLanes

        lifetimes = lifetimes_of(self.settings.pace)
        return RedisColdLanes(self._redis, self.catalogue, lifetimes=lifetimes)

    @port
    def rings(self) -> "Rings":
        from taskmill.stores.redis.lanes import RedisRings
        from taskmill.stores.redis.session import Session

        return RedisRings(Session(self.settings.redis))

    @port
    def leases(self) -> "Leases":
        from taskmill.stores.redis.execution import RedisLeases

        return RedisLeases(self._redis, **self._kept)

    @port
    def turns(self) -> "Turns":
        from taskmill.stores.redis.turns import RedisTurns

        return RedisTurns(self._redis, **self._kept)

    @port
    def control(self) -> "Control":
        from taskmill.stores.redis.orders import RedisControl

        return RedisControl(self._redis, **self._kept)

    @port
    def shards(self) -> "ColdShards":
        from taskmill.stores.redis.recovery import RedisColdShards

        return RedisColdShards(self._redis, **self._kept)

    @port
    def placements(self) -> "Placements":
        from taskmill.stores.redis.placements import RedisPlacements

        return RedisPlacements(self._redis, shards=self.settings.shards)

    @port
    def repairs(self) -> "Repairs":
        from taskmill.stores.redis.recovery import RedisRepairs

        return RedisRepairs(self._redis, **self._kept)

    @port
    def unreadable(self) -> "UnreadableKeys":
        from taskmill.stores.redis.unreadable import RedisUnreadable

        return RedisUnreadable(self._redis, shards=self.settings.shards)

    @port
    def health(self) -> "Shards":
        from taskmill.stores.redis.health import RedisShards

        return RedisShards(self._redis, shards=self.settings.shards)

    @port
    def lane_states(self) -> "LaneStates":
        from taskmill.stores.redis.health import RedisLaneStates

        return RedisLaneStates(self._redis, self.catalogue)

    @port
    def endpoints(self) -> "Endpoints":
        from taskmill.stores.redis.egress import RedisEndpoints

        return RedisEndpoints(self._redis)

    # PostgreSQL

    @port
    def ledger(self) -> "Ledger":
        from taskmill.stores.postgres.ledger import PostgresLedger

        return PostgresLedger(self._postgres)

    @port
    def ledger_rows(self) -> "LedgerRows":
        from taskmill.stores.postgres.rows import PostgresRows

        return PostgresRows(self._postgres)

    @port
    def whole_rows(self) -> "WholeRows":
        from taskmill.stores.postgres.whole_rows import PostgresWholeRows

        return PostgresWholeRows(self._postgres)

    @port
    def outbox(self) -> "Outbox":
        from taskmill.stores.postgres.outbox import PostgresOutbox

        return PostgresOutbox(self._postgres, cap=self.settings.outbox_cap)

    @port
    def requests(self) -> "Requests":
        from taskmill.stores.postgres.enqueued import PostgresRequests

        return PostgresRequests(self._postgres)

    @port
    def quarantine(self) -> "Quarantine":
        from taskmill.stores.postgres.quarantine import PostgresQuarantine

        return PostgresQuarantine(self._postgres)

    @port
    def newer_batches(self) -> "NewerBatches":
        from taskmill.stores.postgres.quarantine import PostgresNewerBatches

        return PostgresNewerBatches(self._postgres)

    @port
    def archive(self) -> "Archive":
        from taskmill.stores.postgres.retention import PostgresArchive

        return PostgresArchive(self._postgres)

    @port
    def far(self) -> "FarTasks":
        from taskmill.stores.postgres.timing import PostgresFarTasks

        return PostgresFarTasks(self._postgres)

    @port
    def shelf(self) -> "Shelf":
        from taskmill.stores.postgres.shelf import PostgresShelf

        return PostgresShelf(self._postgres)

    @port
    def expiries(self) -> "Expiries":
        from taskmill.stores.postgres.timing import PostgresExpiries

        return PostgresExpiries(self._of_held_rows)

    @port
    def redrive_jobs(self) -> "RedriveJobs":
        from taskmill.stores.postgres.redrive_jobs import PostgresRedriveJobs

        return PostgresRedriveJobs(self._of_held_rows)

    @port
    def task_versions(self) -> "TaskVersions":
        from taskmill.stores.postgres.task_versions import PostgresTaskVersions

        return PostgresTaskVersions(self._postgres)

    @port
    def schedules(self) -> "Schedules":
        from taskmill.stores.postgres.schedules import PostgresSchedules

        return PostgresSchedules(self._postgres)

    @port
    def firing(self) -> "Firing":
        from taskmill.stores.postgres.schedules import PostgresFiring

        return PostgresFiring(self._postgres)

    @port
    def rules(self) -> "Rules":
        from taskmill.stores.postgres.rules import PostgresRules

        return PostgresRules(self._postgres)

    @port
    def figures(self) -> "LedgerFigures":
        from taskmill.stores.postgres.insight import PostgresFigures

        return PostgresFigures(self._postgres)

    # S3

    @port
    def blobs(self) -> "Blobs":
        from taskmill.stores.s3.blobs import S3Blobs

        settings, tries = self.settings, self._patience.s3_tries
        return S3Blobs(settings.s3, tries=tries, keeps=settings.keeps, **self._within("s3"))

    @cached_property
    def _redis(self) -> "Session":
        from taskmill.stores.redis.session import Session

        return Session(self.settings.redis, **self._within("redis"))

    @cached_property
    def _postgres(self) -> "Database":
        from taskmill.stores.postgres.connection import Database

        return Database(self.settings.postgres, **self._within("postgres"))

    @cached_property
    def _of_held_rows(self) -> "Database":
        """Return a connection that may hold row locks while the other one runs queries."""
        from taskmill.stores.postgres.connection import Database

        if not self._patience.holds_rows:
            return self._postgres
        return Database(self.settings.postgres, **self._within("postgres"))

    @cached_property
    def _kept(self) -> dict[str, Any]:
        """Return the arguments that Redis adapters share: the shards and the lifetimes of keys."""
        lifetimes: Lifetimes = lifetimes_of(self.settings.pace)
        return {"shards": self.settings.shards, "lifetimes": lifetimes}

    def _within(self, store: str) -> dict[str, Any]:
        """Return the time an adapter may wait for its store, and its guard."""
        span = getattr(self._patience, store)
        guard = self._guard(store) if store in self._patience.guarded else None
        return {"guard": guard} if span is None else {"guard": guard, "patience": span}

    def _guard(self, store: str) -> Guard:
        """Return the one guard of a store; its ports share what they learn about it."""
        if store not in self._guards:
            tolerance = _TOLERANCE.get(store, QUICK)
            self._guards[store] = Guard(
                _STORES[store], tolerance=tolerance, opened=self._count_opening
            )
        return self._guards[store]

    def _count_opening(self, store: str) -> None:
        self.counters.count(Count.BREAKERS, store=store)

    def watched(self, name: str, adapter: P) -> P:
        return self._watch.over(name, adapter, opener=self._name)
