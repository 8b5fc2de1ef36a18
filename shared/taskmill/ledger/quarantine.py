"""Log records that were never a task, in the form shown to people."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from taskmill.core.refusal import Dismissal
from taskmill.core.task import Millis


class Place(Struct, frozen=True, order=True):
    """Position of a record in the log; the member is its index in the batch."""

    topic: str
    partition: int
    offset: int
    member: int


class QuarantinedRecord(Struct, frozen=True, kw_only=True):
    """A record without its content, which may be secret and is shown one at a time."""

    place: Place
    at_ms: Millis
    reason: str
    size: int
    header_names: Sequence[str]
    discarded: Dismissal | None


class OpenedRecord(Struct, frozen=True, kw_only=True):
    """A record with its content."""

    record: QuarantinedRecord
    value: bytes
    headers: Mapping[str, bytes]


PUT_BACK = "taskmill: put back into its topic"
"""Recorded as having dealt with a newer version's batch once it could be read."""


class KeptBatch(Struct, frozen=True, kw_only=True):
    """A batch as written by a newer version."""

    place: Place
    value: bytes


class AfterRecord(Struct, frozen=True):
    """Where the previous page ended."""

    at_ms: Millis
    place: Place


class QuarantinePage(Struct, frozen=True):
    """Latest first."""

    records: Sequence[QuarantinedRecord]
    next: AfterRecord | None
