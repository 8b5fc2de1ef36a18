"""Only the holder of the largest token ends a turn, once; the answer can be repeated."""

from datetime import timedelta

import pytest
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core.owed import Cleared, OwedKey, OwedKind
from taskmill.core.pointers import Pointer
from taskmill.core.task import Status
from taskmill.core.view import Ending
from taskmill.execution.lease import Beat, CancelFirst, Settled, Stale, TurnOver
from tests.builders import (
    a_claim,
    a_fresh_envelope,
    a_lease,
    a_request,
    a_source,
    a_success,
    cancelled,
    died,
    now_ms,
    succeeded,
)
from tests.contracts.hot import admitted, claimed, next_turn


def test_a_holder_settles_and_its_facts_stand(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    settlement = a_success(task, claimed(leases, task).token)
    assert leases.settle([settlement]) == [Settled(settlement.facts)]


def test_a_settlement_that_is_repeated_gets_the_first_facts_again(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    first = a_success(task, claimed(leases, task).token)
    leases.settle([first])
    again = a_success(task, first.token, facts=(died(task),), status=Status.DEAD)
    assert leases.settle([again]) == [Settled(first.facts)]
    (view,) = hot.records().read([task.id])
    assert view.status is Status.SUCCEEDED


def test_a_turn_that_was_settled_with_another_to_follow_is_answered_again(hot):
    due, leases, task = hot.due(), hot.leases(), a_fresh_envelope()
    settlement = next_turn(task, claimed(leases, task).token, due_at_ms=now_ms())
    leases.settle([settlement])
    due.clear([name for name, _ in due.take(most=10)])
    assert leases.settle([settlement]) == [Settled(settlement.facts)]
    assert due.take(most=10) == []


def test_a_smaller_token_is_stale(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    first = claimed(leases, task)
    second = claimed(leases, task, source=a_source(2), alone=True)
    assert leases.settle([a_success(task, first.token), a_success(task, second.token)]) == [
        Stale(),
        Settled((succeeded(task, token=second.token),)),
    ]


def test_a_larger_token_stands_since_the_record_may_have_forgotten_it(hot):
    leases, task = hot.leases(), admitted(hot.admission(), a_request())
    settlement = a_success(task, now_ms() * 1000)
    assert leases.settle([settlement]) == [Settled(settlement.facts)]


@pytest.mark.parametrize("difference", [-1, 1])
def test_another_generation_is_stale(hot, difference):
    leases, task = hot.leases(), a_fresh_envelope()
    token = claimed(leases, task).token
    other = replace(task, generation=task.generation + difference)
    assert leases.settle([a_success(other, token)]) == [Stale()]


@pytest.mark.parametrize("turn", [1, 3])
def test_another_turn_is_stale(hot, turn):
    leases, task = hot.leases(), a_fresh_envelope(turn=2)
    token = claimed(leases, task).token
    assert leases.settle([a_success(replace(task, turn=turn), token)]) == [Stale()]


def test_a_cancelled_task_that_succeeds_all_the_same_has_succeeded(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    settlement = a_success(task, claimed(leases, task).token)
    hot.request_cancel(task)
    assert leases.settle([settlement]) == [Settled(settlement.facts)]


def a_death(task, token):
    fact = died(task, token=token)
    ending = Ending(finished_at_ms=fact.at_ms, reason="failed")
    return a_success(task, token, facts=(fact,), status=Status.DEAD, ending=ending, result=None)


@pytest.mark.parametrize(
    "end", [a_death, lambda task, token: next_turn(task, token, due_at_ms=now_ms())]
)
def test_every_other_end_of_a_cancelled_task_is_to_be_its_cancellation(hot, end):
    leases, task = hot.leases(lease=timedelta(minutes=1)), a_fresh_envelope()
    token = claimed(leases, task).token
    hot.request_cancel(task)
    before = hot.records().read([task.id])
    assert leases.settle([end(task, token)]) == [CancelFirst()]
    assert hot.records().read([task.id]) == before
    assert hot.due().take(most=10) == []
    assert leases.extend([a_lease(task, token)]) == [Beat.CANCEL]
    fact = cancelled(task, token=token)
    ending = Ending(finished_at_ms=fact.at_ms)
    answer = a_success(
        task, token, facts=(fact,), status=Status.CANCELLED, ending=ending, result=None
    )
    assert leases.settle([answer]) == [Settled((fact,))]
    (view,) = hot.records().read([task.id])
    assert (view.status, view.ending) == (Status.CANCELLED, ending)


def test_a_stale_end_of_a_cancelled_task_is_stale(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    token = claimed(leases, task).token
    hot.request_cancel(task)
    assert leases.settle([a_death(task, token - 1)]) == [Stale()]


def test_a_turn_that_was_settled_before_the_wish_is_answered_as_it_was(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    settlement = next_turn(task, claimed(leases, task).token, due_at_ms=now_ms())
    leases.settle([settlement])
    hot.request_cancel(task)
    assert leases.settle([settlement]) == [Settled(settlement.facts)]


def test_a_finished_task_is_not_settled_anew(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    token = claimed(leases, task).token
    first = a_success(task, token)
    leases.settle([first])
    assert leases.settle([a_success(task, token + 1)]) == [Stale()]
    assert leases.claim([a_claim(task)]) == [TurnOver(first.facts)]


def test_a_stale_settlement_changes_nothing(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    token = claimed(leases, task).token
    before = hot.records().read([task.id])
    leases.settle([a_success(task, token - 1)])
    assert hot.records().read([task.id]) == before


def test_a_late_answer_of_a_worker_that_lost_the_task_is_ignored(hot):
    leases, task = hot.leases(lease=timedelta()), a_fresh_envelope()
    loser = claimed(leases, task)
    winner = a_success(task, claimed(leases, task, source=a_source(2), alone=True).token)
    late = a_death(task, loser.token)
    assert leases.settle([late]) == [Stale()]
    assert leases.settle([winner]) == [Settled(winner.facts)]
    before = hot.records().read([task.id])
    assert leases.settle([late]) == [Stale()]
    assert hot.records().read([task.id]) == before
    assert before[0].status is Status.SUCCEEDED


def test_a_young_task_without_a_record_is_adopted(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    settlement = a_success(task, 7)
    assert leases.settle([settlement]) == [Settled(settlement.facts)]
    assert leases.claim([a_claim(task)]) == [TurnOver(settlement.facts)]


def test_tasks_with_and_without_a_record_are_settled_in_one_call(hot):
    leases, known, unknown = hot.leases(), a_fresh_envelope(), a_fresh_envelope()
    ends = [
        a_success(unknown, 7),
        a_success(known, claimed(leases, known).token),
        a_success(a_fresh_envelope(), 8),
    ]
    assert leases.settle(ends) == [Settled(end.facts) for end in ends]


def test_an_adopted_key_still_names_its_task(hot):
    task = a_request("k", submission="first", generation=now_ms())
    hot.leases().settle([a_success(task, 7)])
    (verdict,) = hot.admission().admit([a_request("k", submission="second")])
    assert verdict.generation == task.generation


def test_an_old_task_without_a_record_is_stale(hot):
    old = a_fresh_envelope(generation=now_ms() - 60_000)
    leases = hot.leases(adoption_age=timedelta(seconds=30))
    assert leases.settle([a_success(old, 7)]) == [Stale()]


def test_the_next_turn_is_owed_at_its_time_with_the_facts_before_it(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    settlement = next_turn(task, claimed(leases, task).token, due_at_ms=now_ms() - 1)
    leases.settle([settlement])
    name = OwedKey(id=task.id, generation=task.generation, turn=2, kind=OwedKind.TURN)
    assert hot.due().take(most=10) == [(name, settlement.next.owed)]
    assert hot.due().clear([name]) == [Cleared.DONE]


def test_the_next_turn_is_not_owed_before_its_time(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    leases.settle([next_turn(task, claimed(leases, task).token, due_at_ms=now_ms() + 60_000)])
    assert hot.due().take(most=10) == []


def test_a_task_between_two_turns_is_retrying(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    settlement = next_turn(task, claimed(leases, task).token, due_at_ms=now_ms())
    leases.settle([settlement])
    (view,) = hot.records().read([task.id])
    assert (view.status, view.attempt, view.ending) == (Status.RETRYING, 1, None)
    assert view.waiting == settlement.next.waiting


def test_a_turn_that_has_begun_waits_no_more(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    settlement = next_turn(task, claimed(leases, task).token, due_at_ms=now_ms())
    leases.settle([settlement])
    claimed(leases, settlement.next.owed.task)
    (view,) = hot.records().read([task.id])
    assert (view.status, view.attempt, view.waiting) == (Status.RUNNING, 2, None)


def test_a_settled_task_without_a_record_can_be_read(hot):
    task = a_fresh_envelope(turn=3, attempt=2)
    hot.leases().settle([a_success(task, 7)])
    (view,) = hot.records().read([task.id])
    assert (view.status, view.attempt) == (Status.SUCCEEDED, 2)


def test_a_settled_record_shows_how_it_ended(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    fact = died(task, token=claimed(leases, task).token)
    ending = Ending(
        finished_at_ms=fact.at_ms, reason="failed", error_class="ValueError", error_message="no"
    )
    leases.settle(
        [a_success(task, fact.token, facts=(fact,), status=Status.DEAD, ending=ending, result=None)]
    )
    (view,) = hot.records().read([task.id])
    assert (view.status, view.ending, view.result) == (Status.DEAD, ending, None)


def test_a_result_is_kept_to_the_byte(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    result = '{"n": 12345678901234567890123, "x": 1.10, "é": "\\u00e9 ☃"}'.encode()
    leases.settle([a_success(task, claimed(leases, task).token, result=result)])
    (view,) = hot.records().read([task.id])
    assert view.result == Raw(result)


def test_a_null_is_a_result(hot):
    leases, task = hot.leases(), a_fresh_envelope()
    leases.settle([a_success(task, claimed(leases, task).token, result=b"null")])
    (view,) = hot.records().read([task.id])
    assert view.result == Raw(b"null")


def test_a_result_may_stand_elsewhere_as_the_payload_may(hot):
    pointer = Pointer(url="s3://bucket/results/echo/x", size=3_000_000, sha256="0" * 64)
    leases = hot.leases()
    task = a_fresh_envelope(payload=Raw(b"null"), payload_ref=pointer)
    ending = Ending(finished_at_ms=task.created_at_ms, result_ref=pointer)
    token = claimed(leases, task).token
    leases.settle([a_success(task, token, ending=ending, result=b"null")])
    (view,) = hot.records().read([task.id])
    assert (view.spec.payload_ref, view.ending) == (pointer, ending)
