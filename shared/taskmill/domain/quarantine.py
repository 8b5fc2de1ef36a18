"""The records of the log that were never a task, as people look at them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taskmill.domain.task import Millis


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a record stood in the log; the member is its index in the parcel."""

    topic: str
    partition: int
    offset: int
    member: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    at_ms: Millis
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedRecord:
    """A record by its outside: what it holds may be secret, and is told of one at a time."""

    place: Place
    at_ms: Millis
    reason: str
    size: int
    header_names: Sequence[str]
    discarded: Discard | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRecord:
    """A record with what it holds."""

    record: QuarantinedRecord
    value: bytes
    headers: Mapping[str, bytes]


PUT_BACK = "taskmill: put back into its topic"
"""Who dealt with a parcel of a newer version, once it could be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptParcel:
    """A parcel as a newer version wrote it."""

    place: Place
    value: bytes


@dataclass(frozen=True, slots=True)
class AfterRecord:
    """Where the page before ended."""

    at_ms: Millis
    place: Place


@dataclass(frozen=True, slots=True)
class QuarantinePage:
    """The latest first."""

    records: Sequence[QuarantinedRecord]
    next: AfterRecord | None
