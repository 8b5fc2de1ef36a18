"""A record as the log gives it."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from taskmill.core.refusal import Refusal
from taskmill.core.task import Millis


class Position(Struct, frozen=True, order=True):
    """A record's place in the log."""

    topic: str
    partition: int
    offset: int


class Source(Struct, frozen=True):
    """The place of the envelope that holds a lease: its record, and its index in the parcel."""

    position: Position
    index: int

    def __str__(self) -> str:
        place = self.position
        return f"{place.topic}|{place.partition}|{place.offset}|{self.index}"


DEAD_LETTER: Mapping[str, bytes] = {"kind": b"dead_letter"}
"""The headers of a death's copy on `tasks.dlq`, where all else was never a task."""


class LogRecord(Struct, frozen=True, kw_only=True):
    position: Position
    at_ms: Millis
    value: bytes | None
    headers: Mapping[str, bytes]


def is_dead_letter(record: LogRecord) -> bool:
    return record.headers.get("kind") == DEAD_LETTER["kind"]


LARGEST_KEPT = 2_000_000
"""What is cut off of a record that is no task: with its headers it must fit into `tasks.dlq`."""

HEADERS_KEPT = 32_000


def exiled(record: LogRecord, reason: str) -> tuple[bytes, Mapping[str, bytes]]:
    """Return value and headers of the copy on `tasks.dlq` of what was never a task."""
    return _exiled(record, {"reason": f"{reason}{_cut(record)}"})


def refused(record: LogRecord, refusal: Refusal) -> tuple[bytes, Mapping[str, bytes]]:
    """Return value and headers of the copy on `tasks.dlq` of a request that no door takes."""
    told = {"reason": refusal.code, "detail": f"{refusal.detail}{_cut(record)}"}
    return _exiled(record, told if refusal.pointer is None else told | {"field": refusal.pointer})


def _cut(record: LogRecord) -> str:
    size = len(record.value or b"")
    return f"; the first {LARGEST_KEPT} of its {size} bytes are kept" if size > LARGEST_KEPT else ""


def _exiled(record: LogRecord, told: Mapping[str, str]) -> tuple[bytes, Mapping[str, bytes]]:
    headers = {name: text.encode() for name, text in told.items()} | {
        "topic": record.position.topic.encode(),
        "partition": str(record.position.partition).encode(),
        "offset": str(record.position.offset).encode(),
    }
    if record.headers:
        headers["headers"] = msgspec.json.encode(kept_headers(record.headers))
    return (record.value or b"")[:LARGEST_KEPT], headers


def reason_of(headers: Mapping[str, bytes]) -> str:
    """Return in one sentence why a record is on `tasks.dlq`."""
    told = {
        name: headers[name].decode("utf-8", "replace")
        for name in ("reason", "field", "detail")
        if name in headers
    }
    where = f" at {told['field']}" if told.get("field") else ""
    return f"{told['reason']}{where}: {told['detail']}" if "detail" in told else told["reason"]


def kept_headers(headers: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the headers that are kept of a record: as many as there is room for."""
    return dict(_fitting(headers))


def _fitting(headers: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    room = HEADERS_KEPT
    for name, octets in headers.items():
        room -= len(msgspec.json.encode({name: octets}))
        if room >= 0:
            yield name, octets


class Reach(Struct, frozen=True):
    """What of a partition is there, and how far a reader has come in it."""

    begin: int
    end: int
    committed: int | None
    """The next record that the reader wants; None when it has not said so yet."""

    @property
    def place(self) -> int:
        """The next record that the reader can be given; what retention took away, nobody is."""
        return min(max(self.begin, self.committed or 0), self.end)

    @property
    def lag(self) -> int:
        """Return how many records wait."""
        return self.end - self.place


class Gap(Struct, frozen=True, kw_only=True):
    """Records that the ledger lacks, though its readers have passed them."""

    topic: str
    partition: int
    first: int
    next: int
    """Where its readers are."""

    is_lost: bool
    """Whether some are gone from the log, so that nobody will ever bring them."""
