"""Waits grow by a factor up to a cap, and half of each is random."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskmill.core.backoff import RetryPolicy, delay_after

chances = st.floats(0, 1)
policies = st.builds(
    RetryPolicy,
    first_seconds=st.floats(0, 86_400),
    factor=st.floats(1, 100),
    cap_seconds=st.floats(0, 86_400),
)


@pytest.mark.parametrize(
    ("attempt", "chance", "seconds"),
    [(1, 0, 0.5), (1, 1, 1), (2, 0, 1), (2, 0.5, 1.5), (3, 1, 4), (9, 1, 256), (10, 1, 300)],
)
def test_the_usual_wait_doubles_from_one_second_up_to_five_minutes(attempt, chance, seconds):
    assert delay_after(attempt, RetryPolicy(), chance=chance) == timedelta(seconds=seconds)


@given(st.integers(1, 10_000), policies, chances)
def test_no_wait_is_longer_than_the_cap_nor_shorter_than_half_of_the_whole(attempt, policy, chance):
    wait = delay_after(attempt, policy, chance=chance)
    assert wait <= timedelta(seconds=policy.cap_seconds)
    assert wait >= delay_after(attempt, policy, chance=1) / 2 - timedelta(microseconds=1)


@given(st.integers(1, 10_000), policies, chances)
def test_a_later_attempt_waits_no_shorter(attempt, policy, chance):
    assert delay_after(attempt, policy, chance=chance) <= (
        delay_after(attempt + 1, policy, chance=chance)
    )
