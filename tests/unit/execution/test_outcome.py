"""Every end of an attempt becomes one fact, whatever the worker returns."""

import dataclasses
import math
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from taskmill.core.backoff import RetryPolicy
from taskmill.core.facts import TaskCancelled, TaskDeferred, TaskDied, TaskSucceeded
from taskmill.core.task import Millis
from taskmill.core.text import ERROR_TEXT_LIMIT, clip
from taskmill.execution.conclude import conclude
from taskmill.execution.outcome import (
    RESULT_LIMIT,
    Cancelled,
    Discard,
    Misfit,
    Poisoned,
    Raised,
    Retry,
    Snooze,
    Succeeded,
    TimedOut,
    UnknownType,
    encode_result,
)
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


def the_last(**changes):
    """Return a task's last attempt."""
    return an_attempt(an_envelope(max_attempts=1), **changes)


DEATHS = [
    (Retry("busy"), "failed", "Retry", "busy"),
    (Discard("no"), "discarded", "Discard", "no"),
    (Raised("ValueError", "bad"), "failed", "ValueError", "bad"),
    (
        TimedOut(timedelta(seconds=1.5)),
        "timeout",
        "TimedOut",
        "the attempt was stopped at its time limit of 1.5 s",
    ),
    (Raised("KeyError", "x", is_hopeless=True), "discarded", "KeyError", "x"),
    (Misfit("no"), "invalid_payload", "Misfit", "no"),
    (
        Poisoned(3),
        "poison",
        "Poisoned",
        (
            "its process ended 3 times during the task: it exited, was killed, or ran out"
            " of memory or time; the function's log says which, with the exit status or signal"
        ),
    ),
    (UnknownType("x"), "unknown_type", "UnknownType", "no worker is deployed for 'x'"),
]


@pytest.mark.parametrize(("end", "reason", "error_class", "message"), DEATHS)
def test_an_end_without_success_is_a_death_with_a_reason(end, reason, error_class, message):
    assert conclude(the_last(losses=2), end, now=LATER, chance=1) == TaskDied(
        **TOLD, reason=reason, error_class=error_class, error_message=message
    )


@pytest.mark.parametrize(("end", "reason", "error_class", "message"), DEATHS)
def test_only_what_may_go_better_next_time_is_tried_again(end, reason, error_class, message):
    fact = conclude(an_attempt(losses=2), end, now=LATER, chance=1)
    if reason not in {"failed", "timeout"}:
        assert type(fact) is TaskDied
        return
    assert fact == TaskDeferred(
        **TOLD,
        due_at_ms=LATER + 1000,
        next_attempt=2,
        reason=reason,
        error_class=error_class,
        error_message=message,
    )


@pytest.mark.parametrize(
    ("attempt", "chance", "wait_ms"), [(1, 0, 500), (2, 1, 2000), (3, 0, 2000)]
)
def test_attempts_wait_longer_each_time(attempt, chance, wait_ms):
    task = an_envelope(attempt=attempt)
    fact = conclude(an_attempt(task), Retry("busy"), now=LATER, chance=chance)
    assert (fact.due_at_ms, fact.next_attempt) == (LATER + wait_ms, attempt + 1)


def test_a_task_waits_as_its_own_policy_says():
    policy = RetryPolicy(first_seconds=7, factor=1, cap_seconds=60)
    task = an_envelope(attempt=3, retry=policy)
    fact = conclude(an_attempt(task), Raised("E", ""), now=LATER, chance=1)
    assert fact.due_at_ms == LATER + 7000


@pytest.mark.parametrize(
    ("delay", "wait_ms"),
    [
        (timedelta(0), 0),
        (timedelta(seconds=-5), 0),
        (timedelta(hours=1), 3_600_000),
        (timedelta(days=400), 86_400_000),
    ],
)
def test_a_retry_may_name_its_own_wait_within_a_day(delay, wait_ms):
    fact = conclude(an_attempt(), Retry("busy", delay), now=LATER, chance=1)
    assert fact.due_at_ms == LATER + wait_ms


def test_a_snooze_spends_no_attempt_not_even_the_last():
    end = Snooze(timedelta(seconds=3), "not yet")
    assert conclude(the_last(losses=2), end, now=LATER, chance=1) == TaskDeferred(
        **TOLD,
        due_at_ms=LATER + 3000,
        next_attempt=1,
        reason="snoozed",
        error_class="Snooze",
        error_message="not yet",
    )


def test_a_cancelled_attempt_has_no_other_reason():
    fact = conclude(an_attempt(losses=2), Cancelled(), now=LATER, chance=1)
    assert fact == TaskCancelled(**TOLD)


MISUSES = [
    lambda: Retry(None),
    lambda: Retry(ValueError("x")),
    lambda: Retry("busy", 5),
    lambda: Snooze(5),
    lambda: Snooze(timedelta(1), 7),
    lambda: Discard(b"no"),
]


@pytest.mark.parametrize("misuse", MISUSES, ids=range(len(MISUSES)))
def test_an_outcome_of_the_wrong_kind_is_refused_where_it_is_made(misuse):
    with pytest.raises(TypeError, match=r"must be a (str|timedelta), not"):
        misuse()


def test_an_error_text_is_kept_without_its_secrets():
    end = Raised("ValueError", "no way in with password=hunter2")
    fact = conclude(the_last(), end, now=LATER, chance=1)
    assert fact.error_message == "no way in with password=***"


def test_a_success_keeps_its_result():
    assert conclude(an_attempt(losses=2), Succeeded({"a": [1, None]}), now=LATER, chance=1) == (
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
        lambda number: nested(number, 100),
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
    (nested(0, 101), "deeper than 100 levels"),
    (nested(0, 700), "deeper than 100 levels"),
    (Raw(b"[" * 500 + b"1" + b"]" * 500), "deeper than 100 levels"),
    ([{"": nested(0, 99)}], "deeper than 100 levels"),
]


@pytest.mark.parametrize(("result", "why"), UNKEEPABLE, ids=range(len(UNKEEPABLE)))
def test_a_result_that_cannot_be_kept_ends_the_task_with_a_reason(result, why):
    fact = conclude(an_attempt(), Succeeded(result), now=LATER, chance=1)
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


@pytest.mark.parametrize("result", [nested(0, 100), {"": nested(0, 99)}])
def test_a_result_may_have_a_hundred_levels(result):
    assert msgspec.json.decode(encode_result(result)) == result


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
    fact = conclude(the_last(), Raised("E" * 300, "☃" * ERROR_TEXT_LIMIT), now=LATER, chance=1)
    assert len(fact.error_message.encode()) <= ERROR_TEXT_LIMIT
    assert fact.error_message.endswith("☃…")
    assert len(fact.error_class) <= 255
