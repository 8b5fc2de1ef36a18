"""The event of a Kafka mapping: its records, and the partial batch response."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from taskmill.core.log import LogRecord, Position
from taskmill.core.task import Millis


def respond(
    event: Mapping[str, Any], work: Callable[[list[LogRecord]], Iterable[Position]]
) -> dict[str, Any]:
    """Pass the records of *event* to *work*; only those that it returns are redelivered."""
    return failures(work(records_of(event)))


def records_of(event: Mapping[str, Any]) -> list[LogRecord]:
    """Return the records of a mapping's event, in order within each partition."""
    return [_record(record) for line in event["records"].values() for record in line]


def _record(record: Mapping[str, Any]) -> LogRecord:
    value = record.get("value")  # a tombstone has null or no value at all
    return LogRecord(
        position=Position(record["topic"], record["partition"], record["offset"]),
        at_ms=Millis(record.get("timestamp") or 0),
        value=None if value is None else b64decode(value),
        headers=_headers(record.get("headers") or ()),
    )


def _headers(pairs: Iterable[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return the headers; values of a repeated name are joined, as over HTTP."""
    headers: dict[str, bytes] = {}
    for header in pairs:
        for name, octets in header.items():
            value = bytes(
                octet & 0xFF for octet in octets or ()
            )  # the platform sends their bytes as signed numbers
            headers[name] = headers[name] + b"," + value if name in headers else value
    return headers


def failures(positions: Iterable[Position]) -> dict[str, Any]:
    """Return the response that causes exactly these records to be redelivered."""
    return {
        "batchItemFailures": [
            {"itemIdentifier": {"partition": f"{at.topic}-{at.partition}", "offset": at.offset}}
            for at in sorted(positions)
        ]
    }
