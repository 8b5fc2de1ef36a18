"""The parts of Kafka's protocol used here: requests, responses and batches of records.

All versions are supported by brokers from 2.1 to 4.x. https://kafka.apache.org/protocol
"""

import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Self, TypeAlias

from crc32c import crc32c
from msgspec import Struct


class Api(IntEnum):
    """Requests to a broker, each in the version used here."""

    version: int

    def __new__(cls, key: int, version: int) -> Self:
        member = int.__new__(cls, key)
        member._value_ = key
        member.version = version
        return member

    PRODUCE = 0, 7
    LIST_OFFSETS = 2, 2
    METADATA = 3, 4
    SASL_HANDSHAKE = 17, 1
    INIT_PRODUCER_ID = 22, 1
    SASL_AUTHENTICATE = 36, 1


Header: TypeAlias = tuple[str, bytes]

_CLIENT = b"taskmill"
_REQUEST = struct.Struct(f">ihhih{len(_CLIENT)}s")
_BATCH = struct.Struct(">qiibI")
_BATCH_BODY = struct.Struct(">hiqqqhii")
_NO_EPOCH = -1
_MAGIC = 2
_ALL_REPLICAS = -1
_ALL_BUT_LENGTH_BYTES = 12
_FORBIDDEN = 29
_LAST_SEQUENCE = 2**31 - 1


def request(api: Api, correlation: int, body: bytes) -> bytes:
    size = _REQUEST.size - 4 + len(body)
    head = _REQUEST.pack(size, api, api.version, correlation, len(_CLIENT), _CLIENT)
    return head + body


class ByteReader:
    """Parses a response from the front."""

    def __init__(self, octets: bytes) -> None:
        self._octets = octets
        self._at = 0

    def take(self, layout: str) -> tuple[int, ...]:
        values: tuple[int, ...] = struct.unpack_from(f">{layout}", self._octets, self._at)
        self._at += struct.calcsize(f">{layout}")
        return values

    def number(self, layout: str) -> int:
        return self.take(layout)[0]

    def count(self) -> range:
        return range(self.number("i"))

    def text(self) -> str:
        return self._bytes(self.number("h")).decode()

    def octets(self) -> bytes:
        return self._bytes(self.number("i"))

    def _bytes(self, length: int) -> bytes:
        begin = self._at
        self._at += max(length, 0)  # -1 stands for null
        return self._octets[begin : self._at]


def text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


def octets(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def array(members: Sequence[bytes]) -> bytes:
    return struct.pack(">i", len(members)) + b"".join(members)


class Layout(Struct, frozen=True):
    """The brokers, and the leader of each partition of a topic."""

    brokers: Mapping[int, tuple[str, int]]
    leaders: Mapping[str, Sequence[int]]
    forbidden: Sequence[str] = ()
    """Topics that we may not even describe."""


def metadata_request(topics: Iterable[str]) -> bytes:
    return array([text(topic) for topic in topics]) + b"\0"  # and do not create them


def layout_of(answer: ByteReader) -> Layout:
    """Read brokers and leaders; a missing topic is left out."""
    answer.take("i")
    brokers = {}
    for _ in answer.count():
        node = answer.number("i")
        brokers[node] = (answer.text(), answer.number("i"))
        answer.text()
    answer.text()
    answer.take("i")
    leaders = {}
    forbidden = []
    for _ in answer.count():
        error, topic = answer.number("h"), answer.text()
        answer.take("b")
        partitions = dict(_partition(answer) for _ in answer.count())
        if not error:
            leaders[topic] = [partitions[index] for index in sorted(partitions)]
        elif error == _FORBIDDEN:
            forbidden.append(topic)
    return Layout(brokers, leaders, forbidden)


def _partition(answer: ByteReader) -> tuple[int, int]:
    _, index, leader = answer.take("hii")
    for _ in ("replicas", "those in sync"):
        answer.take(f"{len(answer.count())}i")
    return index, leader


class Author(Struct, frozen=True):
    """A producer's identity, by which the broker stores a repeated batch only once."""

    id: int
    epoch: int


class Batch(Struct, frozen=True, kw_only=True):
    topic: str
    partition: int
    octets: bytes


def batch_of(
    values: Sequence[bytes], headers: Sequence[Header], *, author: Author, sequence: int
) -> bytes:
    """Encode a batch of records; *sequence* is the number of its first one in the partition."""
    end = _headers(headers)
    now = time.time_ns() // 1_000_000
    last = len(values) - 1
    records = [_record(offset, value, end) for offset, value in enumerate(values)]
    body = _BATCH_BODY.pack(
        0, last, now, now, author.id, author.epoch, sequence & _LAST_SEQUENCE, len(values)
    ) + b"".join(records)
    size = _BATCH.size - _ALL_BUT_LENGTH_BYTES + len(body)
    return _BATCH.pack(0, size, _NO_EPOCH, _MAGIC, crc32c(body)) + body


def _record(offset: int, value: bytes, end: bytes) -> bytes:
    body = b"\0\0" + _varint(offset) + _varint(-1) + _varint(len(value)) + value + end
    return _varint(len(body)) + body


def _headers(headers: Sequence[Header]) -> bytes:
    pairs = [(name.encode(), value) for name, value in headers]
    return _varint(len(pairs)) + b"".join(
        _varint(len(name)) + name + _varint(len(value)) + value for name, value in pairs
    )


def _varint(number: int) -> bytes:
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    written = bytearray()
    while rest > 0x7F:  # noqa: PLR2004 - seven bits of a byte
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    written.append(rest)
    return bytes(written)


def produce_request(batches: Iterable[Batch], *, within_ms: int) -> bytes:
    """Return the request for the batches of one broker, at most one for each partition."""
    topics = [
        text(batch.topic) + array([struct.pack(">i", batch.partition) + octets(batch.octets)])
        for batch in batches
    ]
    return struct.pack(">hhi", -1, _ALL_REPLICAS, within_ms) + array(topics)


def errors_of_produce(answer: ByteReader) -> dict[tuple[str, int], int]:
    """Return the error for each topic and partition; 0 means none."""
    errors = {}
    for _ in answer.count():
        topic = answer.text()
        for _ in answer.count():
            partition, error, *_ = answer.take("ihqqq")
            errors[topic, partition] = error
    return errors


def author_request() -> bytes:
    return struct.pack(">hi", -1, 0)


def author_of(answer: ByteReader) -> tuple[int, Author]:
    """Return the error and our producer id."""
    _, error, number, epoch = answer.take("ihqh")
    return error, Author(number, epoch)


def ends_request(topics: Mapping[str, Sequence[int]]) -> bytes:
    latest = -1
    return struct.pack(">ib", -1, 0) + array(
        [
            text(topic) + array([struct.pack(">iq", index, latest) for index in partitions])
            for topic, partitions in topics.items()
        ]
    )


def ends_of(answer: ByteReader) -> dict[tuple[str, int], tuple[int, int]]:
    """Return the error and the end offset of each topic and partition."""
    answer.take("i")
    ends = {}
    for _ in answer.count():
        topic = answer.text()
        for _ in answer.count():
            partition, error, _, end = answer.take("ihqq")
            ends[topic, partition] = (error, end)
    return ends
