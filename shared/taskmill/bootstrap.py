"""The composition root: the one place that chooses adapters, on first use.

Adapters are imported where they are bound: at its cold start a function pays only for the clients
that it uses.
"""
# ruff: noqa: PLC0415 - see above

import gc
import logging
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, wraps
from typing import Any, TypeVar

from taskmill.adapters.api_keys import ApiKeys
from taskmill.adapters.crash import rigged
from taskmill.adapters.departure import Departure
from taskmill.adapters.guard import QUICK, Guard
from taskmill.domain.counting import Count
from taskmill.domain.pace import USUAL, Pace
from taskmill.domain.retention import in_ms
from taskmill.domain.task import Millis, TaskId
from taskmill.domain.topics import readers
from taskmill.ports import (
    Admission,
    Archive,
    Bus,
    Catalogue,
    ColdShards,
    Control,
    Counters,
    Crew,
    DueSet,
    Endpoints,
    Errands,
    Leases,
    Ledger,
    LedgerRows,
    LogEnds,
    NewerParcels,
    Outbox,
    Parking,
    Quarantine,
    Records,
    RedriveJobs,
    Waiters,
    WholeRows,
)
from taskmill.settings import Settings
from taskmill.usecases.find_task import Finding, Nowhere
from taskmill.usecases.rebuild import Sources
from taskmill.usecases.reconcile import Books, Reconciler
from taskmill.usecases.shop import Shop
from taskmill.usecases.statistics import Board

P = TypeVar("P")


_VALUES_BETWEEN_COLLECTIONS = 10_000


def clock() -> Millis:
    return Millis(time.time_ns() // 1_000_000 + _ahead_ms())


@cache
def _ahead_ms() -> int:
    """Tell how wrong a test wants this clock to be."""
    return in_ms(Settings.from_env(os.environ, needs=()).clock_ahead)


def entropy() -> bytes:
    return os.urandom(16)


def pause(span: timedelta) -> None:
    time.sleep(span.total_seconds())


@cache
def process_word() -> str:
    """Name this process among all that ever claim a turn."""
    return os.urandom(8).hex()


@cache
def log(service: str) -> logging.Logger:
    """Send the layer's log lines through the structured logger of *service*, and return it."""
    from aws_lambda_powertools import Logger

    structured = Logger(service=service)
    layer = logging.getLogger("taskmill")
    layer.handlers = structured.handlers
    layer.setLevel(structured.log_level)
    layer.propagate = False
    return layer


@cache
def counters() -> Counters:
    from taskmill.adapters.emf import EmfCounters

    return EmfCounters(
        namespace=Settings.from_env(os.environ, needs=()).namespace,
        types={entry.name for entry in catalogue().entries()},
        clock=clock,
    )


def _count_opening(store: str) -> None:
    counters().count(Count.BREAKERS, store=store)


@contextmanager
def counting() -> Iterator[None]:
    """Tell at the end of an invocation what was counted in it: the process may then be frozen."""
    try:
        yield
    finally:
        counters().flush()


def at_init(build: Callable[[], object]) -> None:
    """Build while the platform starts the process: what is wrong is refused then.

    Elsewhere, as in tests and tools, importing a handler reads nothing.
    """
    if "AWS_LAMBDA_RUNTIME_API" in os.environ:
        build()
        # What there is now stays as long as the process: nobody need look through it for garbage,
        # nor look after every few hundred values of a batch.
        gc.freeze()
        gc.set_threshold(_VALUES_BETWEEN_COLLECTIONS)


def _rigged(build: Callable[[], P]) -> Callable[[], P]:
    """Let a test end the process at an edge of what *build* binds; nothing happens unless told."""

    @wraps(build)
    def built() -> P:
        bound = build()
        at = Settings.from_env(os.environ, needs=()).crash_at
        return bound if at is None else rigged(build.__name__, bound, at)

    return built


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayServices:
    admission: Admission
    control: Control
    records: Records
    bus: Bus
    log_ends: LogEnds
    catalogue: Catalogue
    waiters: Waiters


_PATIENCE_WITH_REDIS = timedelta(seconds=1)
_PATIENCE_WITH_KAFKA = timedelta(seconds=2)
_PATIENCE_WITH_POSTGRES = timedelta(seconds=5)
"""What a request may lose to a store that is away, once: its guard then keeps others from it."""


@cache
@_rigged
def gateway() -> GatewayServices:
    from taskmill.adapters.counted.bus import CountedBus
    from taskmill.adapters.counted.hot import CountedControl
    from taskmill.adapters.kafka.bus import KafkaBus
    from taskmill.adapters.kafka.ends import KafkaLogEnds
    from taskmill.adapters.redis.admission import RedisAdmission
    from taskmill.adapters.redis.control import RedisControl
    from taskmill.adapters.redis.records import RedisRecords
    from taskmill.adapters.redis.session import Session
    from taskmill.adapters.redis.waiters import RedisWaiters

    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "postgres"))
    broker = Guard("Kafka", tolerance=timedelta(), opened=_count_opening)
    session = Session(
        settings.redis,
        patience=_PATIENCE_WITH_REDIS,
        guard=Guard("Redis", tolerance=QUICK, opened=_count_opening),
    )
    return GatewayServices(
        admission=RedisAdmission(session, shards=settings.shards, hold=settings.pace.hold),
        control=CountedControl(RedisControl(session, shards=settings.shards), counters()),
        records=RedisRecords(session, shards=settings.shards),
        bus=CountedBus(
            KafkaBus(settings.kafka, patience=_PATIENCE_WITH_KAFKA, guard=broker),
            counters(),
        ),
        log_ends=KafkaLogEnds(settings.kafka, patience=_PATIENCE_WITH_KAFKA, guard=broker),
        catalogue=catalogue(),
        waiters=RedisWaiters(
            session, places=settings.waiting_places, new_word=lambda: entropy().hex()
        ),
    )


@cache
def api_keys() -> ApiKeys | None:
    """Return the keys that open the gateway; None lets everybody in, on a machine of one's own."""
    needs = ("kafka", "redis", "postgres", "api_keys")  # whether it is, the stores' places tell
    read = Settings.from_env(os.environ, needs=needs).read_api_keys
    return None if read is None else ApiKeys(read)


@cache
def _ledger_at_the_door() -> Any:
    """Open PostgreSQL for the gateway; apart, because most requests never need it."""
    from taskmill.adapters.postgres.connection import Database

    settings = Settings.from_env(os.environ, needs=("postgres",))
    return Database(
        settings.postgres,
        patience=_PATIENCE_WITH_POSTGRES,
        guard=Guard("PostgreSQL", tolerance=QUICK, opened=_count_opening),
    )


@cache
def ledger_rows() -> LedgerRows:
    from taskmill.adapters.postgres.rows import PostgresRows

    return PostgresRows(_ledger_at_the_door())


@cache
def whole_rows() -> WholeRows:
    from taskmill.adapters.postgres.whole import PostgresWholeRows

    return PostgresWholeRows(_ledger_at_the_door())


@cache
def quarantine() -> Quarantine:
    from taskmill.adapters.postgres.quarantine import PostgresQuarantine

    return PostgresQuarantine(_ledger_at_the_door())


@cache
def redrive_jobs() -> RedriveJobs:
    from taskmill.adapters.postgres.redrives import PostgresRedriveJobs

    return PostgresRedriveJobs(_ledger_at_the_door())


@cache
def outbox() -> Outbox:
    from taskmill.adapters.postgres.outbox import PostgresOutbox

    settings = Settings.from_env(os.environ, needs=())
    return PostgresOutbox(_ledger_at_the_door(), cap=settings.outbox_cap)


@cache
def endpoints() -> Endpoints:
    """Open what is known of receivers; apart, because only webhooks ask for it."""
    from taskmill.adapters.redis.endpoints import RedisEndpoints
    from taskmill.adapters.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("redis",))
    guard = Guard("Redis", tolerance=QUICK, opened=_count_opening)
    return RedisEndpoints(Session(settings.redis, patience=_PATIENCE_WITH_REDIS, guard=guard))


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookServices:
    endpoints: Endpoints
    read_secrets: Callable[[], str]
    ca_file: str
    reaches_loopback: bool


@cache
def webhooks() -> WebhookServices:
    """Open what calling others needs; whether it runs at home, the stores' places tell."""
    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "webhooks"))
    return WebhookServices(
        endpoints=endpoints(),
        read_secrets=settings.read_webhook_secrets,
        ca_file=settings.webhook_ca_file,
        reaches_loopback=settings.reaches_loopback,
    )


@cache
def statistics() -> Board:
    """Open what statistics need; apart, because hardly a request asks for them."""
    from taskmill.adapters.kafka.readers import KafkaReaders
    from taskmill.adapters.postgres.figures import PostgresFigures

    settings = Settings.from_env(os.environ, needs=("kafka",))
    types = [entry.name for entry in catalogue().entries()]
    return Board(
        PostgresFigures(_ledger_at_the_door()),
        KafkaReaders(settings.kafka),
        readers=readers(types),
        clock=clock,
    )


@cache
def catalogue() -> Catalogue:
    from taskmill.adapters.catalogue import AssembledCatalogue

    settings = Settings.from_env(os.environ, needs=())
    return AssembledCatalogue(reaches_loopback=settings.reaches_loopback)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerServices:
    leases: Leases
    bus: Bus
    crew: Crew
    pace: Pace = USUAL


@cache
@_rigged
def worker() -> WorkerServices:
    from taskmill.adapters.counted.bus import CountedBus
    from taskmill.adapters.counted.leases import CountedLeases
    from taskmill.adapters.crew import ThreadCrew
    from taskmill.adapters.kafka.bus import KafkaBus
    from taskmill.adapters.redis.leases import RedisLeases
    from taskmill.adapters.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("kafka", "redis"))
    return WorkerServices(
        leases=CountedLeases(
            RedisLeases(Session(settings.redis), shards=settings.shards, lease=settings.pace.lease),
            counters(),
        ),
        bus=CountedBus(KafkaBus(settings.kafka), counters()),
        crew=ThreadCrew(),
        pace=settings.pace,
    )


@cache
def loop_crew() -> Crew:
    from taskmill.adapters.loop_crew import LoopCrew

    return LoopCrew()


@cache
def departure() -> Departure:
    return Departure(os.environ.get("AWS_LAMBDA_RUNTIME_API"))


def shop(context: Any, *, concurrency: int, longest: timedelta, crew: Crew | None = None) -> Shop:
    """Return what an invocation runs tasks with, for as long as its *context* gives it."""
    services = worker()
    return Shop(
        leases=services.leases,
        bus=services.bus,
        crew=crew or services.crew,
        clock=clock,
        chance=random.random,
        process=process_word(),
        concurrency=concurrency,
        longest=longest,
        remaining=lambda: timedelta(milliseconds=context.get_remaining_time_in_millis()),
        pace=services.pace,
        is_leaving=lambda: departure().is_wanted,
    )


@cache
@_rigged
def admission() -> Admission:
    from taskmill.adapters.counted.hot import CountedAdmission
    from taskmill.adapters.redis.admission import RedisAdmission
    from taskmill.adapters.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("redis",))
    return CountedAdmission(
        RedisAdmission(Session(settings.redis), shards=settings.shards, hold=settings.pace.hold),
        counters(),
    )


@cache
@_rigged
def parking() -> Parking:
    from taskmill.adapters.counted.hot import CountedParking
    from taskmill.adapters.redis.parking import RedisParking
    from taskmill.adapters.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("redis",))
    return CountedParking(RedisParking(Session(settings.redis), shards=settings.shards), counters())


@cache
@_rigged
def ledger() -> Ledger:
    from taskmill.adapters.counted.ledger import CountedLedger
    from taskmill.adapters.postgres.connection import Database
    from taskmill.adapters.postgres.ledger import PostgresLedger

    settings = Settings.from_env(os.environ, needs=("postgres",))
    return CountedLedger(PostgresLedger(Database(settings.postgres)), counters())


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerServices:
    due: DueSet
    bus: Bus
    pace: Pace = USUAL


@cache
@_rigged
def scheduler() -> SchedulerServices:
    from taskmill.adapters.counted.bus import CountedBus
    from taskmill.adapters.counted.hot import CountedDueSet
    from taskmill.adapters.kafka.bus import KafkaBus
    from taskmill.adapters.redis.admission import RedisDueSet
    from taskmill.adapters.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("kafka", "redis"))
    return SchedulerServices(
        due=CountedDueSet(
            RedisDueSet(Session(settings.redis), shards=settings.shards, hold=settings.pace.hold),
            counters(),
        ),
        bus=CountedBus(KafkaBus(settings.kafka), counters()),
        pace=settings.pace,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildingServices:
    shards: ColdShards
    sources: Sources
    grace: timedelta
    """In which every living process has published what Redis decided before it forgot."""


@cache
@_rigged
def rebuilding() -> RebuildingServices:
    from taskmill.adapters.kafka.ends import KafkaLogEnds
    from taskmill.adapters.postgres.connection import Database
    from taskmill.adapters.postgres.outbox import PostgresOutbox
    from taskmill.adapters.postgres.whole import PostgresWholeRows
    from taskmill.adapters.redis.rebuild import RedisColdShards
    from taskmill.adapters.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "postgres"))
    database = Database(settings.postgres)
    return RebuildingServices(
        shards=RedisColdShards(
            Session(settings.redis), shards=settings.shards, lease=settings.pace.lease
        ),
        sources=Sources(
            ledger=PostgresWholeRows(database),
            log_ends=KafkaLogEnds(settings.kafka),
            outbox=PostgresOutbox(database),
        ),
        grace=settings.pace.lease,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayServices:
    outbox: Outbox
    bus: Bus


@cache
@_rigged
def relaying() -> RelayServices:
    """Open what the relay needs; of its own, because it works beside the tick."""
    from taskmill.adapters.counted.bus import CountedBus
    from taskmill.adapters.counted.ledger import CountedOutbox
    from taskmill.adapters.kafka.bus import KafkaBus
    from taskmill.adapters.postgres.connection import Database
    from taskmill.adapters.postgres.outbox import PostgresOutbox

    settings = Settings.from_env(os.environ, needs=("kafka", "postgres"))
    return RelayServices(
        outbox=CountedOutbox(PostgresOutbox(Database(settings.postgres)), counters()),
        bus=CountedBus(KafkaBus(settings.kafka), counters()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBackServices:
    newer_parcels: NewerParcels
    bus: Bus


@cache
@_rigged
def putting_back() -> PutBackServices:
    """Open what puts parcels back; of its own, because it works beside the relay."""
    from taskmill.adapters.counted.bus import CountedBus
    from taskmill.adapters.kafka.bus import KafkaBus
    from taskmill.adapters.postgres.connection import Database
    from taskmill.adapters.postgres.newer_parcels import PostgresNewerParcels

    settings = Settings.from_env(os.environ, needs=("kafka", "postgres"))
    return PutBackServices(
        newer_parcels=PostgresNewerParcels(Database(settings.postgres)),
        bus=CountedBus(KafkaBus(settings.kafka), counters()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RedrivingServices:
    jobs: RedriveJobs
    control: Control
    admission: Admission
    bus: Bus
    rows: WholeRows
    find: Callable[[TaskId], Finding]
    """Tells what the ledger has of a task; a job waits for no other word."""


@cache
@_rigged
def redriving() -> RedrivingServices:
    """Open what a redrive job needs; of its own, because it works beside the tick."""
    from taskmill.adapters.counted.bus import CountedBus
    from taskmill.adapters.counted.hot import CountedControl
    from taskmill.adapters.kafka.bus import KafkaBus
    from taskmill.adapters.postgres.connection import Database
    from taskmill.adapters.postgres.redrives import PostgresRedriveJobs
    from taskmill.adapters.postgres.rows import PostgresRows
    from taskmill.adapters.postgres.whole import PostgresWholeRows
    from taskmill.adapters.redis.admission import RedisAdmission
    from taskmill.adapters.redis.control import RedisControl
    from taskmill.adapters.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "postgres"))
    session, database = Session(settings.redis), Database(settings.postgres)
    rows = PostgresRows(database)
    return RedrivingServices(
        jobs=PostgresRedriveJobs(Database(settings.postgres)),  # held while the others are asked
        control=CountedControl(RedisControl(session, shards=settings.shards), counters()),
        admission=RedisAdmission(session, shards=settings.shards),
        bus=CountedBus(KafkaBus(settings.kafka), counters()),
        rows=PostgresWholeRows(database),
        find=lambda task_id: rows.find(task_id) or Nowhere(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainingServices:
    archive: Archive
    keeps: timedelta


@cache
def retaining() -> RetainingServices:
    from taskmill.adapters.postgres.archive import PostgresArchive
    from taskmill.adapters.postgres.connection import Database

    settings = Settings.from_env(os.environ, needs=("postgres",))
    return RetainingServices(
        archive=PostgresArchive(Database(settings.postgres)), keeps=settings.keeps
    )


@cache
@_rigged
def reconciling() -> Books:
    return _books(Settings.from_env(os.environ, needs=("kafka", "redis", "postgres")))


@cache
def reconciler() -> Reconciler:
    return Reconciler(books=reconciling(), clock=clock)


def make_reconciler(settings: Settings) -> Reconciler:
    """Open what the ledger and Redis are compared with."""
    return Reconciler(books=_books(settings), clock=clock)


def _books(settings: Settings) -> Books:
    from taskmill.adapters.kafka.bus import KafkaBus
    from taskmill.adapters.kafka.readers import KafkaReaders
    from taskmill.adapters.postgres.connection import Database
    from taskmill.adapters.postgres.standings import PostgresStandings
    from taskmill.adapters.postgres.whole import PostgresWholeRows
    from taskmill.adapters.redis.control import RedisControl
    from taskmill.adapters.redis.repairs import RedisRepairs
    from taskmill.adapters.redis.session import Session

    session, database = Session(settings.redis), Database(settings.postgres)
    return Books(
        standings=PostgresStandings(database),
        control=RedisControl(session, shards=settings.shards),
        rows=PostgresWholeRows(database),
        repairs=RedisRepairs(session, shards=settings.shards),
        readers=KafkaReaders(settings.kafka),
        bus=KafkaBus(settings.kafka),
    )


@cache
def errands() -> Errands:
    from taskmill.adapters.errands import ThreadErrands

    return ThreadErrands()
