"""A breaker opens on failure, allows one trial after a pause, and always recovers."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from taskmill.core.time import in_ms
from taskmill.stores.breaker import LONGEST_PAUSE, Breaker

NOW = 1_000_000
LONGEST = in_ms(LONGEST_PAUSE)


def after(*events, now=NOW):
    """Return the breaker after *events*, each as early as possible."""
    breaker = Breaker()
    for event in events:
        now = max(now, breaker.shut_until_ms)
        breaker = breaker.succeeded() if event == "succeeded" else getattr(breaker, event)(now)
    return breaker


def test_a_new_one_lets_everybody_through():
    assert not Breaker().is_shut(NOW)
    assert Breaker().tried(NOW) == Breaker()


def test_a_failure_shuts_it_for_a_second():
    breaker = Breaker().failed(NOW)
    assert [breaker.is_shut(NOW + ms) for ms in (0, 999, 1000)] == [True, True, False]


def test_after_the_pause_one_goes_through_and_the_others_wait_for_what_it_learns():
    breaker = Breaker().failed(NOW)
    trying = breaker.tried(NOW + 1000)
    assert trying.is_shut(NOW + 1000)
    assert not trying.succeeded().is_shut(NOW + 1000)


def test_a_trial_that_is_never_told_keeps_nobody_out_for_longer_than_a_pause():
    trying = Breaker().failed(NOW).tried(NOW + 1000)
    assert not trying.is_shut(NOW + 2000)


def test_pauses_double_up_to_the_longest():
    pauses = [after(*["failed"] * count).pause.total_seconds() for count in range(1, 7)]
    assert pauses == [1, 2, 4, 8, 10, 10]


def test_a_success_forgets_all_failures():
    assert after("failed", "failed", "succeeded") == Breaker()


_EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["tried", "failed", "succeeded"]),
        st.integers(min_value=0, max_value=60_000),
    ),
    max_size=50,
)


@given(_EVENTS)
def test_whatever_happens_it_is_never_shut_for_longer_than_the_longest_pause(events):
    breaker, now = Breaker(), NOW
    for event, later in events:
        now += later
        breaker = breaker.succeeded() if event == "succeeded" else getattr(breaker, event)(now)
        assert breaker.pause <= LONGEST_PAUSE
        assert not breaker.is_shut(now + LONGEST)
        assert breaker.is_closed or breaker.pause >= timedelta(seconds=1)
        assert breaker.is_shut(now) or event != "failed"


@given(_EVENTS)
def test_while_it_is_half_open_no_two_go_through_at_once(events):
    breaker, now = Breaker(), NOW
    for event, later in [*events, ("failed", 0)]:
        now += later
        breaker = breaker.succeeded() if event == "succeeded" else getattr(breaker, event)(now)
    reopened = breaker.shut_until_ms
    asked = [reopened, reopened, reopened + 1]
    let_through = 0
    for moment in asked:
        if not breaker.is_shut(moment):
            breaker = breaker.tried(moment)
            let_through += 1
    assert let_through == 1
