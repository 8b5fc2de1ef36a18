"""Folds a batch of the log into the ledger."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from taskmill.core import codec
from taskmill.core.errors import LedgerRefused, Undecodable
from taskmill.core.log import LogRecord, Position, is_dead_letter, kept_headers, reason_of
from taskmill.core.task import Millis
from taskmill.core.text import ERROR_TEXT_LIMIT, clip
from taskmill.core.topics import DLQ, EVENTS, INBOX
from taskmill.ledger.ports import Ledger
from taskmill.ledger.projection import Applied, Event, LedgerBatch, LedgerFold, Quarantined, runs_of

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_PARTITIONS = range(2**31)
_OFFSETS = range(2**63)


class _Line(Struct, frozen=True):
    """One decoded message with its position."""

    position: Position
    member: int
    at_ms: Millis
    event: Event


class _Reading(Struct):
    lines: list[_Line] = field(default_factory=list)
    quarantined: list[Quarantined] = field(default_factory=list)

    def read(self, record: LogRecord) -> None:
        if record.position.topic == DLQ:
            if is_dead_letter(record):
                return  # for readers of the topic: the ledger gets the fact from `tasks.events`
            self.quarantined.append(_from_dlq(record))
            return
        try:
            event = _events(record)
        except Undecodable as error:
            self.quarantined.append(_quarantined(record, str(error)))
            return
        self.lines.extend(
            _Line(record.position, member, record.at_ms, one) for member, one in enumerate(event)
        )


class RecorderStores(Protocol):
    """Ports for recording."""

    @property
    def ledger(self) -> Ledger: ...


class Recorder:
    """The recorder's work on a batch of the log."""

    def __init__(self, stores: RecorderStores) -> None:
        self._stores = stores

    def record(self, records: Sequence[LogRecord]) -> tuple[Position, ...]:
        """Write what *records* contain, and their offsets, in one transaction; none is read again.

        If the ledger cannot store something, the batch is halved until the cause is isolated: that
        record goes to quarantine and blocks nothing else.
        """
        ledger = self._stores.ledger
        reading = _Reading()
        for one in records:
            reading.read(one)
        applied = runs_of([(one.position, one.at_ms) for one in records])
        try:
            ledger.record(_batch(reading.lines, reading.quarantined, applied))
        except LedgerRefused:
            _record_in_halves(reading.lines, ledger)
            ledger.record(_batch([], reading.quarantined, applied))
        return ()


def _record_in_halves(lines: Sequence[_Line], ledger: Ledger) -> None:
    try:
        ledger.record(_batch(lines, (), ()))
    except LedgerRefused as refusal:
        if len(lines) == 1:
            ledger.record(_batch([], [_refused(lines[0], refusal)], ()))
            return
        middle = len(lines) // 2
        _record_in_halves(lines[:middle], ledger)
        _record_in_halves(lines[middle:], ledger)


def _batch(
    lines: Sequence[_Line], quarantined: Sequence[Quarantined], applied: Sequence[Applied]
) -> LedgerBatch:
    fold = LedgerFold()
    fold.add([line.event for line in lines])
    return LedgerBatch(
        rows=list(fold.rows.values()),
        history=list(fold.history.values()),
        quarantined=quarantined,
        applied=applied,
        shelved=list(fold.shelved.values()),
    )


def _events(record: LogRecord) -> Sequence[Event]:
    if record.position.topic == EVENTS:
        return codec.open_facts(record.value)
    return codec.open_tasks(record.value)


def _from_dlq(record: LogRecord) -> Quarantined:
    """Name a record by its original position; without headers, by its current one."""
    origin = _origin_of(record.headers)
    if origin is None:
        return _quarantined(record, "the record names no source")
    first = replace(record, position=origin, headers=_first_headers(record.headers))
    return _quarantined(first, reason_of(record.headers))


def _first_headers(headers: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return the headers that a record had at its original position."""
    try:
        return msgspec.json.decode(headers.get("headers", b"{}"), type=dict[str, bytes])
    except msgspec.DecodeError:
        return headers


def _origin_of(headers: Mapping[str, bytes]) -> Position | None:
    """Return the position that *headers* name, if it can exist."""
    try:
        topic, partition, offset = headers["topic"], headers["partition"], headers["offset"]
        origin = Position(topic.decode("ascii"), int(partition), int(offset))
    except (KeyError, ValueError):
        return None
    is_place = _TOPIC.fullmatch(origin.topic) and origin.partition in _PARTITIONS
    return origin if is_place and origin.offset in _OFFSETS and "reason" in headers else None


def _quarantined(record: LogRecord, reason: str) -> Quarantined:
    return Quarantined(
        topic=record.position.topic,
        partition=record.position.partition,
        offset=record.position.offset,
        member=0,
        reason=clip(reason, ERROR_TEXT_LIMIT),
        value=record.value or b"",
        headers=kept_headers(record.headers),
        at_ms=record.at_ms,
        version=_version(record),
    )


def _version(record: LogRecord) -> int | None:
    """Return which newer version may read a batch; None for foreign records in the inbox."""
    is_ours = record.position.topic != INBOX
    return codec.newer_version(record.value or b"") if is_ours else None


def _refused(line: _Line, refusal: LedgerRefused) -> Quarantined:
    return Quarantined(
        topic=line.position.topic,
        partition=line.position.partition,
        offset=line.position.offset,
        member=line.member,
        reason=clip(f"the ledger cannot store it: {refusal}", ERROR_TEXT_LIMIT),
        value=msgspec.json.encode(line.event),
        at_ms=line.at_ms,
    )
