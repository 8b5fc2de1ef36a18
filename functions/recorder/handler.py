"""Writes the ledger: the only writer of the task tables."""

from typing import Any

from taskmill.bootstrap import recorder
from taskmill.ledger.record import record
from taskmill.platform import process
from taskmill.platform.kafka_event import failures, records_of


@process.counting()
def lambda_handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    process.log("recorder")
    record(records_of(event), recorder.ledger())
    return failures(())


process.at_init(recorder.ledger)
