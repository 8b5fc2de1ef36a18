"""What the gateway works with."""

import os
from datetime import timedelta
from functools import cache
from typing import Any

from msgspec import Struct

from taskmill.adapters.api_keys import ApiKeys
from taskmill.adapters.guard import QUICK, Guard
from taskmill.bootstrap import process
from taskmill.domain.task import TaskId
from taskmill.ports.admission import Admission
from taskmill.ports.bus import Bus
from taskmill.ports.catalogue import Catalogue
from taskmill.ports.control import Control
from taskmill.ports.delays import Delays
from taskmill.ports.enqueued import Requests
from taskmill.ports.ledger import LedgerRows
from taskmill.ports.log import LogEnds
from taskmill.ports.outbox import Outbox
from taskmill.ports.quarantine import Quarantine
from taskmill.ports.rebuilding import WholeRows
from taskmill.ports.records import Records, Waiters
from taskmill.settings import Settings

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
    from taskmill.adapters.counted.bus import CountedBus
    from taskmill.adapters.counted.hot import CountedControl, CountedDelays
    from taskmill.adapters.kafka.bus import KafkaBus
    from taskmill.adapters.kafka.ends import KafkaLogEnds
    from taskmill.adapters.redis.admission import RedisAdmission
    from taskmill.adapters.redis.control import RedisControl
    from taskmill.adapters.redis.delays import RedisDelays
    from taskmill.adapters.redis.records import RedisRecords
    from taskmill.adapters.redis.session import Session
    from taskmill.adapters.redis.waiters import RedisWaiters

    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "postgres", "s3"))
    broker = Guard("Kafka", tolerance=timedelta(), opened=process.count_opening)
    session = Session(
        settings.redis,
        patience=_PATIENCE_WITH_REDIS,
        guard=Guard("Redis", tolerance=QUICK, opened=process.count_opening),
    )
    return GatewayServices(
        admission=RedisAdmission(session, shards=settings.shards, hold=settings.pace.hold),
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
    from taskmill.adapters.postgres.connection import Database

    settings = Settings.from_env(os.environ, needs=("postgres",))
    return Database(
        settings.postgres,
        patience=_PATIENCE_WITH_POSTGRES,
        guard=Guard("PostgreSQL", tolerance=QUICK, opened=process.count_opening),
    )


@cache
def ledger_rows() -> LedgerRows:
    from taskmill.adapters.postgres.rows import PostgresRows

    return PostgresRows(ledger_at_the_door())


@cache
def whole_rows() -> WholeRows:
    from taskmill.adapters.postgres.whole import PostgresWholeRows

    return PostgresWholeRows(ledger_at_the_door())


def load(task_id: TaskId) -> None:
    """Make the record of a task that waits for its time in the ledger alone."""
    from taskmill.usecases.delay import load as load_rows

    load_rows(whole_rows().of([task_id]), services().delays)


@cache
def quarantine() -> Quarantine:
    from taskmill.adapters.postgres.quarantine import PostgresQuarantine

    return PostgresQuarantine(ledger_at_the_door())


@cache
def outbox() -> Outbox:
    from taskmill.adapters.postgres.outbox import PostgresOutbox

    settings = Settings.from_env(os.environ, needs=())
    return PostgresOutbox(ledger_at_the_door(), cap=settings.outbox_cap)


@cache
def requests() -> Requests:
    from taskmill.adapters.postgres.enqueued import PostgresRequests

    return PostgresRequests(ledger_at_the_door())
