"""What the dispatcher works with beside what a worker has."""

import os
from functools import cache, cached_property

from taskmill.core.ports import Bus
from taskmill.dispatch.ports import Delays, Parking
from taskmill.execution.pace import lifetimes_of
from taskmill.platform import process
from taskmill.settings import Settings
from taskmill.submission.ports import Admission, Catalogue


@cache
@process.rigged("admission")
def admission() -> Admission:
    from taskmill.stores.counted.hot import CountedAdmission
    from taskmill.stores.redis.session import Session
    from taskmill.stores.redis.submission import RedisAdmission

    settings = Settings.from_env(os.environ, needs=("redis",))
    return CountedAdmission(
        RedisAdmission(
            Session(settings.redis), shards=settings.shards, lifetimes=lifetimes_of(settings.pace)
        ),
        process.counters(),
    )


@cache
@process.rigged("delays")
def delays() -> Delays:
    from taskmill.stores.counted.hot import CountedDelays
    from taskmill.stores.redis.dispatch import RedisDelays
    from taskmill.stores.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("redis",))
    return CountedDelays(
        RedisDelays(Session(settings.redis), shards=settings.shards), process.counters()
    )


@cache
@process.rigged("parking")
def parking() -> Parking:
    from taskmill.stores.counted.hot import CountedParking
    from taskmill.stores.redis.dispatch import RedisParking
    from taskmill.stores.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("redis",))
    return CountedParking(
        RedisParking(Session(settings.redis), shards=settings.shards), process.counters()
    )


class _Stores:
    """Each port is opened by the first call that needs it."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus

    @cached_property
    def admission(self) -> Admission:
        return admission()

    @cached_property
    def catalogue(self) -> Catalogue:
        return process.catalogue()

    @cached_property
    def delays(self) -> Delays:
        return delays()

    @cached_property
    def parking(self) -> Parking:
        return parking()


def stores(bus: Bus) -> _Stores:
    return _Stores(bus)
