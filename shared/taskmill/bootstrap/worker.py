"""What a worker works with."""

import os
import random
from datetime import timedelta
from functools import cache
from typing import Any

from msgspec import Struct

from taskmill.adapters.departure import Departure
from taskmill.bootstrap import process
from taskmill.domain.pace import USUAL, Pace
from taskmill.ports.bus import Bus
from taskmill.ports.crew import Crew
from taskmill.ports.leases import Leases
from taskmill.settings import Settings
from taskmill.usecases.shop import Shop


class WorkerServices(Struct, frozen=True, kw_only=True):
    leases: Leases
    bus: Bus
    crew: Crew
    pace: Pace = USUAL


@cache
@process.rigged("worker")
def services() -> WorkerServices:
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
            process.counters(),
        ),
        bus=CountedBus(KafkaBus(settings.kafka), process.counters()),
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
    bound = services()
    return Shop(
        leases=bound.leases,
        bus=bound.bus,
        crew=crew or bound.crew,
        clock=process.clock,
        chance=random.random,
        process=process.word(),
        concurrency=concurrency,
        longest=longest,
        remaining=lambda: timedelta(milliseconds=context.get_remaining_time_in_millis()),
        pace=bound.pace,
        is_leaving=lambda: departure().is_wanted,
    )
