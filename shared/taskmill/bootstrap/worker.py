"""What a worker works with."""

import os
import random
from datetime import timedelta
from functools import cache
from typing import Any

from msgspec import Struct

from taskmill.core.ports import Bus
from taskmill.execution.context import Shop
from taskmill.execution.pace import USUAL, Pace, lifetimes_of
from taskmill.execution.ports import Crew, Leases
from taskmill.platform import process
from taskmill.platform.shutdown import Departure
from taskmill.settings import Settings


class WorkerServices(Struct, frozen=True, kw_only=True):
    leases: Leases
    bus: Bus
    crew: Crew
    pace: Pace = USUAL


@cache
@process.rigged("worker")
def services() -> WorkerServices:
    from taskmill.platform.executor import ThreadCrew
    from taskmill.stores.counted.bus import CountedBus
    from taskmill.stores.counted.leases import CountedLeases
    from taskmill.stores.kafka.bus import KafkaBus
    from taskmill.stores.redis.execution import RedisLeases
    from taskmill.stores.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("kafka", "redis"))
    return WorkerServices(
        leases=CountedLeases(
            RedisLeases(
                Session(settings.redis),
                shards=settings.shards,
                lifetimes=lifetimes_of(settings.pace),
            ),
            process.counters(),
        ),
        bus=CountedBus(KafkaBus(settings.kafka), process.counters()),
        crew=ThreadCrew(),
        pace=settings.pace,
    )


@cache
def loop_crew() -> Crew:
    from taskmill.platform.loop_executor import LoopCrew

    return LoopCrew()


@cache
def departure() -> Departure:
    return Departure(os.environ.get("AWS_LAMBDA_RUNTIME_API"))


def shop(
    context: Any,
    *,
    concurrency: int,
    longest: timedelta,
    crew: Crew | None = None,
    cuts_off_cancelled: bool = False,
) -> Shop:
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
        cuts_off_cancelled=cuts_off_cancelled,
        is_leaving=lambda: departure().is_wanted,
    )
