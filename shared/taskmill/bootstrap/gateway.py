"""What the gateway works with."""

import os
from datetime import timedelta
from functools import cache, cached_property
from typing import Any

from msgspec import Struct

from taskmill.bootstrap import blobs
from taskmill.core.ports import Bus, LogEnds
from taskmill.dispatch.ports import Delays
from taskmill.execution.pace import lifetimes_of
from taskmill.ledger.ports import LedgerRows, Quarantine, WholeRows
from taskmill.orders.ports import Control
from taskmill.platform import process
from taskmill.recovery.readiness import Readiness
from taskmill.settings import Settings
from taskmill.stores.api_keys import ApiKeys
from taskmill.stores.guard import QUICK, Guard
from taskmill.submission.ports import (
    Admission,
    Blobs,
    Catalogue,
    Outbox,
    Records,
    Requests,
    Waiters,
)

_PATIENCE_WITH_REDIS = timedelta(seconds=1)
_PATIENCE_WITH_KAFKA = timedelta(seconds=2)
_PATIENCE_WITH_POSTGRES = timedelta(seconds=5)
"""What a request may lose to a store that is away, once: its guard then keeps others from it."""


class GatewayServices(Struct, frozen=True, kw_only=True):
    admission: Admission
    control: Control
    delays: Delays
    records: Records
    bus: Bus
    log_ends: LogEnds
    catalogue: Catalogue
    waiters: Waiters


@cache
@process.rigged("gateway")
def services() -> GatewayServices:
    from taskmill.stores.counted.bus import CountedBus
    from taskmill.stores.counted.hot import CountedControl, CountedDelays
    from taskmill.stores.kafka.bus import KafkaBus
    from taskmill.stores.kafka.ends import KafkaLogEnds
    from taskmill.stores.redis.dispatch import RedisDelays
    from taskmill.stores.redis.orders import RedisControl
    from taskmill.stores.redis.records import RedisRecords
    from taskmill.stores.redis.session import Session
    from taskmill.stores.redis.submission import RedisAdmission
    from taskmill.stores.redis.waiters import RedisWaiters

    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "postgres", "s3"))
    broker = Guard("Kafka", tolerance=timedelta(), opened=process.count_opening)
    session = Session(
        settings.redis,
        patience=_PATIENCE_WITH_REDIS,
        guard=Guard("Redis", tolerance=QUICK, opened=process.count_opening),
    )
    return GatewayServices(
        admission=RedisAdmission(
            session, shards=settings.shards, lifetimes=lifetimes_of(settings.pace)
        ),
        control=CountedControl(RedisControl(session, shards=settings.shards), process.counters()),
        delays=CountedDelays(RedisDelays(session, shards=settings.shards), process.counters()),
        records=RedisRecords(session, shards=settings.shards),
        bus=CountedBus(
            KafkaBus(settings.kafka, patience=_PATIENCE_WITH_KAFKA, guard=broker),
            process.counters(),
        ),
        log_ends=KafkaLogEnds(settings.kafka, patience=_PATIENCE_WITH_KAFKA, guard=broker),
        catalogue=process.catalogue(),
        waiters=RedisWaiters(
            session, places=settings.waiting_places, new_word=lambda: process.entropy().hex()
        ),
    )


@cache
def api_keys() -> ApiKeys | None:
    """Return the keys that open the gateway; None lets everybody in, on a machine of one's own."""
    needs = ("kafka", "redis", "postgres", "api_keys")  # whether it is, the stores' places tell
    read = Settings.from_env(os.environ, needs=needs).read_api_keys
    return None if read is None else ApiKeys(read)


@cache
def ledger_at_the_door() -> Any:
    """Open PostgreSQL for the gateway; apart, because most requests never need it."""
    from taskmill.stores.postgres.connection import Database

    settings = Settings.from_env(os.environ, needs=("postgres",))
    return Database(
        settings.postgres,
        patience=_PATIENCE_WITH_POSTGRES,
        guard=Guard("PostgreSQL", tolerance=QUICK, opened=process.count_opening),
    )


@cache
def ledger_rows() -> LedgerRows:
    from taskmill.stores.postgres.rows import PostgresRows

    return PostgresRows(ledger_at_the_door())


@cache
def whole_rows() -> WholeRows:
    from taskmill.stores.postgres.whole_rows import PostgresWholeRows

    return PostgresWholeRows(ledger_at_the_door())


@cache
def readiness() -> Readiness:
    """Return what says whether tasks can run; it lives as long as the process."""
    from taskmill.stores.redis.health import RedisShards
    from taskmill.stores.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("redis",))
    session = Session(settings.redis, patience=_PATIENCE_WITH_REDIS)
    return Readiness(RedisShards(session, shards=settings.shards), process.clock)


@cache
def quarantine() -> Quarantine:
    from taskmill.stores.postgres.quarantine import PostgresQuarantine

    return PostgresQuarantine(ledger_at_the_door())


@cache
def outbox() -> Outbox:
    from taskmill.stores.postgres.outbox import PostgresOutbox

    settings = Settings.from_env(os.environ, needs=())
    return PostgresOutbox(ledger_at_the_door(), cap=settings.outbox_cap)


@cache
def requests() -> Requests:
    from taskmill.stores.postgres.enqueued import PostgresRequests

    return PostgresRequests(ledger_at_the_door())


class _Stores:
    """Every port of the queue, as a request uses it; PostgreSQL and S3 are opened on first use."""

    def __init__(self, bound: GatewayServices) -> None:
        self.admission = bound.admission
        self.bus = bound.bus
        self.catalogue = bound.catalogue
        self.clock = process.clock
        self.control = bound.control
        self.delays = bound.delays
        self.log_ends = bound.log_ends
        self.pause = process.pause
        self.records = bound.records

    @cached_property
    def blobs(self) -> Blobs:
        return blobs.at_the_door()

    @cached_property
    def ledger_rows(self) -> LedgerRows:
        return ledger_rows()

    @cached_property
    def outbox(self) -> Outbox:
        return outbox()

    @cached_property
    def whole_rows(self) -> WholeRows:
        return whole_rows()


def stores() -> _Stores:
    return _Stores(services())
