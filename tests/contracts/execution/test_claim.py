"""Only one record of the log at a time gets the right to run a turn."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.execution.lease import (
    Beat,
    Claimed,
    Forgotten,
    HeldLease,
    LeaseRefused,
    Settled,
    Suspect,
)
from tests.builders import (
    a_claim,
    a_fresh_envelope,
    a_lease,
    a_request,
    a_source,
    a_success,
    deferred,
    now_ms,
)
from tests.contracts.hot import admitted, claimed, next_turn
from tests.waiting import eventually

SHORT = timedelta(milliseconds=50)
LONG = timedelta(minutes=1)
OURS, OTHERS = a_source(1), a_source(2)


def lapsed(leases, claim):
    """Wait until *claim* finds no live lease any more; return the answer."""
    answers = []

    def is_free():
        answers.extend(leases.claim([claim]))
        return answers[-1] != HeldLease()

    eventually(is_free, within=10, reason="the lease lapses")
    return answers[-1]


def let_lapse(hot, task, token):
    """Let a live lease expire now."""
    hot.leases(lease=timedelta()).extend([a_lease(task, token)])


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


def test_a_living_lease_is_refused_to_another_record(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    claimed(leases, task, source=OURS)
    assert leases.claim([a_claim(task, source=OTHERS, process="p2")]) == [LeaseRefused(())]


def test_a_second_copy_in_one_parcel_is_another_record(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    claimed(leases, task, source=a_source(1, index=0))
    assert leases.claim([a_claim(task, source=a_source(1, index=1))]) == [LeaseRefused(())]


def test_a_living_lease_is_held_against_its_own_record_in_another_process(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    claimed(leases, task)
    assert leases.claim([a_claim(task, process="p2")]) == [HeldLease()]


def test_the_same_process_gets_its_lease_again_without_a_loss(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    first = claimed(leases, task)
    again = claimed(leases, task)
    assert (again.losses, _lost(again)) == (0, [])
    assert again.token > first.token


def test_the_same_process_gets_its_lapsed_lease_again_without_a_loss(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    claimed(leases, task)
    again = claimed(leases, task)
    assert (again.losses, _lost(again)) == (0, [])


def test_a_take_over_is_a_loss_and_names_the_token_that_lapsed(hot):
    leases, task = hot.leases(lease=SHORT), a_fresh_envelope()
    first = claimed(leases, task)
    answer = lapsed(leases, a_claim(task, process="p2", alone=True))
    assert (answer.losses, _lost(answer)) == (1, [first.token])
    assert answer.token > first.token


def test_a_loss_that_was_not_told_is_handed_on(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    first = claimed(leases, task)
    second = claimed(leases, task, process="p2", alone=True)
    third = claimed(leases, task, process="p3", alone=True)
    again = claimed(leases, task, process="p3", alone=True)
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
    second = claimed(leases, task, process="p2", alone=True)
    settlement = next_turn(task, second.token, due_at_ms=now_ms())
    leases.settle([settlement])
    answer = claimed(leases, settlement.next.owed.task, alone=True)
    assert (answer.losses, answer.unreported) == (1, ())


def test_who_takes_over_a_cancelled_task_is_told(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    assert not claimed(leases, task).cancel_requested
    hot.request_cancel(task)
    answer = claimed(leases, task, process="p2", alone=True)
    assert (answer.cancel_requested, answer.losses) == (True, 1)


def test_a_wish_to_cancel_ends_with_its_generation(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    claimed(leases, task)
    hot.request_cancel(task)
    newer = replace(task, generation=task.generation + 1)
    assert not claimed(leases, newer).cancel_requested
    assert not hot.records().read([task.id])[0].cancel_requested


def test_another_record_that_was_never_dropped_may_take_over(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    first = claimed(leases, task, source=OURS)
    (answer,) = leases.claim([a_claim(task, source=OTHERS, process="p2", alone=True)])
    assert (answer.losses, _lost(answer)) == (1, [first.token])


def test_without_the_word_a_take_over_is_suspect_and_changes_nothing(hot):
    leases, task = hot.leases(lease=SHORT), a_fresh_envelope()
    first = claimed(leases, task)
    assert lapsed(leases, a_claim(task, process="p2")) == Suspect(1)
    assert leases.extend([a_lease(task, first.token)]) == [Beat.HELD]


def test_a_turn_behind_a_loss_is_suspect_too(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    claimed(leases, task)
    second = claimed(leases, task, process="p2", alone=True)
    settlement = next_turn(task, second.token, due_at_ms=now_ms())
    leases.settle([settlement])
    following = settlement.next.owed.task
    assert leases.claim([a_claim(following, process="p3")]) == [Suspect(1)]
    assert claimed(leases, following, process="p3", alone=True).losses == 1


def test_a_dropped_record_is_remembered_after_the_lease_has_lapsed(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    first = claimed(leases, task, source=OURS)
    assert leases.claim([a_claim(task, source=OTHERS, process="p2")]) == [LeaseRefused(())]
    let_lapse(hot, task, first.token)
    assert leases.claim([a_claim(task, source=OURS, process="p3")]) == [Suspect(1)]
    again = a_claim(task, source=OTHERS, process="p2", alone=True)
    assert leases.claim([again]) == [LeaseRefused(())]
    assert _lost(claimed(leases, task, source=OURS, process="p3", alone=True)) == [first.token]


@pytest.mark.parametrize("other", [a_source(2, 11), a_source(22, 1)], ids=str)
def test_a_record_is_not_taken_for_one_with_a_longer_name(hot, other):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    first = claimed(leases, task, source=OURS)
    dropped = a_claim(task, source=a_source(22, 11), process="p2")
    assert leases.claim([dropped]) == [LeaseRefused(())]
    let_lapse(hot, task, first.token)
    assert claimed(leases, task, source=other, process="p3", alone=True).losses == 1


def test_a_dropped_record_of_one_turn_may_hold_the_next(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    first = claimed(leases, task, source=OURS)
    leases.claim([a_claim(task, source=OTHERS)])
    settlement = next_turn(task, first.token, due_at_ms=now_ms())
    leases.settle([settlement])
    assert claimed(leases, settlement.next.owed.task, source=OTHERS).losses == 0


def test_a_dropped_record_of_one_turn_may_take_over_the_next(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    first = claimed(leases, task, source=OURS)
    leases.claim([a_claim(task, source=OTHERS)])
    settlement = next_turn(task, first.token, due_at_ms=now_ms())
    leases.settle([settlement])
    following = settlement.next.owed.task
    claimed(hot.leases(lease=timedelta()), following, source=OURS)
    assert claimed(leases, following, source=OTHERS, process="p2", alone=True).losses == 1


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
    assert leases.claim([a_claim(older)]) == [LeaseRefused(())]


def test_an_older_turn_is_refused_with_the_facts_that_ended_it(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    settlement = next_turn(task, claimed(leases, task).token, due_at_ms=now_ms())
    leases.settle([settlement])
    assert leases.claim([a_claim(task)]) == [LeaseRefused(settlement.facts)]


def test_a_finished_task_is_refused_with_its_last_facts(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    settlement = a_success(task, claimed(leases, task).token)
    leases.settle([settlement])
    assert leases.claim([a_claim(task)]) == [LeaseRefused(settlement.facts)]


def test_a_later_turn_than_the_record_knows_is_claimed(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    first = claimed(leases, task)
    later = replace(task, turn=3, attempt=2)
    answer = claimed(leases, later, source=OTHERS)
    assert (answer.losses, _lost(answer)) == (0, [])
    assert leases.extend([a_lease(task, first.token), a_lease(later, answer.token)]) == [
        Beat.LOST,
        Beat.HELD,
    ]


def test_tokens_never_become_smaller(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    high = now_ms() * 1000 + 10**12  # as a server whose clock runs ahead would have given it
    settlement = next_turn(task, high, due_at_ms=now_ms())
    assert leases.settle([settlement]) == [Settled(settlement.facts)]
    assert claimed(leases, settlement.next.owed.task).token == high + 1


def test_a_lease_of_nobody_known_holds_every_claim_and_lapses_without_a_loss(hot):
    leases = hot.leases(lease=SHORT)
    task = admitted(hot.admission(), a_request())
    token = now_ms() * 1000
    leases.extend([a_lease(task, token)])
    answer = lapsed(leases, a_claim(task))
    assert (answer.losses, _lost(answer)) == (0, [])
    assert answer.token > token


def test_a_living_lease_of_nobody_known_holds_every_claim(hot):
    leases = hot.leases(lease=LONG)
    task = admitted(hot.admission(), a_request())
    leases.extend([a_lease(task, now_ms() * 1000)])
    assert leases.claim([a_claim(task), a_claim(task, source=OTHERS, process="p2")]) == [
        HeldLease(),
        HeldLease(),
    ]


def test_each_claim_of_a_call_gets_its_own_answer(hot):
    leases = hot.leases(adoption_age=timedelta(minutes=1))
    young, old = a_fresh_envelope(), a_fresh_envelope(generation=now_ms() - 120_000)
    answers = leases.claim([a_claim(young), a_claim(old), a_claim(young, source=OTHERS)])
    assert [type(answer) for answer in answers] == [Claimed, Forgotten, LeaseRefused]


def test_a_refusal_within_a_turn_tells_the_facts_of_the_turn_before(hot):
    leases, task = hot.leases(lease=LONG), a_fresh_envelope()
    settlement = next_turn(task, claimed(leases, task).token, due_at_ms=now_ms())
    leases.settle([settlement])
    following = settlement.next.owed.task
    claimed(leases, following, source=OURS)
    assert leases.claim([a_claim(following, source=OTHERS)]) == [
        LeaseRefused((deferred(task, token=settlement.token),))
    ]
