"""What the gateway answers those with who look after the queue; apart, because no task needs it."""

import os
from functools import cache

from taskmill.bootstrap import gateway, process
from taskmill.domain.topics import readers
from taskmill.ports.redriving import RedriveJobs
from taskmill.ports.schedules import Schedules
from taskmill.settings import Settings
from taskmill.usecases.statistics import Board


@cache
def redrive_jobs() -> RedriveJobs:
    from taskmill.adapters.postgres.redrives import PostgresRedriveJobs

    return PostgresRedriveJobs(gateway.ledger_at_the_door())


@cache
def schedules() -> Schedules:
    from taskmill.adapters.counted.schedules import CountedSchedules
    from taskmill.adapters.postgres.schedules import PostgresSchedules

    schedules = PostgresSchedules(gateway.ledger_at_the_door())
    return CountedSchedules(schedules, process.counters())


@cache
def statistics() -> Board:
    """Open what statistics need; apart, because hardly a request asks for them."""
    from taskmill.adapters.kafka.readers import KafkaReaders
    from taskmill.adapters.postgres.figures import PostgresFigures

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
