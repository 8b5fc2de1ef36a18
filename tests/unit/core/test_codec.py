"""Batches survive encoding and decoding, and anything else is undecodable."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from taskmill.core import codec
from taskmill.core.errors import NewerVersion, Undecodable
from taskmill.core.owed import Owed
from taskmill.core.task import Timing, shown
from tests.builders import (
    a_new_id,
    admitted,
    an_envelope,
    cancelled,
    deferred,
    died,
    dropped,
    lost,
    started,
    succeeded,
)

FACTS = [
    fact(an_envelope())
    for fact in (admitted, dropped, started, lost, deferred, succeeded, died, cancelled)
]


def test_every_kind_of_fact_comes_out_as_it_went_in():
    (parcel,) = codec.batches_of_facts(FACTS)
    assert codec.open_facts(parcel) == tuple(FACTS)


@given(st.lists(st.integers(0, 400_000), max_size=8))
def test_tasks_come_out_in_their_order_whatever_their_sizes(sizes):
    tasks = [an_envelope(payload=Raw(b'"%b"' % (b"x" * size))) for size in sizes]
    parcels = list(codec.batches_of_tasks(tasks))
    assert [task for parcel in parcels for task in codec.open_tasks(parcel)] == tasks
    assert all(len(parcel) < 2 * 1024 * 1024 for parcel in parcels)


def test_a_parcel_holds_a_hundred():
    parcels = list(codec.batches_of_tasks([an_envelope()] * 250))
    assert [len(codec.open_tasks(parcel)) for parcel in parcels] == [100, 100, 50]


def test_nothing_makes_no_parcel():
    assert list(codec.batches_of_tasks([])) == list(codec.batches_of_facts([])) == []


def test_a_payload_goes_through_to_the_byte():
    task = an_envelope(payload=Raw(b'{"n": 1.10,  "s": "\\u00e9"}'))
    (parcel,) = codec.batches_of_tasks([task])
    assert codec.open_tasks(parcel)[0].payload == task.payload


def test_a_script_completes_an_envelope_with_its_generation():
    task = an_envelope(generation=0)
    completed = b'{"generation":123,' + codec.tail_of(task)
    assert msgspec.json.decode(completed, type=type(task)) == an_envelope(generation=123)


def test_what_is_owed_comes_out_as_it_went_in():
    owed = Owed(facts=tuple(FACTS), task=an_envelope())
    assert codec.open_owed(codec.encode(owed)) == owed
    assert codec.open_owed(b"{}") == Owed()
    assert codec.open_fact_list(codec.encode(owed.facts)) == owed.facts
    assert codec.open_fact_list(b"") == ()
    assert codec.open_shown(codec.encode(shown(an_envelope()))) == shown(an_envelope())


BROKEN = [
    None,
    b"",
    b"null",
    b"{}",
    b"[]",
    b"\xff\xfe",
    b'{"v":1,"tasks":[{}]}',
    b'{"v":2,"tasks":[]}',
    b'{"v":"1"}',
    b'{"v":1,"facts":[{"kind":"Unknown"}]}',
    b'{"v":1,"tasks":' + b"[" * 100_000,
    b'{"v":' + b"1" * 5000 + b"}",
    b'{"v":1} ,',
    b'{"v":1,"tasks":[{"generation":1e400}]}',
    b'{"v":1}' + b" " * 2_000_000,
]


@pytest.mark.parametrize("value", BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("open_", [codec.open_tasks, codec.open_facts])
def test_what_is_no_parcel_is_undecodable(open_, value):
    with pytest.raises(Undecodable):
        open_(value)


def test_a_payload_that_is_not_utf_8_is_undecodable():
    (parcel,) = codec.batches_of_tasks([an_envelope(payload=Raw(b'"\xff"'))])
    with pytest.raises(Undecodable):
        codec.open_tasks(parcel)


def test_facts_are_no_tasks_and_tasks_are_no_facts():
    (tasks,), (facts,) = codec.batches_of_tasks([an_envelope()]), codec.batches_of_facts(FACTS)
    with pytest.raises(Undecodable, match="facts, not tasks"):
        codec.open_tasks(facts)
    with pytest.raises(Undecodable, match="tasks, not facts"):
        codec.open_facts(tasks)


def told(open_, value):
    """Return the content of a batch, or why it is undecodable; nothing else may raise."""
    try:
        return open_(value)
    except Undecodable as error:
        return str(error)


@given(st.binary())
def test_any_bytes_are_a_parcel_or_undecodable(value):
    assert isinstance(told(codec.open_tasks, value), tuple | str)
    assert isinstance(told(codec.open_facts, value), tuple | str)


(WHOLE,) = codec.batches_of_facts(FACTS)


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 4), st.binary(max_size=4))
def test_a_parcel_with_a_wound_is_a_parcel_or_undecodable(at, length, patch):
    found = told(codec.open_facts, WHOLE[:at] + patch + WHOLE[at + length :])
    assert isinstance(found, tuple | str)  # without its field of facts it holds none


@pytest.mark.parametrize(
    "task_id",
    ["", "x", "zzzzzzzz", a_new_id() + "\n", a_new_id().upper()],
    ids=["empty", "short", "no digits", "a line", "capitals"],
)
def test_a_task_whose_id_is_no_uuid_is_undecodable(task_id):
    (parcel,) = codec.batches_of_tasks([an_envelope(id=task_id)])
    with pytest.raises(Undecodable):
        codec.open_tasks(parcel)


LAST = 253_402_300_799_999


@pytest.mark.parametrize("moment", [-1, LAST + 1, 10**18])
@pytest.mark.parametrize(
    ("kind", "name"),
    [(started, "at_ms"), (died, "started_at_ms"), (lost, "started_at_ms"), (deferred, "due_at_ms")],
)
def test_a_fact_at_a_moment_that_no_calendar_has_is_undecodable(kind, name, moment):
    (parcel,) = codec.batches_of_facts([kind(an_envelope(), **{name: moment})])
    with pytest.raises(Undecodable):
        codec.open_facts(parcel)


@pytest.mark.parametrize(("moment", "is_one"), [(-1, False), (0, True), (LAST, True)])
def test_a_task_is_of_a_moment_that_can_be_shown(moment, is_one):
    (parcel,) = codec.batches_of_tasks([an_envelope(created_at_ms=moment)])
    found = told(codec.open_tasks, parcel)
    assert isinstance(found, tuple) == is_one


@pytest.mark.parametrize(("delay", "is_one"), [(-1, False), (-(10**15), False), (0, True)])
def test_a_task_waits_for_no_time_below_zero(delay, is_one):
    (parcel,) = codec.batches_of_tasks([an_envelope(timing=Timing(delay_ms=delay))])
    found = told(codec.open_tasks, parcel)
    assert isinstance(found, tuple) == is_one


NEWER = b',"only_newer":{"x": 1.10,  "y": "\xe2\x98\x83"}}'


def newer_bytes(envelope):
    return codec.encode(envelope)[:-1] + NEWER


def test_a_sealed_envelope_keeps_what_only_a_newer_version_knows():
    raw = newer_bytes(an_envelope())
    (parcel,) = codec.batches_of_tasks([codec.as_raw(raw)])
    (raw_envelope,) = codec.open_raw(parcel)
    assert raw_envelope == codec.RawEnvelope(an_envelope(), raw)
    assert codec.open_tasks(parcel) == (an_envelope(),)


def test_an_amended_envelope_keeps_what_only_a_newer_version_knows():
    raw_envelope = codec.as_raw(newer_bytes(an_envelope(generation=0, deferred=True)))
    amended = codec.amended(raw_envelope, generation=7, deferred=False)
    assert amended.envelope == an_envelope(generation=7) == codec.open_envelope(amended.raw)
    assert NEWER[1:-1] in amended.raw


def test_a_script_can_put_a_field_before_the_tail():
    tail = codec.tail_without(codec.as_raw(newer_bytes(an_envelope())), "parked_until_ms")
    raw = b'{"parked_until_ms":9,' + tail
    assert codec.open_envelope(raw) == an_envelope(parked_until_ms=9)
    assert raw.count(b"parked_until_ms") == 1
    assert NEWER[1:] in raw


@pytest.mark.parametrize(
    "value",
    [
        b'{"v":2,"tasks":[]}',
        b'{"v":2,"tasks":{"another":"shape"}}',
        b'{"v":2147483647}',
        b'{"tasks":[{"what":1}],"v":3}',
    ],
)
@pytest.mark.parametrize("open_value", [codec.open_tasks, codec.open_raw, codec.open_facts])
def test_a_parcel_of_a_newer_version_is_known_as_such(open_value, value):
    with pytest.raises(NewerVersion, match="newer_version") as caught:
        open_value(value)
    assert caught.value.version == codec.newer_version(value) > codec.VERSION


@pytest.mark.parametrize(
    "value",
    [
        b'{"v":0}',
        b'{"v":-1}',
        b'{"v":2147483648}',
        b'{"v":"2"}',
        b'{"v":2',
        b"[2]",
        b'{"v":1,"tasks":[{}]}',
    ],
)
def test_what_has_no_version_of_ours_is_no_parcel(value):
    assert codec.newer_version(value) is None
    for open_value in (codec.open_tasks, codec.open_raw):
        with pytest.raises(Undecodable) as caught:
            open_value(value)
        assert type(caught.value) is Undecodable


def test_facts_are_no_sealed_tasks():
    (parcel,) = codec.batches_of_facts(FACTS)
    with pytest.raises(Undecodable, match="holds facts"):
        codec.open_raw(parcel)


def test_a_failure_of_older_code_is_read_without_its_stack():
    fact = died(an_envelope())
    told = msgspec.json.decode(msgspec.json.encode(fact))
    del told["stack"]
    assert codec.open_facts(msgspec.json.encode({"v": 1, "facts": [told]})) == (fact,)
