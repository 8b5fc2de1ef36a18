"""Two versions read each other's log records, due entries and Redis records.

Only what Kafka holds has a version, and due entries and records have none. So their layout is that
of the release before; a new field has a default, and an older process passes it on as it came.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from msgspec import Raw, Struct
from msgspec.structs import fields, replace

from taskmill.core import codec
from taskmill.core.backoff import DEFAULT_RETRY, RetryPolicy
from taskmill.core.owed import Owed
from taskmill.core.pointers import Pointer
from taskmill.core.task import Priority, ShownSpec, Spec, Submission, TaskId, Timing, shown
from taskmill.submission.submission import named
from tests.builders import NOW, TASK, an_envelope


class OldEnvelope(Struct, kw_only=True):
    """Encoded as by the previous release, with every field that it needs."""

    generation: int
    id: str
    turn: int = 1
    attempt: int = 1
    submission: str
    submitted: int = 0
    type: str
    tenant: str = "default"
    payload: Raw
    fingerprint: str
    idempotency_key: str | None = None
    created_at_ms: int
    max_attempts: int
    timeout_seconds: float
    retry: RetryPolicy = DEFAULT_RETRY
    metadata: Mapping[str, str] = {}
    deferred: bool = False
    parked_until_ms: int | None = None
    timing: Timing | None = None
    payload_ref: Pointer | None = None


class OldAbout(Struct, kw_only=True, omit_defaults=True):
    """The fields for readers in a record of the previous release."""

    type: str
    tenant: str
    idempotency_key: str | None
    created_at_ms: int
    max_attempts: int
    payload_size: int
    metadata: Mapping[str, str]
    timing: Timing | None = None
    payload_ref: Pointer | None = None


PLAIN = an_envelope()
FULL = an_envelope(
    turn=3,
    attempt=2,
    submitted=NOW - 5,
    tenant="acme",
    idempotency_key="order 17",
    metadata={"a": "b"},
    deferred=True,
    parked_until_ms=NOW + 5,
    timing=Timing(run_at_ms=NOW + 7, turn=3),
    payload=Raw(b"null"),
    payload_ref=Pointer(url="s3://bucket/key", size=1_000_000, sha256="0" * 64),
)
ORDERED = replace(FULL, priority=Priority.CRITICAL, fairness_key="é", index=999, order_ms=NOW + 9)
EITHER = pytest.mark.parametrize("task", [PLAIN, FULL], ids=["plain", "full"])


def plain(struct: Struct) -> dict[str, Any]:
    """Return the fields of *struct* that the previous release knows."""
    return {name: getattr(struct, name) for name in OldEnvelope.__struct_fields__}


def old(task):
    return OldEnvelope(**plain(task))


@EITHER
def test_an_older_process_reads_an_envelope(task):
    read = msgspec.json.decode(codec.encode(task), type=OldEnvelope)
    assert plain(read) == plain(task)


@EITHER
def test_an_envelope_of_an_older_process_is_read(task):
    written = msgspec.json.encode(old(task))
    assert codec.open_envelope(written) == task
    (opened,) = codec.open_raw(b'{"v":1,"tasks":[%b]}' % written)
    assert (opened.envelope, opened.raw) == (task, written)


@EITHER
def test_a_due_entry_of_either_is_read_by_both(task):
    entry = codec.encode(Owed(task=task))
    assert plain(msgspec.json.decode(codec.owed_task(entry), type=OldEnvelope)) == plain(task)
    assert codec.open_owed(b'{"task":%b}' % msgspec.json.encode(old(task))).task == task


def test_a_script_finds_the_generation_where_an_older_one_puts_it():
    ahead = b'{"generation":%d,' % NOW
    assert codec.encode(FULL) == ahead + codec.tail_of(FULL)
    assert msgspec.json.encode(old(FULL)).startswith(ahead)


@EITHER
def test_a_record_of_either_is_read_by_both(task):
    written = codec.encode(shown(task))
    read = msgspec.json.decode(written, type=OldAbout)
    assert len(msgspec.json.encode(read)) == len(written), "a record takes no more memory"
    assert codec.open_shown(msgspec.json.encode(read)) == shown(task)


def test_a_field_that_only_a_newer_process_knows_does_not_trouble_this_one():
    newer = codec.encode(FULL)[:-1] + b',"unheard_of":7}'
    assert codec.open_envelope(newer) == FULL
    assert codec.as_raw(newer).raw == newer


def test_an_envelope_carries_no_field_that_has_its_default():
    """Each waits once in a lane and once in a due set, where every byte counts."""
    named = {"generation", "id", "type", "payload", "fingerprint", "max_attempts"}
    named |= {"timeout_seconds", "submission", "created_at_ms"}
    assert set(msgspec.json.decode(codec.encode(PLAIN))) == named


def test_an_older_process_passes_on_what_it_does_not_know():
    written = codec.encode(ORDERED)
    read = msgspec.json.decode(written, type=OldEnvelope)
    assert plain(read) == plain(FULL)
    (opened,) = codec.open_raw(b'{"v":1,"tasks":[%b]}' % written)
    assert (opened.envelope, opened.raw) == (ORDERED, written)
    assert codec.open_shown(codec.encode(shown(ORDERED))) == shown(ORDERED)


def test_what_is_asked_for_stays_whole_from_the_door_to_the_readers():
    fields = {name: getattr(ORDERED, name) for name in Submission.__struct_fields__}
    submission = Submission(**fields)
    task = named(submission, TaskId(TASK), nonce="a request", now=NOW, index=7)
    for value in (task, task.spec, shown(task)):
        assert all(
            getattr(value, name) == fields[name] for name in {*fields} & {*value.__struct_fields__}
        )
    assert {*ShownSpec.__struct_fields__} - {*task.spec.__struct_fields__} == {"payload_size"}


def test_a_spec_has_every_field_of_its_envelope():
    """Each is named one by one, and one that was forgotten would be lost in the ledger."""
    task = replace(ORDERED, retry=RetryPolicy(factor=3.0))
    values = {name: getattr(task, name) for name in Spec.__struct_fields__}
    defaults = {one.name: one.default for one in fields(Spec)}
    assert not [name for name, value in values.items() if value == defaults[name]]
    assert {name: getattr(task.spec, name) for name in values} == values
