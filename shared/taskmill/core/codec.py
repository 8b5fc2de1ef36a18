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
PARCEL_MEMBERS = 100
PARCEL_BYTES = 900_000
"""A record may have 2 MiB; an envelope larger than this travels in a record of its own."""

_NO_TASKS = "the record holds facts, not tasks"


class Sealed(Struct, frozen=True):
    """An envelope with the bytes that carry it, which are passed on unchanged.

    A newer version may have added fields that this code does not know.
    """

    envelope: Envelope
    raw: bytes

    @property
    def type(self) -> TaskType:
        return self.envelope.type


class _Parcel(Struct, frozen=True, kw_only=True):
    v: int
    tasks: tuple[Envelope, ...] = ()
    facts: tuple[Fact, ...] = ()


class _SealedParcel(Struct, frozen=True, kw_only=True):
    v: int
    tasks: tuple[Raw, ...] = ()
    facts: tuple[Raw, ...] = ()


P = TypeVar("P", _Parcel, _SealedParcel)
M = TypeVar("M")


class _SealedOwed(Struct, frozen=True):
    task: Raw = Raw()


class _Versioned(Struct, frozen=True):
    v: Annotated[int, Meta(ge=1, le=2**31 - 1)]


encode = msgspec.json.Encoder().encode
_decode_any = msgspec.json.Decoder(_Parcel).decode
_decode_sealed = msgspec.json.Decoder(_SealedParcel).decode
_decode_version = msgspec.json.Decoder(_Versioned).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_envelope = msgspec.json.Decoder(Envelope).decode
_decode_sealed_owed = msgspec.json.Decoder(_SealedOwed).decode
_decode_owed = msgspec.json.Decoder(Owed).decode
_decode_facts = msgspec.json.Decoder(tuple[Fact, ...]).decode
_decode_shown = msgspec.json.Decoder(ShownSpec).decode


def parcels_of_tasks(envelopes: Sequence[Envelope | Sealed]) -> Iterator[bytes]:
    """Pack envelopes into as few Kafka values as their sizes allow."""
    encoded = [one.raw if isinstance(one, Sealed) else encode(one) for one in envelopes]
    for members in _packed(encoded):
        yield b'{"v":%d,"tasks":[%b]}' % (VERSION, members)


def parcels_of_facts(facts: Sequence[Fact]) -> Iterator[bytes]:
    """Pack facts into as few Kafka values as their sizes allow."""
    for members in _packed([encode(fact) for fact in facts]):
        yield b'{"v":%d,"facts":[%b]}' % (VERSION, members)


def _packed(members: Sequence[bytes]) -> Iterator[bytes]:
    parcel: list[bytes] = []
    size = 0
    for member in members:
        if parcel and (len(parcel) == PARCEL_MEMBERS or size + len(member) > PARCEL_BYTES):
            yield b",".join(parcel)
            parcel, size = [], 0
        parcel.append(member)
        size += len(member)
    if parcel:
        yield b",".join(parcel)


def open_tasks(value: bytes | None) -> tuple[Envelope, ...]:
    """Return the envelopes of a Kafka value, or raise `Undecodable`."""
    return _open(value, _decode_any, _envelopes)


def open_sealed(value: bytes | None) -> tuple[Sealed, ...]:
    """Return the envelopes of a Kafka value with their bytes, or raise `Undecodable`."""
    return _open(value, _decode_sealed, _sealed)


def open_facts(value: bytes | None) -> tuple[Fact, ...]:
    """Return the facts of a Kafka value, or raise `Undecodable`."""
    return _open(value, _decode_any, _facts)


def _envelopes(parcel: _Parcel) -> tuple[Envelope, ...]:
    if parcel.facts:
        raise Undecodable(_NO_TASKS)
    return parcel.tasks


def _sealed(parcel: _SealedParcel) -> tuple[Sealed, ...]:
    if parcel.facts:
        raise Undecodable(_NO_TASKS)
    return tuple(Sealed(_decode_envelope(raw), bytes(raw)) for raw in parcel.tasks)


def _facts(parcel: _Parcel) -> tuple[Fact, ...]:
    if parcel.tasks:
        raise Undecodable("the record holds tasks, not facts")
    return parcel.facts


def _open(
    value: bytes | None, decode: Callable[[bytes], P], members: Callable[[P], tuple[M, ...]]
) -> tuple[M, ...]:
    if not value:
        raise Undecodable("the record has no value")
    if len(value) > LARGEST_KEPT:
        raise Undecodable(f"the record has {len(value)} bytes, more than any parcel")
    try:
        value.decode()  # the raw payloads are not checked again before the ledger has to store them
        parcel = decode(value)
        if parcel.v == VERSION:
            return members(parcel)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if newer_version(value) is None:
            raise Undecodable(f"the record is not a parcel: {error}") from error
    if (version := newer_version(value)) is not None:
        raise NewerVersion(version)
    raise Undecodable(f"the parcel has an invalid version; this code reads {VERSION}")


def newer_version(value: bytes) -> int | None:
    """Return the version of a parcel that only a newer version of this code can read."""
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


def seal(raw: bytes) -> Sealed:
    """Decode *raw* and return it with its bytes, or raise `Undecodable`."""
    return Sealed(open_envelope(raw), raw)


def amended(sealed: Sealed, **changes: object) -> Sealed:
    """Change some fields of an envelope and preserve the bytes of all others."""
    fields = {name: Raw(encode(value)) for name, value in changes.items()}
    raw = encode(_decode_fields(sealed.raw) | fields)
    return Sealed(replace(sealed.envelope, **changes), raw)


def tail_without(sealed: Sealed, name: str) -> bytes:
    """Return an envelope's bytes after the opening brace, without a field: a script inserts it."""
    fields = _decode_fields(sealed.raw)
    fields.pop(name, None)
    return encode(fields)[1:]


def open_owed(value: bytes) -> Owed:
    return _decode_owed(value)


def owed_task(value: bytes) -> bytes:
    """Return the envelope in a due entry, byte for byte."""
    return bytes(_decode_sealed_owed(value).task)


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
