"""The door in Kafka: takes the requests that stand in `tasks.inbox`."""

from typing import Any

from taskmill.bootstrap import inbox
from taskmill.platform import process
from taskmill.platform.kafka_event import failures, records_of
from taskmill.submission.intake import Intake


@process.counting()
def lambda_handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    process.log("inbox")
    return failures(Intake(inbox.stores()).take(records_of(event)))


process.at_init(inbox.services)
