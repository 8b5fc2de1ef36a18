"""A guard passes calls through, and remembers a store that did not respond."""

from datetime import timedelta

import pytest

from taskmill.core.errors import StoreUnavailable
from taskmill.stores.guard import Guard


class Clock:
    now = 0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def guard(clock):
    return Guard("Redis", tolerance=timedelta(milliseconds=250), clock_ms=clock)


def fail(guard, clock, *, takes_ms):
    def ask():
        with guard.watch():
            clock.now += takes_ms
            raise StoreUnavailable("Redis", "broken")

    with pytest.raises(StoreUnavailable, match="broken"):
        ask()


def test_nobody_waits_twice_for_a_store_that_hangs(guard, clock):
    fail(guard, clock, takes_ms=2000)
    with pytest.raises(StoreUnavailable, match="did not respond a moment ago"), guard.watch():
        pytest.fail("it was asked again")


def test_a_store_that_refuses_at_once_is_asked_again_at_once(guard, clock):
    fail(guard, clock, takes_ms=249)
    assert not guard.is_shut()


def test_it_is_open_again_when_the_trial_goes_well(guard, clock):
    fail(guard, clock, takes_ms=2000)
    clock.now += 1000
    with guard.watch():
        assert guard.is_shut(), "one goes through at a time"
    assert not guard.is_shut()


def test_it_is_in_doubt_from_the_failure_to_the_trial_that_goes_well(guard, clock):
    assert not guard.is_in_doubt()
    fail(guard, clock, takes_ms=2000)
    clock.now += 1000
    assert (guard.is_shut(), guard.is_in_doubt()) == (False, True)
    with guard.watch():
        pass
    assert not guard.is_in_doubt()


def test_a_trial_that_fails_makes_the_pause_longer(guard, clock):
    fail(guard, clock, takes_ms=2000)
    clock.now += 1000
    fail(guard, clock, takes_ms=2000)
    clock.now += 1999
    assert guard.is_shut()
    clock.now += 1
    assert not guard.is_shut()


def test_what_a_caller_raises_is_no_failure_of_the_store(guard, clock):
    def raise_in_watch():
        with guard.watch():
            clock.now += 2000
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        raise_in_watch()
    assert not guard.is_shut()


def test_without_a_tolerance_nothing_shuts_it(clock):
    guard = Guard("Redis", clock_ms=clock)
    fail(guard, clock, takes_ms=100_000)
    assert not guard.is_shut()


def test_it_tells_once_that_it_stops_asking(clock):
    answer = []
    guard = Guard("Redis", tolerance=timedelta(), clock_ms=clock, opened=answer.append)
    fail(guard, clock, takes_ms=10)
    clock.now += 60_000
    fail(guard, clock, takes_ms=10)
    assert answer == ["Redis"]
    clock.now += 60_000
    with guard.watch():
        pass
    fail(guard, clock, takes_ms=10)
    assert answer == ["Redis", "Redis"]
