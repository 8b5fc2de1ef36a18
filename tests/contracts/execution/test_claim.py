"""Only one take at a time gets the right to run a turn."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core.task import Status
from taskmill.execution.lease import (
    Beat,
    Claimed,
    Forgotten,
    HeldLease,
    Late,
    Settled,
    Suspect,
    TurnOver,
)
from taskmill.lanes.lane import member_of
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
from tests.waiting import eventually

SHORT = timedelta(milliseconds=50)
LONG = timedelta(minutes=1)
OURS, OTHERS, THIRD = a_source(1), a_source(2), a_source(3)


def lapsed(leases, claim):
    """Wait until *claim* finds no live lease any more; return the answer."""
    answers = []

    def is_free():
        answers.extend(leases.claim([claim]))
        return answers[-1] != HeldLease()

    eventually(is_free, within=10, reason="the lease lapses")
    return answers[-1]


def _lost(answer):
    return [loss.token for loss in answer.unreported]


def test_an_admitted_task_is_claimed(hot):
    task = admitted(hot.admission(), a_request())
    before = now_ms()
    answer = claimed(hot.leases(), task)
    assert answer == Claimed(
        token=answer.token, losses=0, started_at_ms=answer.started_at_ms, unreported=()
    )
    assert before <= answer.started_at_ms <= now_ms() + 1
    assert answer.token >= answer.started_at_ms * 1000


def test_a_record_keeps_the_first_start_beside_the_latest(hot):
    task = admitted(hot.admission(), a_request())
    leases = hot.leases()
    first = claimed(leases, task)
    (view,) = hot.records().read([task.id])
    assert (view.started_at_ms, view.first_started_at_ms) == (first.started_at_ms, None)
    for turn in (1, 2):
        following = replace(task, turn=turn, attempt=turn)
        answer = first if turn == 1 else claimed(leases, following)
        leases.settle([next_turn(following, answer.token, due_at_ms=now_ms())])
    last = claimed(leases, replace(task, turn=3, attempt=3))
    (view,) = hot.records().read([task.id])
    assert (view.started_at_ms, view.first_started_at_ms) == (
        last.started_at_ms,
        first.started_at_ms,
    )


def test_a_young_task_without_a_record_is_adopted(hot):
    (answer,) = hot.leases().claim([a_claim(a_fresh_envelope())])
    assert isinstance(answer, Claimed)


def test_an_old_task_without_a_record_is_left_to_the_ledger(hot):
    old = a_fresh_envelope(generation=now_ms() - 60_000)
    leases = hot.leases(adoption_age=timedelta(seconds=30))
    assert leases.claim([a_claim(old)]) == [Forgotten()]


@pytest.mark.parametrize("other", [OTHERS, a_source(11), f"{OURS}1"], ids=str)
def test_a_living_lease_is_held_against_another_take(hot, other):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    first = claimed(leases, task, source=OURS)
    assert leases.claim([a_claim(task, source=other)]) == [HeldLease()]
    assert leases.claim([a_claim(task, source=other, alone=True)]) == [HeldLease()]
    assert leases.extend([a_lease(task, first.token)]) == [Beat.HELD]


def test_a_take_that_did_not_hear_its_answer_gets_it_again(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    first = claimed(leases, task, source=OURS)
    assert claimed(leases, task, source=OURS) == first
    assert leases.extend([a_lease(task, first.token)]) == [Beat.HELD]


def test_an_answer_that_is_given_again_names_the_losses_and_the_cancel(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    claimed(leases, task, source=OURS)
    leases = hot.leases(lease=LONG)
    first = claimed(leases, task, source=OTHERS)
    hot.request_cancel(task)
    again = claimed(leases, task, source=OTHERS)
    assert again == replace(first, cancel_requested=True)
    assert (again.losses, len(again.unreported)) == (1, 1)


def test_a_lease_is_held_as_long_as_if_it_were_claimed_once_more(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    claimed(leases, task, source=OURS)
    claimed(hot.leases(lease=timedelta()), task, source=OURS)
    assert claimed(leases, task, source=OTHERS).losses == 1


def test_a_claim_near_its_look_is_late_and_changes_nothing(hot):
    leases, task = hot.leases(lease=timedelta(seconds=6)), admitted(hot.admission(), a_request())
    near = (now_ms() + 999) * 1000
    assert leases.claim([a_claim(task, look=near)]) == [Late()]
    (view,) = hot.records().read([task.id])
    assert view.status is Status.QUEUED
    far = (now_ms() + 60_000) * 1000 + 7
    assert leases.claim([a_claim(task, look=far)]) != [Late()]


def test_a_claim_without_a_look_is_never_late(hot):
    (answer,) = hot.leases(lease=LONG).claim([a_claim(a_fresh_envelope(), look=0)])
    assert isinstance(answer, Claimed)


def test_a_claim_is_late_before_anything_else_is_asked(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    settlement = a_success(task, claimed(leases, task).token)
    leases.settle([settlement])
    gone = a_fresh_envelope(generation=now_ms() - 10 * 3_600_000)
    assert leases.claim([a_claim(task, look=1), a_claim(gone, look=1)]) == [Late(), Late()]


def test_the_same_take_gets_its_lapsed_lease_again_without_a_loss(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    claimed(leases, task)
    again = claimed(leases, task)
    assert (again.losses, _lost(again)) == (0, [])


def test_a_take_over_is_a_loss_and_names_the_token_that_lapsed(hot):
    leases, task = hot.leases(lease=SHORT), a_fresh_envelope()
    first = claimed(leases, task)
    answer = lapsed(leases, a_claim(task, source=OTHERS, alone=True))
    assert (answer.losses, _lost(answer)) == (1, [first.token])
    assert answer.token > first.token


def test_a_loss_that_was_not_told_is_handed_on(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    first = claimed(leases, task)
    second = claimed(leases, task, source=OTHERS, alone=True)
    third = claimed(leases, task, source=THIRD, alone=True)
    again = claimed(leases, task, source=THIRD, alone=True)
    losses = [(loss.token, loss.losses, loss.started_at_ms) for loss in third.unreported]
    assert losses == [
        (first.token, 1, first.started_at_ms),
        (second.token, 2, second.started_at_ms),
    ]
    assert second.unreported == third.unreported[:1]
    assert again.unreported == third.unreported
    assert all(
        first.started_at_ms <= loss.at_ms <= third.started_at_ms for loss in third.unreported
    )


def test_losses_that_were_told_with_the_end_of_a_turn_are_not_handed_on(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    claimed(leases, task)
    second = claimed(leases, task, source=OTHERS, alone=True)
    settlement = next_turn(task, second.token, due_at_ms=now_ms())
    leases.settle([settlement])
    answer = claimed(leases, settlement.next.owed.task, alone=True)
    assert (answer.losses, answer.unreported) == (1, ())


def test_who_takes_over_a_cancelled_task_is_told(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    assert not claimed(leases, task).cancel_requested
    hot.request_cancel(task)
    answer = claimed(leases, task, source=OTHERS, alone=True)
    assert (answer.cancel_requested, answer.losses) == (True, 1)


def test_a_wish_to_cancel_ends_with_its_generation(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    claimed(leases, task)
    hot.request_cancel(task)
    newer = replace(task, generation=task.generation + 1)
    assert not claimed(leases, newer).cancel_requested
    assert not hot.records().read([task.id])[0].cancel_requested


def test_the_first_loss_runs_in_company_and_the_second_is_suspect(hot):
    leases, task = hot.leases(lease=SHORT), a_fresh_envelope()
    claimed(leases, task, source=OURS)
    second = lapsed(leases, a_claim(task, source=OTHERS))
    assert second.losses == 1
    assert lapsed(leases, a_claim(task, source=THIRD)) == Suspect(2)
    assert leases.extend([a_lease(task, second.token)]) == [Beat.HELD]
    assert lapsed(leases, a_claim(task, source=THIRD, alone=True)).losses == 2


def test_a_turn_after_two_losses_is_suspect_too(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    claimed(leases, task, source=OURS)
    claimed(leases, task, source=OTHERS)
    third = claimed(leases, task, source=THIRD, alone=True)
    settlement = next_turn(task, third.token, due_at_ms=now_ms())
    leases.settle([settlement])
    following = settlement.next.owed.task
    assert leases.claim([a_claim(following, source=THIRD)]) == [Suspect(2)]
    assert claimed(leases, following, source=THIRD, alone=True).losses == 2


def test_a_closed_lease_is_a_loss_for_the_next_take(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    first = claimed(leases, task, source=OURS)
    hot.turns().look([member_of(task)])
    assert _lost(claimed(leases, task, source=OTHERS)) == [first.token]


def test_a_newer_generation_replaces_a_running_one(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    first = claimed(leases, task)
    newer = replace(task, generation=task.generation + 1)
    answer = claimed(leases, newer, source=OTHERS)
    assert (answer.losses, _lost(answer)) == (0, [])
    assert answer.token > first.token
    assert leases.extend([a_lease(task, answer.token)]) == [Beat.LOST]


@pytest.mark.parametrize("key", [None, "k"])
def test_a_newer_generation_replaces_even_a_finished_one(hot, key):
    leases, task = hot.leases(), a_fresh_envelope(idempotency_key=key)
    leases.settle([a_success(task, claimed(leases, task).token)])
    newer = replace(task, generation=task.generation + 1)
    answer = claimed(leases, newer)
    assert leases.extend([a_lease(newer, answer.token)]) == [Beat.HELD]


def test_an_older_generation_is_refused(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    claimed(leases, task)
    older = replace(task, generation=task.generation - 1)
    assert leases.claim([a_claim(older)]) == [TurnOver(())]


def test_an_older_turn_is_refused_with_the_facts_that_ended_it(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    settlement = next_turn(task, claimed(leases, task).token, due_at_ms=now_ms())
    leases.settle([settlement])
    assert leases.claim([a_claim(task)]) == [TurnOver(settlement.facts)]


def test_a_finished_task_is_refused_with_its_last_facts(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    settlement = a_success(task, claimed(leases, task).token)
    leases.settle([settlement])
    assert leases.claim([a_claim(task)]) == [TurnOver(settlement.facts)]


def test_a_later_turn_than_the_record_knows_is_claimed(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    first = claimed(hot.leases(lease=timedelta()), task)
    later = replace(task, turn=3, attempt=2)
    answer = claimed(leases, later, source=OTHERS)
    assert (answer.losses, _lost(answer)) == (0, [])
    assert leases.extend([a_lease(task, first.token), a_lease(later, answer.token)]) == [
        Beat.LOST,
        Beat.HELD,
    ]


@pytest.mark.parametrize("source", [OURS, OTHERS], ids=str)
def test_a_living_lease_of_an_earlier_turn_is_held_too(hot, source):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    claimed(leases, task, source=OURS)
    assert leases.claim([a_claim(replace(task, turn=2), source=source)]) == [HeldLease()]


def test_tokens_never_become_smaller(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    high = now_ms() * 1000 + 10**12  # as a server whose clock runs ahead would have given it
    settlement = next_turn(task, high, due_at_ms=now_ms())
    assert leases.settle([settlement]) == [Settled(settlement.facts)]
    assert claimed(leases, settlement.next.owed.task).token == high + 1


def test_a_lease_of_nobody_known_holds_every_claim_and_lapses_without_a_loss(hot):
    leases = hot.leases(lease=SHORT)
    task = admitted(hot.admission(), a_request())
    mended(hot, task, lease=SHORT)
    answer = lapsed(leases, a_claim(task))
    assert (answer.losses, _lost(answer)) == (0, [])


def test_a_living_lease_of_nobody_known_holds_every_claim(hot):
    leases = hot.leases(lease=LONG)
    task = admitted(hot.admission(), a_request())
    mended(hot, task, lease=LONG)
    assert leases.claim([a_claim(task), a_claim(task, source=OTHERS)]) == [
        HeldLease(),
        HeldLease(),
    ]


def test_each_claim_of_a_call_gets_its_own_answer(hot):
    leases = hot.leases(adoption_age=timedelta(minutes=1))
    young, old = a_fresh_envelope(), a_fresh_envelope(generation=now_ms() - 120_000)
    answers = leases.claim([a_claim(young), a_claim(old), a_claim(young, source=OTHERS)])
    assert [type(answer) for answer in answers] == [Claimed, Forgotten, HeldLease]
