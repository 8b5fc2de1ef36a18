"""Writes the ledger: the only writer of the task tables."""

from typing import Any

from taskmill import bootstrap
from taskmill.adapters.kafka.event import failures, records_of
from taskmill.usecases.record import record


@bootstrap.counting()
def lambda_handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    bootstrap.log("recorder")
    record(records_of(event), bootstrap.ledger())
    return failures(())


bootstrap.at_init(bootstrap.ledger)
