"""What the dispatcher works with beside what a worker has."""

import os
from functools import cache

from taskmill.bootstrap import process
from taskmill.ports.admission import Admission, Parking
from taskmill.ports.delays import Delays
from taskmill.settings import Settings


@cache
@process.rigged("admission")
def admission() -> Admission:
    from taskmill.adapters.counted.hot import CountedAdmission
    from taskmill.adapters.redis.admission import RedisAdmission
    from taskmill.adapters.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("redis",))
    return CountedAdmission(
        RedisAdmission(Session(settings.redis), shards=settings.shards, hold=settings.pace.hold),
        process.counters(),
    )


@cache
@process.rigged("delays")
def delays() -> Delays:
    from taskmill.adapters.counted.hot import CountedDelays
    from taskmill.adapters.redis.delays import RedisDelays
    from taskmill.adapters.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("redis",))
    return CountedDelays(
        RedisDelays(Session(settings.redis), shards=settings.shards), process.counters()
    )


@cache
@process.rigged("parking")
def parking() -> Parking:
    from taskmill.adapters.counted.hot import CountedParking
    from taskmill.adapters.redis.parking import RedisParking
    from taskmill.adapters.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("redis",))
    return CountedParking(
        RedisParking(Session(settings.redis), shards=settings.shards), process.counters()
    )
