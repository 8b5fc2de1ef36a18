"""The door in Kafka: takes the requests that stand in `tasks.inbox`."""

from typing import Any

from taskmill.platform import process
from taskmill.platform.kafka_event import failures, records_of
from taskmill.stores.stores import Stores
from taskmill.submission.intake import Intake


def _stores() -> Stores:
    return process.stores("inbox", needs=("kafka", "redis", "s3"))


@process.invocation("inbox")
def lambda_handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    return failures(Intake(_stores()).take(records_of(event)))


process.at_init(lambda: _stores().opened("admission", "records", "bus", "catalogue"))
