"""Every end of an attempt becomes one fact, whatever the worker returned."""

import dataclasses
import math
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from taskmill.domain.facts import TaskDied, TaskSucceeded
from taskmill.domain.outcome import (
    ERROR_TEXT_LIMIT,
    RESULT_LIMIT,
    Discard,
    Misfit,
    Poisoned,
    Raised,
    Retry,
    Succeeded,
    TimedOut,
    UnknownType,
    clip,
    conclude,
    encode_result,
)
from taskmill.domain.task import Millis
from tests.builders import NOW, an_attempt, an_envelope

LATER = Millis(NOW + 500)
TOLD = {
    "id": an_envelope().id,
    "generation": NOW,
    "turn": 1,
    "type": "echo",
    "tenant": "default",
    "attempt": 1,
    "token": 7,
    "losses": 2,
    "started_at_ms": NOW,
    "at_ms": LATER,
}

DEATHS = [
    (Retry("busy"), "failed", "Retry", "busy"),
    (Discard("no"), "discarded", "Discard", "no"),
    (Raised("ValueError", "bad"), "failed", "ValueError", "bad"),
    (
        TimedOut(timedelta(seconds=1.5)),
        "timeout",
        "TimedOut",
        "the attempt was cut off after 1.5 s",
    ),
    (Misfit("no"), "invalid_payload", "Misfit", "no"),
    (Poisoned(3), "poison", "Poisoned", "the platform died under it 3 times"),
    (UnknownType("x"), "unknown_type", "UnknownType", "no worker takes 'x'"),
]


@pytest.mark.parametrize(("end", "reason", "error_class", "message"), DEATHS)
def test_an_end_without_success_is_a_death_with_a_reason(end, reason, error_class, message):
    assert conclude(an_attempt(losses=2), end, now=LATER) == TaskDied(
        **TOLD, reason=reason, error_class=error_class, error_message=message
    )


def test_a_success_keeps_its_result():
    assert conclude(an_attempt(losses=2), Succeeded({"a": [1, None]}), now=LATER) == (
        TaskSucceeded(**TOLD, result=Raw(b'{"a":[1,null]}'))
    )


class Reading(msgspec.Struct):
    value: object


@dataclasses.dataclass
class Point:
    x: object


def unfinished():
    point = Point(1)
    del point.x
    return point


def a_ring():
    ring = []
    ring.append(ring)
    return ring


def nested(value, depth):
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "hide",
    [
        lambda number: number,
        lambda number: [number],
        lambda number: (1, number),
        lambda number: {number},
        lambda number: {"a": {"b": number}},
        Reading,
        Point,
        lambda number: [Reading({"a": (Point(number),)})],
        lambda number: nested(number, 500),
    ],
)
def test_a_float_that_json_cannot_say_never_becomes_null(hide, number):
    with pytest.raises(ValueError, match="NaN or Infinity"):
        encode_result(hide(number))


UNKEEPABLE = [
    ("x" * (RESULT_LIMIT - 1), "the limit is 65536"),
    (object(), "not JSON"),
    ({(1, 2): 3}, "not JSON"),
    ("\ud800", "not JSON"),
    ({"\udfff": 1}, "not JSON"),
    (a_ring(), "not JSON"),
    (10**5000, "not JSON"),
    ("a\0b", "NUL"),
    ({"\0": 1}, "NUL"),
    ("\\\0", "NUL"),
    (Raw(b"{"), "not JSON"),
    (Raw(b'"\\ud800"'), "not JSON"),
    (Raw(b'"\\u0000"'), "NUL"),
]


@pytest.mark.parametrize(("result", "why"), UNKEEPABLE, ids=range(len(UNKEEPABLE)))
def test_a_result_that_cannot_be_kept_ends_the_task_with_a_reason(result, why):
    fact = conclude(an_attempt(), Succeeded(result), now=LATER)
    assert (type(fact), fact.reason, fact.error_class) == (
        TaskDied,
        "result_invalid",
        "ResultInvalid",
    )
    assert why in fact.error_message


KEEPABLE = [
    (None, b"null"),
    ("x" * (RESULT_LIMIT - 2), b'"%b"' % (b"x" * (RESULT_LIMIT - 2))),
    ("\\u0000", b'"\\\\u0000"'),
    (2**70, b"1180591620717411303424"),
    ({"é": "☃"}, '{"é":"☃"}'.encode()),
    (Reading(1.5), b'{"value":1.5}'),
    (Point("x"), b'{"x":"x"}'),
    (unfinished(), b"{}"),
    (Raw(b'{"x": 1.10}'), b'{"x": 1.10}'),
    ({"a": Raw(b"[1 ]")}, b'{"a":[1 ]}'),
]


@pytest.mark.parametrize(("result", "encoded"), KEEPABLE, ids=range(len(KEEPABLE)))
def test_a_result_that_can_be_kept_is_kept(result, encoded):
    assert encode_result(result) == Raw(encoded)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(json_values)
def test_what_is_kept_is_what_was_given(result):
    try:
        encoded = encode_result(result)
    except ValueError:
        return
    assert msgspec.json.decode(encoded) == result


@given(st.text() | st.text(st.characters()), st.integers(4, 50))
def test_clipped_text_is_fit_for_every_store(text, limit):
    clipped = clip(text, limit)
    assert len(clipped.encode()) <= limit
    assert "\0" not in clipped


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=100))
def test_short_text_stays_as_it_is(text):
    assert clip(text, 400) == text


def test_lone_surrogates_and_nuls_are_replaced():
    assert clip("a\ud800b\0c", 100) == "a?b\ufffdc"


def test_an_error_text_is_cut_at_its_limit():
    fact = conclude(an_attempt(), Raised("E" * 300, "☃" * ERROR_TEXT_LIMIT), now=LATER)
    assert len(fact.error_message.encode()) <= ERROR_TEXT_LIMIT
    assert fact.error_message.endswith("☃…")
    assert len(fact.error_class) <= 255
