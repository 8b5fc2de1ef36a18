"""What the gateway answers those with who look after the queue; apart, because no task needs it."""

import os
from functools import cache

from taskmill.bootstrap import gateway
from taskmill.core.topics import readers
from taskmill.insight.gather import Board
from taskmill.orders.ports import RedriveJobs
from taskmill.platform import process
from taskmill.schedules.ports import Schedules
from taskmill.settings import Settings


@cache
def redrive_jobs() -> RedriveJobs:
    from taskmill.stores.postgres.redrive_jobs import PostgresRedriveJobs

    return PostgresRedriveJobs(gateway.ledger_at_the_door())


@cache
def schedules() -> Schedules:
    from taskmill.stores.counted.schedules import CountedSchedules
    from taskmill.stores.postgres.schedules import PostgresSchedules

    schedules = PostgresSchedules(gateway.ledger_at_the_door())
    return CountedSchedules(schedules, process.counters())


@cache
def statistics() -> Board:
    """Open what statistics need; apart, because hardly a request asks for them."""
    from taskmill.stores.kafka.readers import KafkaReaders
    from taskmill.stores.postgres.insight import PostgresFigures

    settings = Settings.from_env(os.environ, needs=("kafka",))
    types = [entry.name for entry in process.catalogue().entries()]
    return Board(
        PostgresFigures(gateway.ledger_at_the_door()),
        KafkaReaders(settings.kafka),
        gateway.requests(),
        gateway.outbox(),
        readers=readers(types),
        clock=process.clock,
    )
