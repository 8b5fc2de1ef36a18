"""Decoders of untrusted bytes: each input is valid, or refused with a message."""

import json
from contextlib import suppress

import msgspec
from hypothesis import strategies as st

from functions.workers.echo.handler import lambda_handler as echo
from taskmill.core import codec
from taskmill.core.errors import Undecodable
from taskmill.core.refusal import Refusal
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.submission.read import read_submission
from taskmill.submission.strict_json import NotJson, read
from taskmill.submission.submission import as_envelope
from tests.builders import NOW
from tests.fuzz.explore import Target
from tests.json_values import meaning
from tests.json_values import values as json_values
from tests.records import values as records

_catalogue = AssembledCatalogue()


def opens_or_refuses(octets):
    """Check that all ways to open a record agree, and that opened envelopes keep their bytes."""
    answer = opened(codec.open_tasks, octets)
    raw_envelope = opened(codec.open_raw, octets)
    assert (answer is None) == (raw_envelope is None)
    for envelope, one in zip(answer or (), raw_envelope or (), strict=True):
        assert envelope == one.envelope
        assert codec.as_raw(one.raw).envelope == envelope
        changed = codec.amended(one, generation=7)
        assert codec.open_envelope(changed.raw) == changed.envelope
    if answer:
        again = [codec.open_raw(parcel) for parcel in codec.batches_of_tasks(raw_envelope)]
        assert [one.raw for parcel in again for one in parcel] == [one.raw for one in raw_envelope]
    facts = opened(codec.open_facts, octets)
    if facts:
        assert answer is None
        parcels = codec.batches_of_facts(facts)
        assert [fact for parcel in parcels for fact in codec.open_facts(parcel)] == [*facts]
    with suppress(Undecodable):
        codec.open_envelope(octets or b"")


def opened(how, octets):
    with suppress(Undecodable):
        return how(octets)
    return None


moments = st.sampled_from(
    [
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.9999999Z", "2027-02-01T20:00:00Z"),
        *("9999-12-31T23:59:59-14:00", "2026-11-18T20:00:00", "20261118T20Z", "2026-W47-3T20Z"),
    ]
)
_fields = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["echo", "echo", "echo", "email", "webhook", "nobody"]),
        "payload": json_values | st.builds(lambda value: {"say": value}, json_values),
        "idempotency_key": st.text(max_size=9) | json_values,
        "max_attempts": st.integers(-1, 101) | json_values,
        "timeout_seconds": st.floats() | json_values,
        "retry": st.dictionaries(
            st.sampled_from(["first_seconds", "factor", "cap_seconds"]), json_values
        ),
        "delay_seconds": st.floats() | st.integers(-1, 10**9) | json_values,
        "run_at": moments | json_values,
        "expires_at": moments | json_values,
        "payload_ref": json_values,
        "metadata": st.dictionaries(st.text(max_size=5), st.text(max_size=5)) | json_values,
    },
)
spellings = (_fields | json_values).map(lambda value: json.dumps(value).encode())


@st.composite
def _wounded(draw):
    whole = draw(spellings)
    at = draw(st.integers(0, len(whole)))
    return whole[:at] + draw(st.binary(max_size=4)) + whole[at + draw(st.integers(0, 4)) :]


def is_taken_or_refused(octets):
    """Check that the worker can read every accepted payload, and reads the same."""
    try:
        value = read(octets)
    except NotJson:
        return
    found = read_submission(value, None, _catalogue, now=NOW)
    if isinstance(found, Refusal):
        assert len(msgspec.json.encode(found)) < 10_000
        return
    envelope = as_envelope(found, now=NOW, entropy=bytes(16))
    (parcel,) = codec.batches_of_tasks([envelope])
    assert codec.open_tasks(parcel) == (envelope,)
    if found.payload_ref is None:
        assert meaning(json.loads(bytes(found.payload))) == meaning(value.get("payload", {}))
        if found.type == "echo":
            echo.decode(envelope.payload)


TARGETS = (
    Target("records", st.none() | records, opens_or_refuses),
    Target("requests", st.binary(max_size=80) | spellings | _wounded(), is_taken_or_refused),
)
