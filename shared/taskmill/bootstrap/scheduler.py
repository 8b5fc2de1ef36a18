"""What each tick of the scheduler works with."""

import os
from functools import cache

from msgspec import Struct

from taskmill.bootstrap import process
from taskmill.domain.pace import USUAL, Pace
from taskmill.ports.bus import Bus
from taskmill.ports.crew import Errands
from taskmill.ports.due import DueSet
from taskmill.settings import Settings


class SchedulerServices(Struct, frozen=True, kw_only=True):
    due: DueSet
    bus: Bus
    pace: Pace = USUAL


@cache
@process.rigged("scheduler")
def services() -> SchedulerServices:
    from taskmill.adapters.counted.bus import CountedBus
    from taskmill.adapters.counted.hot import CountedDueSet
    from taskmill.adapters.kafka.bus import KafkaBus
    from taskmill.adapters.redis.admission import RedisDueSet
    from taskmill.adapters.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("kafka", "redis"))
    return SchedulerServices(
        due=CountedDueSet(
            RedisDueSet(Session(settings.redis), shards=settings.shards, hold=settings.pace.hold),
            process.counters(),
        ),
        bus=CountedBus(KafkaBus(settings.kafka), process.counters()),
        pace=settings.pace,
    )


@cache
def errands() -> Errands:
    from taskmill.adapters.errands import ThreadErrands

    return ThreadErrands()
