"""The record of a turn in flight says what becomes of it."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core.owed import Cold
from taskmill.execution.lease import Beat
from taskmill.lanes.lane import (
    TurnIsFree,
    TurnIsGone,
    TurnIsOver,
    TurnLives,
    member_of,
)
from tests.builders import (
    a_claim,
    a_fresh_envelope,
    a_lease,
    a_request,
    a_source,
    a_success,
    now_ms,
)
from tests.contracts.hot import admitted, claimed, mended, next_turn

OURS, OTHERS, THIRD = a_source(1), a_source(2), a_source(3)
NO_TIME, LONG = timedelta(), timedelta(minutes=1)
HOUR_MS = 3_600_000


def looked(hot, task, **spans):
    (state,) = hot.turns(**spans).look([member_of(task)])
    return state


def lost(hot, task, *, times):
    """Let *task* be taken so often, and the lease of each take lapse."""
    for number in range(times):
        claimed(hot.leases(lease=NO_TIME), task, source=a_source(number), alone=True)


def test_a_turn_that_waits_for_its_claim_is_free(hot):
    assert looked(hot, admitted(hot.admission(), a_request())) == TurnIsFree()


def test_a_living_lease_lives_as_long_as_its_record_says(hot):
    task = a_fresh_envelope()
    claimed(hot.leases(lease=LONG), task)
    state = looked(hot, task)
    assert isinstance(state, TurnLives)
    assert LONG / 2 < state.span <= LONG


def test_a_lease_of_nobody_known_lives_too(hot):
    task = admitted(hot.admission(), a_request())
    mended(hot, task, lease=LONG)
    assert isinstance(looked(hot, task), TurnLives)


def test_a_living_lease_of_an_earlier_turn_lives_too(hot):
    task = a_fresh_envelope()
    claimed(hot.leases(lease=LONG), task)
    assert isinstance(looked(hot, replace(task, turn=2)), TurnLives)


def test_a_lapsed_lease_is_closed_and_free(hot):
    task = a_fresh_envelope()
    token = claimed(hot.leases(lease=NO_TIME), task).token
    assert [looked(hot, task), looked(hot, task)] == [TurnIsFree(), TurnIsFree()]
    assert hot.leases().extend([a_lease(task, token)]) == [Beat.LOST]


@pytest.mark.parametrize(("times", "alone"), [(1, False), (2, True), (3, True)])
def test_a_turn_runs_alone_as_soon_as_its_next_claim_would_be_suspect(hot, times, alone):
    task = a_fresh_envelope()
    lost(hot, task, times=times)
    assert looked(hot, task) == TurnIsFree(alone=alone)
    suspects = hot.leases(lease=NO_TIME).claim([a_claim(task, source=THIRD)])
    assert (type(suspects[0]).__name__ == "Suspect") is alone


@pytest.mark.parametrize(("times", "alone"), [(1, False), (2, False), (3, True)])
def test_a_next_turn_runs_alone_after_two_losses(hot, times, alone):
    """The last of the takes is no loss: it ends its turn."""
    task, leases = a_fresh_envelope(), hot.leases(lease=NO_TIME)
    lost(hot, task, times=times)
    again = claimed(leases, task, source=a_source(times - 1), alone=True)
    settlement = next_turn(task, again.token, due_at_ms=now_ms())
    leases.settle([settlement])
    assert looked(hot, settlement.next.owed.task) == TurnIsFree(alone=alone)


def test_the_lapsed_lease_of_nobody_known_is_no_loss(hot):
    task = a_fresh_envelope()
    lost(hot, task, times=1)
    token = claimed(hot.leases(lease=NO_TIME), task, source=OTHERS).token
    assert looked(hot, task) == TurnIsFree(alone=True)
    hot.lose_source(task)
    assert looked(hot, task) == TurnIsFree(alone=False)
    assert hot.leases().extend([a_lease(task, token)]) == [Beat.LOST]


def test_a_record_that_is_further_is_over_with_its_last_facts(hot):
    task, leases = a_fresh_envelope(), hot.leases()
    settlement = next_turn(task, claimed(leases, task).token, due_at_ms=now_ms())
    leases.settle([settlement])
    assert looked(hot, task) == TurnIsOver(settlement.facts)
    assert looked(hot, settlement.next.owed.task) == TurnIsFree()


def test_the_last_facts_are_named_whatever_turn_they_are_of(hot):
    task, leases = a_fresh_envelope(), hot.leases()
    settlement = next_turn(task, claimed(leases, task).token, due_at_ms=now_ms())
    leases.settle([settlement])
    following = settlement.next.owed.task
    end = a_success(following, claimed(leases, following).token)
    leases.settle([end])
    assert looked(hot, task) == looked(hot, following) == TurnIsOver(end.facts)


def test_a_newer_generation_is_over(hot):
    task, leases = a_fresh_envelope(), hot.leases()
    claimed(leases, task)
    older = replace(task, generation=task.generation - 1)
    assert looked(hot, older) == TurnIsOver(())


def test_a_record_behind_is_free(hot):
    task = admitted(hot.admission(), a_request())
    later = replace(task, turn=3)
    newer = replace(task, generation=task.generation + 1)
    assert [looked(hot, later), looked(hot, newer)] == [TurnIsFree(), TurnIsFree()]


def test_the_lapsed_lease_of_an_earlier_turn_is_closed_and_no_loss(hot):
    task = a_fresh_envelope()
    lost(hot, task, times=1)
    token = claimed(hot.leases(lease=NO_TIME), task, source=OTHERS).token
    assert looked(hot, replace(task, turn=2)) == TurnIsFree(alone=False)
    assert hot.leases().extend([a_lease(task, token)]) == [Beat.LOST]


def test_a_young_turn_without_a_record_is_free_and_an_old_one_is_gone(hot):
    task = a_fresh_envelope(generation=now_ms() - 60_000)
    assert looked(hot, task, adoption_age=timedelta(hours=1)) == TurnIsFree()
    assert looked(hot, task, adoption_age=timedelta(seconds=30)) == TurnIsGone()


@pytest.mark.parametrize("key", [None, "k"])
def test_an_end_stays_while_it_may_not_be_in_the_log(hot, key):
    task = a_fresh_envelope(idempotency_key=key)
    end = a_success(task, claimed(hot.leases(), task).token)
    hot.leases(window=NO_TIME, grace=timedelta(minutes=5)).settle([end])
    hot.shorten_life(task, to_ms=300_000)
    assert looked(hot, task) == TurnIsOver(end.facts)
    assert HOUR_MS - 60_000 < hot.life_left_ms(task) <= HOUR_MS


@pytest.mark.parametrize("key", [None, "k"])
def test_an_end_that_stays_long_enough_is_left_as_it_is(hot, key):
    task = a_fresh_envelope(idempotency_key=key)
    hot.leases().settle([a_success(task, claimed(hot.leases(), task).token)])
    before = hot.life_left_ms(task)
    looked(hot, task)
    assert HOUR_MS < hot.life_left_ms(task) <= before


def test_a_cold_shard_says_nothing(hot):
    task = a_fresh_envelope()
    claimed(hot.leases(lease=NO_TIME), task)
    hot.become_another_server()
    assert looked(hot, task) == Cold()


def test_each_look_of_a_call_gets_its_own_answer(hot):
    leases = hot.leases(lease=LONG)
    tasks = [a_fresh_envelope() for _ in range(3)]
    claimed(leases, tasks[0])
    end = a_success(tasks[1], claimed(leases, tasks[1]).token)
    leases.settle([end])
    states = hot.turns().look([member_of(task) for task in tasks])
    assert [type(state) for state in states] == [TurnLives, TurnIsOver, TurnIsFree]
