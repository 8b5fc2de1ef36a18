"""The Kafka entry point: takes requests from `tasks.inbox`."""

from typing import Any

from taskmill.platform import process
from taskmill.platform.kafka_event import respond
from taskmill.stores.stores import Stores
from taskmill.submission.intake import Intake


def _stores() -> Stores:
    return process.stores("inbox", needs=("kafka", "redis", "s3"))


@process.invocation("inbox")
def lambda_handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    return respond(event, Intake(_stores()).take)


process.at_init(lambda: _stores().opened("admission", "records", "bus", "catalogue"))
