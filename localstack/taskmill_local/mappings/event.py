"""The JSON of a Kafka event, exactly as the platform writes it."""

import json
from binascii import b2a_base64
from collections.abc import Iterable, Mapping, Sequence
from operator import methodcaller
from typing import NamedTuple, Protocol

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME

# Header values are lists of signed bytes: Java's view of a byte.
_SIGNED = [b"%d" % (byte - 256 if byte > 127 else byte) for byte in range(256)]  # noqa: PLR2004 - the largest signed byte
_EVENT = b'{%b,"bootstrapServers":%b,"records":{%b}}'
_OWN = b'"eventSource":"SelfManagedKafka"'
_MANAGED = b'"eventSource":"aws:kafka","eventSourceArn":%b'
_PARTITION = b"%b:[%b]"
# The client then returns a list and an error together. A plain call would use the list, and the
# error would surface in the next call; this way of calling checks for it.
_checked_headers = methodcaller("headers")


class Origin(NamedTuple):
    """The source of the records in an event."""

    brokers: str
    cluster: str | None = None
    """ARN of an MSK cluster; None for a self-managed Kafka."""


class Record(NamedTuple):
    """One record, already encoded: its size in an event is known before the event is built."""

    partition: int
    offset: int
    json: bytes


class Fetched(Protocol):
    """A message that is not an error; the client's own type cannot express that."""

    def topic(self) -> str: ...
    def partition(self) -> int: ...
    def offset(self) -> int: ...
    def timestamp(self) -> tuple[int, int]: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def headers(self) -> list[tuple[str, bytes | None]] | None: ...


def encode(message: Fetched) -> Record:
    partition, offset = message.partition(), message.offset()
    kind, timestamp = message.timestamp()
    key, value, headers = message.key(), message.value(), _headers_of(message)
    return Record(
        partition,
        offset,
        b'{"topic":"%b","partition":%d,"offset":%d,"timestamp":%d,"timestampType":"%b"%b%b,"headers":[%b]}'
        % (
            message.topic().encode(),  # topic names need no escaping: letters, digits, dot, _ and -
            partition,
            offset,
            timestamp,
            b"LOG_APPEND_TIME" if kind == TIMESTAMP_LOG_APPEND_TIME else b"CREATE_TIME",
            b"" if key is None else b',"key":"%b"' % b2a_base64(key, newline=False),
            b"" if value is None else b',"value":"%b"' % b2a_base64(value, newline=False),
            _headers(headers),
        ),
    )


def _headers_of(message: Fetched) -> Sequence[tuple[str, bytes | None]]:
    """Return the headers; none if a header's name is not UTF-8, which brokers accept."""
    try:
        return _checked_headers(message) or ()
    except (SystemError, UnicodeDecodeError):
        return ()


def assemble(origin: Origin, records: Mapping[str, Sequence[Record]]) -> bytes:
    """Build the event from the *records* of each ``<topic>-<partition>``."""
    partitions = (
        _PARTITION % (_quoted(name), b",".join([record.json for record in part]))
        for name, part in records.items()
    )
    source = _OWN if origin.cluster is None else _MANAGED % _quoted(origin.cluster)
    return _EVENT % (source, _quoted(origin.brokers), b",".join(partitions))


def bytes_around(origin: Origin) -> int:
    """Return the size of an event without its partitions.

    Sizes include a comma after each record. A partition's last record has none, which pays for the
    comma between partitions; the last partition has none either.
    """
    return len(assemble(origin, {})) - 1


def bytes_for_partition(name: str) -> int:
    """Return the overhead of a partition, without its records."""
    return len(_PARTITION % (_quoted(name), b""))


def bytes_for(record: Record) -> int:
    return len(record.json) + 1


def _headers(headers: Iterable[tuple[str, bytes | None]]) -> bytes:
    return b",".join(
        b"{%b:[%b]}" % (_quoted(name), b",".join([_SIGNED[byte] for byte in value or b""]))
        for name, value in headers
    )


def _quoted(text: str) -> bytes:
    return json.dumps(text).encode()
