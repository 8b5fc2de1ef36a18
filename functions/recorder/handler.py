"""Writes the ledger: the only writer of the task tables."""

from typing import Any

from taskmill.ledger.record import Recorder
from taskmill.platform import process
from taskmill.platform.kafka_event import respond
from taskmill.stores.stores import Stores


def _stores() -> Stores:
    return process.stores("recorder", needs=("postgres",))


@process.invocation("recorder")
def lambda_handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    return respond(event, Recorder(_stores()).record)


process.at_init(lambda: _stores().opened("ledger"))
