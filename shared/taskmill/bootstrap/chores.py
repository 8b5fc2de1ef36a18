"""What the chores work with that run beside the tick, each of its own."""

import os
from datetime import timedelta
from functools import cache

from msgspec import Struct

from taskmill.bootstrap import blobs
from taskmill.core.ports import Bus, Clock, Counters, LogEnds, LogReaders
from taskmill.dispatch.ports import Delays
from taskmill.execution.pace import lifetimes_of
from taskmill.ledger.ports import (
    Archive,
    Expiries,
    FarTasks,
    Ledger,
    LedgerRows,
    NewerParcels,
    WholeRows,
)
from taskmill.orders.ports import Control, RedriveJobs
from taskmill.platform import process
from taskmill.recovery.ports import ColdShards, Repairs, Standings
from taskmill.recovery.reconcile import Reconciler
from taskmill.schedules.ports import Firing
from taskmill.settings import Settings
from taskmill.submission.ports import Admission, Blobs, Catalogue, Outbox, Records, Requests

_PATIENCE_WITH_REDIS = timedelta(seconds=1)
_PATIENCE_WITH_KAFKA = timedelta(seconds=2)
"""Together well below what the rows of a request are held for, and what a fire may be late."""


class RebuildingServices(Struct, frozen=True, kw_only=True):
    clock: Clock
    counters: Counters
    log_ends: LogEnds
    outbox: Outbox
    shards: ColdShards
    whole_rows: WholeRows
    grace: timedelta
    """In which every living process has published what Redis decided before it forgot."""


@cache
@process.rigged("rebuilding")
def rebuilding() -> RebuildingServices:
    from taskmill.stores.kafka.ends import KafkaLogEnds
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.outbox import PostgresOutbox
    from taskmill.stores.postgres.whole_rows import PostgresWholeRows
    from taskmill.stores.redis.recovery import RedisColdShards
    from taskmill.stores.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "postgres"))
    database = Database(settings.postgres)
    return RebuildingServices(
        shards=RedisColdShards(
            Session(settings.redis), shards=settings.shards, lifetimes=lifetimes_of(settings.pace)
        ),
        clock=process.clock,
        counters=process.counters(),
        log_ends=KafkaLogEnds(settings.kafka),
        outbox=PostgresOutbox(database),
        whole_rows=PostgresWholeRows(database),
        grace=settings.pace.lease,
    )


class RelayServices(Struct, frozen=True, kw_only=True):
    outbox: Outbox
    bus: Bus


@cache
@process.rigged("relaying")
def relaying() -> RelayServices:
    """Open what the relay needs; of its own, because it works beside the tick."""
    from taskmill.stores.counted.bus import CountedBus
    from taskmill.stores.counted.ledger import CountedOutbox
    from taskmill.stores.kafka.bus import KafkaBus
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.outbox import PostgresOutbox

    settings = Settings.from_env(os.environ, needs=("kafka", "postgres"))
    return RelayServices(
        outbox=CountedOutbox(PostgresOutbox(Database(settings.postgres)), process.counters()),
        bus=CountedBus(KafkaBus(settings.kafka), process.counters()),
    )


class TakingServices(Struct, frozen=True, kw_only=True):
    admission: Admission
    bus: Bus
    catalogue: Catalogue
    log_ends: LogEnds
    records: Records
    requests: Requests

    @property
    def blobs(self) -> Blobs:
        return blobs.at_the_door()


@cache
@process.rigged("taking")
def taking() -> TakingServices:
    """Open what takes requests; it waits less for each store than its rows are held."""
    from taskmill.stores.counted.bus import CountedBus
    from taskmill.stores.counted.enqueued import CountedRequests
    from taskmill.stores.kafka.bus import KafkaBus
    from taskmill.stores.kafka.ends import KafkaLogEnds
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.enqueued import PostgresRequests
    from taskmill.stores.redis.records import RedisRecords
    from taskmill.stores.redis.session import Session
    from taskmill.stores.redis.submission import RedisAdmission

    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "postgres"))
    bus = KafkaBus(settings.kafka, patience=_PATIENCE_WITH_KAFKA)
    session = Session(settings.redis, patience=_PATIENCE_WITH_REDIS)
    return TakingServices(
        requests=CountedRequests(PostgresRequests(Database(settings.postgres)), process.counters()),
        catalogue=process.catalogue(),
        admission=RedisAdmission(
            session, shards=settings.shards, lifetimes=lifetimes_of(settings.pace)
        ),
        records=RedisRecords(session, shards=settings.shards),
        bus=CountedBus(bus, process.counters()),
        log_ends=KafkaLogEnds(settings.kafka, patience=_PATIENCE_WITH_KAFKA),
    )


class TakeUpServices(Struct, frozen=True, kw_only=True):
    requests: Requests
    catalogue: Catalogue


@cache
def taking_up() -> TakeUpServices:
    """Open what lets the parked wait again; of its own, because it works beside the taking."""
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.enqueued import PostgresRequests

    settings = Settings.from_env(os.environ, needs=("postgres",))
    return TakeUpServices(
        requests=PostgresRequests(Database(settings.postgres)), catalogue=process.catalogue()
    )


class PutBackServices(Struct, frozen=True, kw_only=True):
    newer_parcels: NewerParcels
    bus: Bus


@cache
@process.rigged("putting_back")
def putting_back() -> PutBackServices:
    """Open what puts parcels back; of its own, because it works beside the relay."""
    from taskmill.stores.counted.bus import CountedBus
    from taskmill.stores.kafka.bus import KafkaBus
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.quarantine import PostgresNewerParcels

    settings = Settings.from_env(os.environ, needs=("kafka", "postgres"))
    return PutBackServices(
        newer_parcels=PostgresNewerParcels(Database(settings.postgres)),
        bus=CountedBus(KafkaBus(settings.kafka), process.counters()),
    )


class NearingServices(Struct, frozen=True, kw_only=True):
    far: FarTasks
    delays: Delays


@cache
@process.rigged("nearing")
def nearing() -> NearingServices:
    """Open what brings far tasks near; of its own, because it works beside the tick."""
    from taskmill.stores.counted.hot import CountedDelays
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.timing import PostgresFarTasks
    from taskmill.stores.redis.dispatch import RedisDelays
    from taskmill.stores.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("redis", "postgres"))
    delays = RedisDelays(Session(settings.redis), shards=settings.shards)
    return NearingServices(
        far=PostgresFarTasks(Database(settings.postgres)),
        delays=CountedDelays(delays, process.counters()),
    )


class ExpiringServices(Struct, frozen=True, kw_only=True):
    expiries: Expiries
    control: Control
    admission: Admission
    bus: Bus
    delays: Delays
    whole_rows: WholeRows


@cache
@process.rigged("expiring")
def expiring() -> ExpiringServices:
    """Open what ends the expired; of its own, because it works beside the tick."""
    from taskmill.stores.counted.bus import CountedBus
    from taskmill.stores.counted.hot import CountedControl, CountedDelays
    from taskmill.stores.kafka.bus import KafkaBus
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.timing import PostgresExpiries
    from taskmill.stores.postgres.whole_rows import PostgresWholeRows
    from taskmill.stores.redis.dispatch import RedisDelays
    from taskmill.stores.redis.orders import RedisControl
    from taskmill.stores.redis.session import Session
    from taskmill.stores.redis.submission import RedisAdmission

    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "postgres"))
    session, database = Session(settings.redis), Database(settings.postgres)
    shards, counters = settings.shards, process.counters()
    return ExpiringServices(
        expiries=PostgresExpiries(Database(settings.postgres)),
        control=CountedControl(RedisControl(session, shards=shards), counters),
        admission=RedisAdmission(session, shards=shards),
        bus=CountedBus(KafkaBus(settings.kafka), counters),
        delays=CountedDelays(RedisDelays(session, shards=shards), counters),
        whole_rows=PostgresWholeRows(database),
    )


class FiringServices(Struct, frozen=True, kw_only=True):
    schedules: Firing


@cache
@process.rigged("firing")
def firing() -> FiringServices:
    """Open what schedules are fired with; of its own, because it works beside the tick."""
    from taskmill.stores.counted.schedules import CountedFiring
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.schedules import PostgresFiring

    settings = Settings.from_env(os.environ, needs=("postgres",))
    schedules = PostgresFiring(Database(settings.postgres))
    return FiringServices(schedules=CountedFiring(schedules, process.counters()))


class CancellingServices(Struct, frozen=True, kw_only=True):
    control: Control
    admission: Admission
    bus: Bus
    clock: Clock
    delays: Delays
    ledger_rows: LedgerRows
    whole_rows: WholeRows


@cache
def cancelling() -> CancellingServices:
    """Open what cancels the task of a fire before; apart, because few schedules want that."""
    from taskmill.stores.counted.bus import CountedBus
    from taskmill.stores.counted.hot import CountedControl, CountedDelays
    from taskmill.stores.kafka.bus import KafkaBus
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.rows import PostgresRows
    from taskmill.stores.postgres.whole_rows import PostgresWholeRows
    from taskmill.stores.redis.dispatch import RedisDelays
    from taskmill.stores.redis.orders import RedisControl
    from taskmill.stores.redis.session import Session
    from taskmill.stores.redis.submission import RedisAdmission

    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "postgres"))
    session = Session(settings.redis, patience=_PATIENCE_WITH_REDIS)
    database = Database(settings.postgres)
    shards, counters = settings.shards, process.counters()
    bus = KafkaBus(settings.kafka, patience=_PATIENCE_WITH_KAFKA)
    return CancellingServices(
        control=CountedControl(RedisControl(session, shards=shards), counters),
        admission=RedisAdmission(session, shards=shards),
        bus=CountedBus(bus, counters),
        clock=process.clock,
        delays=CountedDelays(RedisDelays(session, shards=shards), counters),
        ledger_rows=PostgresRows(database),
        whole_rows=PostgresWholeRows(database),
    )


class RedrivingServices(Struct, frozen=True, kw_only=True):
    redrive_jobs: RedriveJobs
    control: Control
    admission: Admission
    bus: Bus
    ledger_rows: LedgerRows
    whole_rows: WholeRows


@cache
@process.rigged("redriving")
def redriving() -> RedrivingServices:
    """Open what a redrive job needs; of its own, because it works beside the tick."""
    from taskmill.stores.counted.bus import CountedBus
    from taskmill.stores.counted.hot import CountedControl
    from taskmill.stores.kafka.bus import KafkaBus
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.redrive_jobs import PostgresRedriveJobs
    from taskmill.stores.postgres.rows import PostgresRows
    from taskmill.stores.postgres.whole_rows import PostgresWholeRows
    from taskmill.stores.redis.orders import RedisControl
    from taskmill.stores.redis.session import Session
    from taskmill.stores.redis.submission import RedisAdmission

    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "postgres"))
    session, database = Session(settings.redis), Database(settings.postgres)
    return RedrivingServices(
        redrive_jobs=PostgresRedriveJobs(
            Database(settings.postgres)
        ),  # held while the others are asked
        control=CountedControl(RedisControl(session, shards=settings.shards), process.counters()),
        admission=RedisAdmission(session, shards=settings.shards),
        bus=CountedBus(KafkaBus(settings.kafka), process.counters()),
        ledger_rows=PostgresRows(database),
        whole_rows=PostgresWholeRows(database),
    )


class RetainingServices(Struct, frozen=True, kw_only=True):
    archive: Archive
    counters: Counters
    keeps: timedelta


@cache
def retaining() -> RetainingServices:
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.retention import PostgresArchive

    settings = Settings.from_env(os.environ, needs=("postgres",))
    return RetainingServices(
        archive=PostgresArchive(Database(settings.postgres)),
        counters=process.counters(),
        keeps=settings.keeps,
    )


class ReconcilingServices(Struct, frozen=True, kw_only=True):
    bus: Bus
    clock: Clock
    control: Control
    counters: Counters
    ledger: Ledger
    readers: LogReaders
    repairs: Repairs
    standings: Standings
    whole_rows: WholeRows


@cache
@process.rigged("reconciling")
def reconciling() -> ReconcilingServices:
    return _compared(Settings.from_env(os.environ, needs=("kafka", "redis", "postgres")))


@cache
def reconciler() -> Reconciler:
    return Reconciler(reconciling())


def make_reconciler(settings: Settings) -> Reconciler:
    """Open what the ledger and Redis are compared with."""
    return Reconciler(_compared(settings))


def _compared(settings: Settings) -> ReconcilingServices:
    from taskmill.stores.kafka.bus import KafkaBus
    from taskmill.stores.kafka.readers import KafkaReaders
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.ledger import PostgresLedger
    from taskmill.stores.postgres.standings import PostgresStandings
    from taskmill.stores.postgres.whole_rows import PostgresWholeRows
    from taskmill.stores.redis.orders import RedisControl
    from taskmill.stores.redis.recovery import RedisRepairs
    from taskmill.stores.redis.session import Session

    session, database = Session(settings.redis), Database(settings.postgres)
    return ReconcilingServices(
        clock=process.clock,
        counters=process.counters(),
        ledger=PostgresLedger(database),
        standings=PostgresStandings(database),
        control=RedisControl(session, shards=settings.shards),
        whole_rows=PostgresWholeRows(database),
        repairs=RedisRepairs(session, shards=settings.shards),
        readers=KafkaReaders(settings.kafka),
        bus=KafkaBus(settings.kafka),
    )
