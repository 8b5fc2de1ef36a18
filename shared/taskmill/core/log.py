"""Records of the log, and the copies of unusable ones on `tasks.dlq`."""

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


DEAD_LETTER: Mapping[str, bytes] = {"kind": b"dead_letter"}
"""Headers that mark a dead task's copy on `tasks.dlq`; all other records there were never tasks."""


class LogRecord(Struct, frozen=True, kw_only=True):
    position: Position
    at_ms: Millis
    value: bytes | None
    headers: Mapping[str, bytes]


def is_dead_letter(record: LogRecord) -> bool:
    return record.headers.get("kind") == DEAD_LETTER["kind"]


LARGEST_KEPT = 2_000_000
"""Size above which a record that is not a task is truncated: with its headers it must fit in
`tasks.dlq`."""

HEADERS_KEPT = 32_000


def exiled(record: LogRecord, reason: str) -> tuple[bytes, Mapping[str, bytes]]:
    """Return value and headers of the `tasks.dlq` copy of a record that was never a task."""
    return _exiled(record, {"reason": f"{reason}{_cut(record)}"})


def refused(record: LogRecord, refusal: Refusal) -> tuple[bytes, Mapping[str, bytes]]:
    """Return value and headers of the `tasks.dlq` copy of a refused request."""
    fields = {"reason": refusal.code, "detail": f"{refusal.detail}{_cut(record)}"}
    return _exiled(
        record, fields if refusal.pointer is None else fields | {"field": refusal.pointer}
    )


def _cut(record: LogRecord) -> str:
    size = len(record.value or b"")
    return f"; the first {LARGEST_KEPT} of its {size} bytes are kept" if size > LARGEST_KEPT else ""


def _exiled(record: LogRecord, fields: Mapping[str, str]) -> tuple[bytes, Mapping[str, bytes]]:
    headers = {name: text.encode() for name, text in fields.items()} | {
        "topic": record.position.topic.encode(),
        "partition": str(record.position.partition).encode(),
        "offset": str(record.position.offset).encode(),
    }
    if record.headers:
        headers["headers"] = msgspec.json.encode(kept_headers(record.headers))
    return (record.value or b"")[:LARGEST_KEPT], headers


def reason_of(headers: Mapping[str, bytes]) -> str:
    """Return, in one sentence, why a record is on `tasks.dlq`."""
    fields = {
        name: headers[name].decode("utf-8", "replace")
        for name in ("reason", "field", "detail")
        if name in headers
    }
    where = f" at {fields['field']}" if fields.get("field") else ""
    return (
        f"{fields['reason']}{where}: {fields['detail']}" if "detail" in fields else fields["reason"]
    )


def kept_headers(headers: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the headers to keep of a record, as many as there is room for."""
    return dict(_fitting(headers))


def _fitting(headers: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    room = HEADERS_KEPT
    for name, octets in headers.items():
        room -= len(msgspec.json.encode({name: octets}))
        if room >= 0:
            yield name, octets


class Reach(Struct, frozen=True):
    """The contents of a partition, and a reader's progress in it."""

    begin: int
    end: int
    committed: int | None
    """The reader's next record; None before its first commit."""

    @property
    def place(self) -> int:
        """The next record that the reader can get: expired ones are skipped."""
        return min(max(self.begin, self.committed or 0), self.end)

    @property
    def lag(self) -> int:
        """Return how many records are waiting."""
        return self.end - self.place


class LogGap(Struct, frozen=True, kw_only=True):
    """Records that the ledger lacks although its readers have moved past them."""

    topic: str
    partition: int
    first: int
    next: int
    """The position of the ledger's readers."""

    is_lost: bool
    """Whether some are gone from the log and cannot be recovered."""
