"""Heartbeats keep a lease alive while its token is valid."""

from datetime import timedelta

from msgspec.structs import replace

from taskmill.core.task import Status
from taskmill.execution.lease import Beat, HeldLease, Settled
from taskmill.lanes.lane import TurnIsFree, TurnLives, member_of
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

LONG = timedelta(minutes=1)
OURS, OTHERS = a_source(1), a_source(2)


def test_the_holder_keeps_its_lease(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    token = claimed(leases, task).token
    assert leases.extend([a_lease(task, token)]) == [Beat.HELD]


def test_a_beat_makes_a_lapsing_lease_live_on(hot):
    task = a_fresh_envelope()
    token = claimed(hot.leases(lease=timedelta()), task).token
    leases = hot.leases(lease=LONG)
    leases.extend([a_lease(task, token)])
    assert leases.claim([a_claim(task, source=OTHERS)]) == [HeldLease()]


def test_who_was_taken_over_has_lost(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    first = claimed(leases, task)
    second = claimed(leases, task, source=OTHERS, alone=True)
    assert leases.extend([a_lease(task, first.token), a_lease(task, second.token)]) == [
        Beat.LOST,
        Beat.HELD,
    ]


def test_a_turn_without_a_lease_is_nobodys(hot):
    task = admitted(hot.admission(), a_request())
    assert hot.leases().extend([a_lease(task, now_ms() * 1000)]) == [Beat.LOST]


def test_a_restored_lease_is_its_holders_from_its_beat_on(hot):
    task, token = admitted(hot.admission(), a_request()), now_ms() * 1000
    mended(hot, task, lease=LONG)
    leases = hot.leases(lease=LONG)
    beats = leases.extend([a_lease(task, token, source=OURS), a_lease(task, token + 1)])
    assert beats == [Beat.HELD, Beat.LOST]
    assert claimed(leases, task, source=OURS).token == token
    leases = hot.leases(lease=timedelta())
    leases.extend([a_lease(task, token, source=OURS)])
    assert claimed(leases, task, source=OTHERS).losses == 1, "its holder is known"


def test_who_had_no_answer_for_a_lease_takes_no_restored_one(hot):
    task, token = admitted(hot.admission(), a_request()), now_ms() * 1000
    mended(hot, task, lease=LONG)
    doubtful = a_lease(task, token, is_sure=False)
    assert hot.leases().extend([doubtful]) == [Beat.LOST]
    assert hot.leases().extend([a_lease(task, token)]) == [Beat.HELD]


def test_who_had_no_answer_for_a_lease_keeps_its_own(hot):
    task = a_fresh_envelope()
    token = claimed(hot.leases(lease=timedelta()), task).token
    assert hot.leases().extend([a_lease(task, token, is_sure=False)]) == [Beat.HELD]


def test_who_is_told_of_no_record_has_lost(hot):
    assert hot.leases().extend([a_lease(a_fresh_envelope(), 1)]) == [Beat.LOST]


def test_who_settled_has_lost(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    token = claimed(leases, task).token
    leases.settle([a_success(task, token)])
    assert leases.extend([a_lease(task, token)]) == [Beat.LOST]


def test_another_turn_and_another_generation_are_lost(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    token = claimed(leases, task).token
    others = [replace(task, turn=2), replace(task, generation=task.generation - 1)]
    assert leases.extend([a_lease(one, token) for one in others]) == [Beat.LOST, Beat.LOST]


def test_a_settled_turn_is_not_revived_by_its_holder(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    token = claimed(leases, task).token
    leases.settle([next_turn(task, token, due_at_ms=now_ms())])
    assert leases.extend([a_lease(task, token)]) == [Beat.LOST]
    (view,) = hot.records().read([task.id])
    assert view.status is Status.RETRYING


def test_a_larger_token_takes_a_record_that_forgot_it(hot):
    leases, task = hot.leases(lease=LONG), admitted(hot.admission(), a_request())
    token = now_ms() * 1000
    mended(hot, task, lease=LONG)
    assert leases.extend([a_lease(task, token), a_lease(task, token - 1)]) == [
        Beat.HELD,
        Beat.LOST,
    ]
    (view,) = hot.records().read([task.id])
    assert view.status is Status.RUNNING


def test_the_holder_of_a_cancelled_task_keeps_its_lease_and_is_told(hot):
    task = a_fresh_envelope()
    token = claimed(hot.leases(lease=timedelta()), task).token
    hot.request_cancel(task)
    leases = hot.leases(lease=LONG)
    assert leases.extend([a_lease(task, token)]) == [Beat.CANCEL]
    assert leases.claim([a_claim(task, source=OTHERS)]) == [HeldLease()]


def test_who_lost_a_cancelled_task_has_lost(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    token = claimed(leases, task).token
    hot.request_cancel(task)
    assert leases.extend([a_lease(task, token - 1)]) == [Beat.LOST]


def test_a_lease_lapses_when_no_beat_comes(hot):
    leases, task = hot.leases(lease=timedelta(milliseconds=50)), a_fresh_envelope()
    token = claimed(leases, task).token
    other = a_claim(task, source=OTHERS, alone=True)
    eventually(lambda: leases.claim([other]) != [HeldLease()], within=10, reason="it lapses")
    assert leases.extend([a_lease(task, token)]) == [Beat.LOST]


def test_a_lease_that_lapsed_and_that_nobody_closed_lives_on(hot):
    task = a_fresh_envelope()
    token = claimed(hot.leases(lease=timedelta()), task).token
    assert hot.leases(lease=LONG).extend([a_lease(task, token)]) == [Beat.HELD]
    assert isinstance(hot.turns().look([member_of(task)])[0], TurnLives)


def test_a_lease_that_lapsed_and_was_closed_is_lost_but_its_end_counts(hot):
    task = a_fresh_envelope()
    token = claimed(hot.leases(lease=timedelta()), task).token
    assert hot.turns().look([member_of(task)]) == [TurnIsFree()]
    leases = hot.leases(lease=LONG)
    assert leases.extend([a_lease(task, token)]) == [Beat.LOST]
    settlement = a_success(task, token)
    assert leases.settle([settlement]) == [Settled(settlement.facts)]


def test_a_restored_lease_that_was_closed_is_lost(hot):
    task, token = admitted(hot.admission(), a_request()), now_ms() * 1000
    hot.leases(lease=timedelta()).extend([a_lease(task, token)])
    hot.turns().look([member_of(task)])
    assert hot.leases().extend([a_lease(task, token)]) == [Beat.LOST]
