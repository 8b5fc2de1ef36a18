"""What each tick of the scheduler works with."""

import os
from functools import cache

from msgspec import Struct

from taskmill.core.ports import Bus, Clock
from taskmill.dispatch.ports import DueSet
from taskmill.execution.pace import USUAL, Pace, lifetimes_of
from taskmill.execution.ports import Errands
from taskmill.platform import process
from taskmill.settings import Settings
from taskmill.submission.ports import Catalogue


class SchedulerServices(Struct, frozen=True, kw_only=True):
    due: DueSet
    bus: Bus
    catalogue: Catalogue
    clock: Clock
    pace: Pace = USUAL


@cache
@process.rigged("scheduler")
def services() -> SchedulerServices:
    from taskmill.stores.counted.bus import CountedBus
    from taskmill.stores.counted.hot import CountedDueSet
    from taskmill.stores.kafka.bus import KafkaBus
    from taskmill.stores.redis.session import Session
    from taskmill.stores.redis.submission import RedisDueSet

    settings = Settings.from_env(os.environ, needs=("kafka", "redis"))
    return SchedulerServices(
        due=CountedDueSet(
            RedisDueSet(
                Session(settings.redis),
                shards=settings.shards,
                lifetimes=lifetimes_of(settings.pace),
            ),
            process.counters(),
        ),
        bus=CountedBus(KafkaBus(settings.kafka), process.counters()),
        catalogue=process.catalogue(),
        clock=process.clock,
        pace=settings.pace,
    )


@cache
def errands() -> Errands:
    from taskmill.platform.background import ThreadErrands

    return ThreadErrands()
