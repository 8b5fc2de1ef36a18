"""What the recorder works with."""

import os
from functools import cache

from msgspec import Struct

from taskmill.ledger.ports import Ledger
from taskmill.platform import process
from taskmill.settings import Settings


@cache
@process.rigged("ledger")
def ledger() -> Ledger:
    from taskmill.stores.counted.ledger import CountedLedger
    from taskmill.stores.postgres.connection import Database
    from taskmill.stores.postgres.ledger import PostgresLedger

    settings = Settings.from_env(os.environ, needs=("postgres",))
    return CountedLedger(PostgresLedger(Database(settings.postgres)), process.counters())


class _Stores(Struct):
    ledger: Ledger


def stores() -> _Stores:
    return _Stores(ledger())
