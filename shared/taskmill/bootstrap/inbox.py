"""What the inbox works with."""

import os
from functools import cache, cached_property

from msgspec import Struct

from taskmill.bootstrap import blobs
from taskmill.core.ports import Bus, Counters
from taskmill.execution.pace import lifetimes_of
from taskmill.platform import process
from taskmill.settings import Settings
from taskmill.submission.ports import Admission, Blobs, Catalogue, Records


class InboxServices(Struct, frozen=True, kw_only=True):
    admission: Admission
    records: Records
    bus: Bus
    catalogue: Catalogue


@cache
@process.rigged("inbox")
def services() -> InboxServices:
    from taskmill.stores.counted.bus import CountedBus
    from taskmill.stores.kafka.bus import KafkaBus
    from taskmill.stores.redis.records import RedisRecords
    from taskmill.stores.redis.session import Session
    from taskmill.stores.redis.submission import RedisAdmission

    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "s3"))
    session = Session(settings.redis)
    return InboxServices(
        admission=RedisAdmission(
            session, shards=settings.shards, lifetimes=lifetimes_of(settings.pace)
        ),
        records=RedisRecords(session, shards=settings.shards),
        bus=CountedBus(KafkaBus(settings.kafka), process.counters()),
        catalogue=process.catalogue(),
    )


class _Stores:
    """Each port is opened by the first call that needs it."""

    def __init__(self, bound: InboxServices) -> None:
        self.admission = bound.admission
        self.bus = bound.bus
        self.catalogue = bound.catalogue
        self.records = bound.records

    @cached_property
    def blobs(self) -> Blobs:
        return blobs.at_the_door()

    @cached_property
    def counters(self) -> Counters:
        return process.counters()


def stores() -> _Stores:
    return _Stores(services())
