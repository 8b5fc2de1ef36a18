"""The versioned wire format of envelope batches, for Kafka records and due entries."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import replace

from taskmill.core.errors import NewerVersion, Undecodable
from taskmill.core.facts import Fact
from taskmill.core.log import LARGEST_KEPT
from taskmill.core.owed import Owed
from taskmill.core.task import Envelope, ShownSpec, TaskType

VERSION = 1
WAKE_UP = b'{"v":2}'
"""A record that starts a worker; to a worker of the version before it is of a newer version."""

ENVELOPE_BATCH_MEMBERS = 100
ENVELOPE_BATCH_BYTES = 900_000
"""A record may have 2 MiB; an envelope larger than this travels in a record of its own."""

_NO_TASKS = "the record holds facts, not tasks"


class RawEnvelope(Struct, frozen=True):
    """An envelope with the bytes that carry it, which are passed on unchanged.

    A newer version may have added fields that this code does not know.
    """

    envelope: Envelope
    raw: bytes

    @property
    def type(self) -> TaskType:
        return self.envelope.type


class _Batch(Struct, frozen=True, kw_only=True):
    v: int
    tasks: tuple[Envelope, ...] = ()
    facts: tuple[Fact, ...] = ()


class _RawTasks(Struct, frozen=True):
    tasks: tuple[Raw, ...] = ()


M = TypeVar("M")


class _RawOwed(Struct, frozen=True):
    task: Raw = Raw()


class _Versioned(Struct, frozen=True):
    v: Annotated[int, Meta(ge=1, le=2**31 - 1)]


encode = msgspec.json.Encoder().encode
_decode_batch = msgspec.json.Decoder(_Batch).decode
_decode_raw_tasks = msgspec.json.Decoder(_RawTasks).decode
_decode_version = msgspec.json.Decoder(_Versioned).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_envelope = msgspec.json.Decoder(Envelope).decode
_decode_raw_owed = msgspec.json.Decoder(_RawOwed).decode
_decode_owed = msgspec.json.Decoder(Owed).decode
_decode_facts = msgspec.json.Decoder(tuple[Fact, ...]).decode
_decode_shown = msgspec.json.Decoder(ShownSpec).decode


def batches_of_tasks(envelopes: Sequence[Envelope | RawEnvelope]) -> Iterator[bytes]:
    """Pack envelopes into as few Kafka values as their sizes allow."""
    encoded = [one.raw if isinstance(one, RawEnvelope) else encode(one) for one in envelopes]
    for members in _packed(encoded):
        yield b'{"v":%d,"tasks":[%b]}' % (VERSION, members)


def batches_of_facts(facts: Sequence[Fact]) -> Iterator[bytes]:
    """Pack facts into as few Kafka values as their sizes allow."""
    for members in _packed([encode(fact) for fact in facts]):
        yield b'{"v":%d,"facts":[%b]}' % (VERSION, members)


def _packed(members: Sequence[bytes]) -> Iterator[bytes]:
    batch: list[bytes] = []
    size = 0
    for member in members:
        if batch and (
            len(batch) == ENVELOPE_BATCH_MEMBERS or size + len(member) > ENVELOPE_BATCH_BYTES
        ):
            yield b",".join(batch)
            batch, size = [], 0
        batch.append(member)
        size += len(member)
    if batch:
        yield b",".join(batch)


def open_tasks(value: bytes | None) -> tuple[Envelope, ...]:
    """Return the envelopes of a Kafka value, or raise `Undecodable`."""
    return _open(value, _envelopes)


def open_raw(value: bytes | None) -> tuple[RawEnvelope, ...]:
    """Return the envelopes of a Kafka value with their bytes, or raise `Undecodable`."""
    envelopes = open_tasks(value)  # all at once: faster than one by one
    members = _decode_raw_tasks(value or b"").tasks
    return tuple(map(RawEnvelope, envelopes, map(bytes, members)))


def open_facts(value: bytes | None) -> tuple[Fact, ...]:
    """Return the facts of a Kafka value, or raise `Undecodable`."""
    return _open(value, _facts)


def _envelopes(batch: _Batch) -> tuple[Envelope, ...]:
    if batch.facts:
        raise Undecodable(_NO_TASKS)
    return batch.tasks


def _facts(batch: _Batch) -> tuple[Fact, ...]:
    if batch.tasks:
        raise Undecodable("the record holds tasks, not facts")
    return batch.facts


def _open(value: bytes | None, members: Callable[[_Batch], tuple[M, ...]]) -> tuple[M, ...]:
    if not value:
        raise Undecodable("the record has no value")
    if len(value) > LARGEST_KEPT:
        raise Undecodable(f"the record has {len(value)} bytes, more than any batch")
    try:
        value.decode()  # raw payloads are otherwise not checked before the ledger stores them
        batch = _decode_batch(value)
        if batch.v == VERSION:
            return members(batch)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if newer_version(value) is None:
            raise Undecodable(f"the record is not a batch: {error}") from error
    if (version := newer_version(value)) is not None:
        raise NewerVersion(version)
    raise Undecodable(f"the batch has an invalid version; this code reads {VERSION}")


def newer_version(value: bytes) -> int | None:
    """Return the version of a batch that only a newer version of this code can read."""
    try:
        version = _decode_version(value).v
    except (msgspec.DecodeError, RecursionError):
        return None
    return version if version > VERSION else None


def open_envelope(value: bytes) -> Envelope:
    """Return the single envelope in *value*, or raise `Undecodable`."""
    try:
        return _decode_envelope(value)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Undecodable(f"it is not an envelope: {error}") from error


def as_raw(raw: bytes) -> RawEnvelope:
    """Decode *raw* and return it with its bytes, or raise `Undecodable`."""
    return RawEnvelope(open_envelope(raw), raw)


def amended(raw_envelope: RawEnvelope, **changes: object) -> RawEnvelope:
    """Change some fields of an envelope and preserve the bytes of all others."""
    fields = {name: Raw(encode(value)) for name, value in changes.items()}
    raw = encode(_decode_fields(raw_envelope.raw) | fields)
    return RawEnvelope(replace(raw_envelope.envelope, **changes), raw)


def tail_without(raw_envelope: RawEnvelope, name: str) -> bytes:
    """Return an envelope's bytes after the opening brace, without a field: a script inserts it."""
    fields = _decode_fields(raw_envelope.raw)
    fields.pop(name, None)
    return encode(fields)[1:]


def open_owed(value: bytes) -> Owed:
    return _decode_owed(value)


def owed_task(value: bytes) -> bytes:
    """Return the envelope in a due entry, byte for byte."""
    return bytes(_decode_raw_owed(value).task)


def open_fact_list(value: bytes) -> tuple[Fact, ...]:
    return _decode_facts(value) if value else ()


def open_shown(value: bytes) -> ShownSpec:
    return _decode_shown(value)


def tail_of(envelope: Envelope) -> bytes:
    """Return an envelope's encoding after its generation: a script completes it."""
    _, _, tail = encode(envelope).partition(b",")
    return tail


def owed_around_generation(owed: Owed) -> tuple[bytes, bytes]:
    """Return the parts of a due entry before and after its generation: a script inserts one."""
    facts = b'"facts":%b,' % encode(owed.facts) if owed.facts else b""
    tail = tail_of(owed.task) if owed.task else b""
    return b'{%b"task":{"generation":' % facts, b",%b}" % tail
