"""The records of the log that were never a task, as people look at them."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from taskmill.core.refusal import Dismissal
from taskmill.core.task import Millis


class Place(Struct, frozen=True, order=True):
    """Where a record stood in the log; the member is its index in the parcel."""

    topic: str
    partition: int
    offset: int
    member: int


class QuarantinedRecord(Struct, frozen=True, kw_only=True):
    """A record by its outside: what it holds may be secret, and is told of one at a time."""

    place: Place
    at_ms: Millis
    reason: str
    size: int
    header_names: Sequence[str]
    discarded: Dismissal | None


class OpenedRecord(Struct, frozen=True, kw_only=True):
    """A record with what it holds."""

    record: QuarantinedRecord
    value: bytes
    headers: Mapping[str, bytes]


PUT_BACK = "taskmill: put back into its topic"
"""Who dealt with a parcel of a newer version, once it could be read."""


class KeptParcel(Struct, frozen=True, kw_only=True):
    """A parcel as a newer version wrote it."""

    place: Place
    value: bytes


class AfterRecord(Struct, frozen=True):
    """Where the page before ended."""

    at_ms: Millis
    place: Place


class QuarantinePage(Struct, frozen=True):
    """The latest first."""

    records: Sequence[QuarantinedRecord]
    next: AfterRecord | None
