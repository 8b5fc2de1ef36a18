"""What the recorder works with."""

import os
from functools import cache

from taskmill.bootstrap import process
from taskmill.ports.recording import Ledger
from taskmill.settings import Settings


@cache
@process.rigged("ledger")
def ledger() -> Ledger:
    from taskmill.adapters.counted.ledger import CountedLedger
    from taskmill.adapters.postgres.connection import Database
    from taskmill.adapters.postgres.ledger import PostgresLedger

    settings = Settings.from_env(os.environ, needs=("postgres",))
    return CountedLedger(PostgresLedger(Database(settings.postgres)), process.counters())
