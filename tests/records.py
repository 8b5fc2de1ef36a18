"""Records that our functions never write: nearly valid ones and garbage."""

import json
import random

from hypothesis import strategies as st
from msgspec import Raw

from taskmill.core import codec, topics
from taskmill.core.task import Timing
from tests.builders import (
    ECHO,
    a_fresh_envelope,
    admitted,
    cancel_requested,
    cancelled,
    deferred,
    died,
    dropped,
    lost,
    started,
    succeeded,
)

TOPICS = (topics.PENDING, topics.worker(ECHO), topics.EVENTS, topics.DLQ)
FACTS = (
    admitted, dropped, started, lost, deferred, succeeded, died, cancelled, cancel_requested,
)  # fmt: skip

_numbers = st.sampled_from(
    [
        *(0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, 0.5, 1e308, -(10**14)),
        *(253_402_300_799_999, 253_402_300_800_000, 10**15),  # the end of the year 9999, and later
    ]
)
_NOISE = random.Random(1).randbytes(5_000).hex()
"""A long text that nobody can make shorter, as indexes do with others."""

_texts = st.sampled_from(
    ["", "\0", "é☃", "a" * 5_000, _NOISE, "../..", "tasks.pending", '"', "\ud7ff", "\ud800"]
)
_scalars = st.none() | st.booleans() | _numbers | _texts | st.text(max_size=5)
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts, inner, max_size=2)
)


_whens = st.none() | _numbers.filter(lambda number: isinstance(number, int))
_timings = st.none() | st.builds(
    Timing, run_at_ms=_whens, delay_ms=_whens, expires_at_ms=_whens, said_ms=_whens
)


@st.composite
def _parcels(draw):
    """Return a valid parcel with random members."""
    tasks = [a_fresh_envelope(timing=draw(_timings)) for _ in range(draw(st.integers(1, 2)))]
    if draw(st.booleans()):
        return next(codec.batches_of_tasks(tasks))
    fact = draw(st.sampled_from(FACTS))
    return next(codec.batches_of_facts([fact(task) for task in tasks]))


@st.composite
def _changed(draw):
    """Return a parcel in which one field is changed, missing or added."""
    parcel = json.loads(draw(_parcels()))
    member = draw(st.sampled_from(parcel["tasks" if "tasks" in parcel else "facts"]))
    inner = [member, parcel]
    if isinstance(member.get("envelope"), dict):
        inner.append(member["envelope"])
    place = draw(st.sampled_from(inner))
    name = draw(st.sampled_from([*place, "parked_until_ms", "turn", "attempt", "only_newer"]))
    if draw(st.integers(0, 4)) == 0:
        place.pop(name, None)
    else:
        place[name] = draw(_values)
    return json.dumps(parcel).encode()


@st.composite
def _wounded(draw):
    whole = draw(_parcels())
    at = draw(st.integers(0, len(whole) - 1))
    return whole[:at] + draw(st.binary(max_size=4)) + whole[at + draw(st.integers(1, 4)) :]


@st.composite
def _cut(draw):
    whole = draw(_parcels())
    return whole[: draw(st.integers(0, len(whole) - 1))]


def _with_payload(payload):
    (parcel,) = codec.batches_of_tasks([a_fresh_envelope(payload=Raw(payload))])
    return parcel


SHAPES = (
    None,
    b"",
    b"\0" * 1_000_000,
    b"\xff\xfe{\x00}\x00",
    b"[]",
    b"null",
    b"{}",
    b'{"v":1}',
    b'{"v":0,"tasks":[]}',
    b'{"v":2,"tasks":[]}',
    b'{"v":99999999999999999999}',
    b"[" * 100_000,
    b'{"v":1,"tasks":' * 50_000,
    *(_with_payload(b'{"say":%b%b}' % (b"[" * n, b"]" * n)) for n in (33, 500, 5_000, 100_000)),
    _with_payload(b'{"say":%b}' % (b"9" * 10_000)),
    _with_payload(b'{"say":1e999}'),
    _with_payload(b'{"say":"\\u0000\\ud800"}'),
    _with_payload(b'{"say":1,"say":2}'),
    _with_payload(b"NaN"),
    next(codec.batches_of_tasks([a_fresh_envelope(tenant=_NOISE)])),
    next(codec.batches_of_facts([died(a_fresh_envelope(), error_class=_NOISE)])),
)
"""What people send by mistake."""

values = st.one_of(st.sampled_from(SHAPES), st.binary(max_size=60), _wounded(), _cut(), _changed())
_octets = st.sampled_from([b"", b"3", b"-1", b"9" * 30, b"\xff", b"\0", b"tasks.events"])
headers = st.dictionaries(
    st.sampled_from(
        [
            "reason",
            "topic",
            "partition",
            "offset",
            "kind",
            "headers",
            "é☃",
            "",
            "\0",
            "\ufffd" * 9_000,
        ]
    ),
    _octets,
    max_size=5,
)
