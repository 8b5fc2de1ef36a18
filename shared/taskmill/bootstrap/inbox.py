"""What the inbox works with."""

import os
from functools import cache

from msgspec import Struct

from taskmill.bootstrap import process
from taskmill.ports.admission import Admission
from taskmill.ports.bus import Bus
from taskmill.ports.catalogue import Catalogue
from taskmill.ports.records import Records
from taskmill.settings import Settings


class InboxServices(Struct, frozen=True, kw_only=True):
    admission: Admission
    records: Records
    bus: Bus
    catalogue: Catalogue


@cache
@process.rigged("inbox")
def services() -> InboxServices:
    from taskmill.adapters.counted.bus import CountedBus
    from taskmill.adapters.kafka.bus import KafkaBus
    from taskmill.adapters.redis.admission import RedisAdmission
    from taskmill.adapters.redis.records import RedisRecords
    from taskmill.adapters.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "s3"))
    session = Session(settings.redis)
    return InboxServices(
        admission=RedisAdmission(session, shards=settings.shards, hold=settings.pace.hold),
        records=RedisRecords(session, shards=settings.shards),
        bus=CountedBus(KafkaBus(settings.kafka), process.counters()),
        catalogue=process.catalogue(),
    )
