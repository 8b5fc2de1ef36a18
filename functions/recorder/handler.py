"""Writes the ledger: the only writer of the task tables."""

from typing import Any

from taskmill.adapters.kafka.event import failures, records_of
from taskmill.bootstrap import process, recorder
from taskmill.usecases.record import record


@process.counting()
def lambda_handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    process.log("recorder")
    record(records_of(event), recorder.ledger())
    return failures(())


process.at_init(recorder.ledger)
