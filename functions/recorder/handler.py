"""Writes the ledger: the only writer of the task tables."""

from typing import Any

from taskmill.ledger.record import Recorder
from taskmill.platform import process
from taskmill.platform.kafka_event import failures, records_of
from taskmill.stores.stores import Stores


def _stores() -> Stores:
    return process.stores("recorder", needs=("postgres",))


@process.invocation("recorder")
def lambda_handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    Recorder(_stores()).record(records_of(event))
    return failures(())


process.at_init(lambda: _stores().opened("ledger"))
