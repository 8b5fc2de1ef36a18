"""An order applies only to an unchanged task, and leaves nothing unpublished."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core.lifetimes import LEASE
from taskmill.core.owed import Cleared, Cold, Owed, OwedKey, OwedKind
from taskmill.core.task import Priority, Status, Timing
from taskmill.core.view import Absent, Ending
from taskmill.execution.lease import Beat, Stale, TurnOver
from taskmill.ledger.projection import row_of
from taskmill.orders.control import (
    CancelOrder,
    ChangeOrder,
    Moved,
    Ordered,
    Redriven,
    RedriveOrder,
    TaskSnapshot,
)
from taskmill.recovery.restoration import Restoration, hot_view
from taskmill.submission.admission import AdmittedBefore, Created, Replayed
from tests.builders import (
    a_claim,
    a_death,
    a_fresh_envelope,
    a_lease,
    a_request,
    a_source,
    a_success,
    cancel_requested,
    cancelled,
    deferred,
    died,
    now_ms,
)
from tests.builders import admitted as told_admitted
from tests.contracts.hot import admitted, claimed, next_turn

HOUR_MS = 3_600_000


def seen(hot, task):
    (snapshot,) = hot.control().see([task.id])
    assert isinstance(snapshot, TaskSnapshot), snapshot
    return snapshot


def a_cancellation(snapshot, task, *, facts=None, is_running=False):
    result = (cancel_requested(task),) if is_running else (cancelled(task, started_at_ms=None),)
    return CancelOrder(
        id=task.id,
        seen=snapshot.moment,
        facts=facts or result,
        ending=None if is_running else Ending(finished_at_ms=now_ms()),
    )


def a_redrive(snapshot, task, *, facts=(), token=0):
    envelope = replace(task, submitted=snapshot.submitted if snapshot else task.generation)
    return RedriveOrder(
        seen=snapshot.moment if snapshot else None, envelope=envelope, facts=facts, token=token
    )


def cancel(hot, task, **how):
    (answer,) = hot.control().cancel([a_cancellation(seen(hot, task), task, **how)])
    return answer


def redrive(hot, task, **how):
    (answer,) = hot.control(hold=timedelta()).redrive([a_redrive(seen(hot, task), task, **how)])
    return answer


def a_change(snapshot, task, **changes):
    timing = Timing(run_at_ms=now_ms())
    following = replace(task, turn=snapshot.turn + 1, timing=timing, **changes)
    return ChangeOrder(
        seen=snapshot.moment,
        envelope=following,
        due_at_ms=now_ms(),
        facts=(cancel_requested(task),),
        begins_ms=snapshot.begins_ms,
    )


def restore(hot, task, *, lease=LEASE, **changes):
    """Clear the server and rebuild it from one task's ledger row."""
    hot.forget()
    shards = hot.cold_shards(lease=lease)
    opened = shards.begin("word")
    row = replace(row_of(task), **changes)
    assert shards.restore("word", [hot_view(row, row.spec)]) == [Restoration.RESTORED]
    shards.open("word", opened)


def rebuilt(hot, **how):
    """Return a task that still runs while the server loses its data, and the worker's lease."""
    task = admitted(hot.admission(), a_request())
    held = a_lease(task, claimed(hot.leases(), task).token)
    restore(hot, task, **how)
    return task, held


def dead(hot, task):
    lease = claimed(hot.leases(), task)
    settlement = a_death(task, lease.token)
    hot.leases().settle([settlement])
    return settlement


def retrying(hot, task, *, due_at_ms=None):
    settlement = next_turn(task, claimed(hot.leases(), task).token, due_at_ms=due_at_ms or now_ms())
    hot.leases().settle([settlement])
    return replace(task, turn=2, attempt=2)


def of_turn(task, kind):
    return OwedKey(id=task.id, generation=task.generation, turn=task.turn, kind=kind)


def what_is_owed(hot):
    return dict(hot.due(hold=timedelta()).take(most=10))


def test_a_task_is_seen_with_the_submission_that_it_owes(hot):
    task = admitted(hot.admission(), a_request())
    snapshot = seen(hot, task)
    assert (snapshot.task.status, snapshot.turn, snapshot.submitted) == (
        Status.QUEUED,
        1,
        task.generation,
    )
    assert snapshot.owed == {OwedKind.SUBMISSION: Owed(task=task)}


def test_a_task_is_seen_with_the_turn_that_it_owes(hot):
    task = retrying(hot, admitted(hot.admission(), a_request()))
    snapshot = seen(hot, task)
    assert (snapshot.task.status, snapshot.turn) == (Status.RETRYING, 2)
    assert snapshot.owed == {OwedKind.TURN: Owed(facts=snapshot.last, task=task)}
    assert snapshot.token > 0


def test_nobody_sees_a_task_that_is_not_there(hot):
    task = a_fresh_envelope()
    assert hot.control().see([task.id]) == [Absent()]


def test_a_cold_shard_is_not_asked_and_takes_no_order(hot):
    task = admitted(hot.admission(), a_request())
    snapshot = seen(hot, task)
    hot.become_another_server()
    assert hot.control().see([task.id]) == [Cold()]
    assert hot.control().cancel([a_cancellation(snapshot, task)]) == [Cold()]
    assert hot.control().redrive([a_redrive(snapshot, task)]) == [Cold()]
    hot.open()
    assert seen(hot, task) == snapshot


def test_a_waiting_task_is_cancelled_at_once(hot):
    task = admitted(hot.admission(), a_request())
    order = a_cancellation(seen(hot, task), task)
    assert hot.control().cancel([order]) == [Ordered()]
    snapshot = seen(hot, task)
    assert (snapshot.task.status, snapshot.task.ending) == (Status.CANCELLED, order.ending)
    assert snapshot.last == order.facts


def test_what_waits_can_also_end_as_dead(hot):
    task = admitted(hot.admission(), a_request())
    ending = Ending(finished_at_ms=now_ms(), reason="expired")
    order = CancelOrder(
        id=task.id,
        seen=seen(hot, task).moment,
        facts=(died(task),),
        ending=ending,
        status=Status.DEAD,
    )
    assert hot.control().cancel([order]) == [Ordered()]
    snapshot = seen(hot, task)
    assert (snapshot.task.status, snapshot.task.ending) == (Status.DEAD, ending)
    assert hot.leases().claim([a_claim(task)]) == [TurnOver(order.facts)]


def test_a_cancelled_task_is_refused_to_workers_with_the_facts_that_say_so(hot):
    task = admitted(hot.admission(), a_request())
    order = a_cancellation(seen(hot, task), task)
    hot.control().cancel([order])
    assert hot.leases().claim([a_claim(task)]) == [TurnOver(order.facts)]


def test_a_cancellation_is_owed_beside_the_submission_that_must_still_reach_the_log(hot):
    task = admitted(hot.admission(hold=timedelta()), a_request())
    order = a_cancellation(seen(hot, task), task)
    hot.control(hold=timedelta()).cancel([order])
    assert what_is_owed(hot) == {
        of_turn(task, OwedKind.SUBMISSION): Owed(task=task),
        of_turn(task, OwedKind.FACTS): Owed(facts=order.facts),
    }


def test_a_cancellation_owes_the_body_that_it_tells_and_keeps_it_from_late_claims(hot):
    task = admitted(hot.admission(hold=timedelta(minutes=1)), a_request())
    end = cancelled(task, started_at_ms=None)
    facts = (told_admitted(task), end)
    order = a_cancellation(seen(hot, task), task, facts=facts)
    hot.control(hold=timedelta()).cancel([order])
    assert what_is_owed(hot) == {of_turn(task, OwedKind.FACTS): Owed(facts=facts)}
    assert seen(hot, task).last == (end,)
    assert hot.leases().claim([a_claim(task)]) == [TurnOver((end,))]


def test_a_cancellation_takes_over_the_facts_of_the_turn_that_it_removes(hot):
    task = retrying(hot, admitted(hot.admission(), a_request()), due_at_ms=now_ms() + 60_000)
    snapshot = seen(hot, task)
    facts = (*snapshot.owed_facts(OwedKind.TURN), cancelled(task, started_at_ms=None))
    assert isinstance(facts[0], type(deferred(task)))
    hot.control(hold=timedelta()).cancel([a_cancellation(snapshot, task, facts=facts)])
    owed = what_is_owed(hot)
    assert owed == {of_turn(task, OwedKind.FACTS): Owed(facts=facts)}
    assert seen(hot, task).owed == {OwedKind.FACTS: Owed(facts=facts)}
    assert hot.due().clear([of_turn(task, OwedKind.FACTS)]) == [Cleared.DONE]
    assert what_is_owed(hot) == {}


def test_a_changed_turn_carries_its_change(hot):
    """The log has it before the turn enters its lane, even if the gateway died."""
    task = admitted(hot.admission(), a_request())
    order = a_change(seen(hot, task), task)
    hot.control().change([order])
    owed = seen(hot, task).owed
    assert owed[OwedKind.TURN] == Owed(facts=order.facts, task=order.envelope)
    assert owed[OwedKind.FACTS] == Owed(facts=order.facts)


def test_a_gateway_clears_only_the_facts_that_it_owes(hot):
    """A cancel takes over the facts of a change, and adds its own under the same name."""
    task = admitted(hot.admission(), a_request())
    changed = a_change(seen(hot, task), task)
    (first,) = hot.control().change([changed])
    snapshot = seen(hot, task)
    facts = (*snapshot.owed_facts(OwedKind.FACTS), cancelled(task, started_at_ms=None))
    later = hot.control(hold=timedelta())  # its clock alone would give it an earlier one
    (second,) = later.cancel([a_cancellation(snapshot, task, facts=facts)])
    assert second.hold == first.hold + 1
    names = [snapshot.owed_key(OwedKind.FACTS, hold=one.hold) for one in (first, second)]
    assert hot.admission().clear(names[:1]) == [Cleared.LATE]
    assert seen(hot, task).owed == {OwedKind.FACTS: Owed(facts=facts)}
    assert hot.admission().clear(names[1:]) == [Cleared.DONE]
    assert seen(hot, task).owed == {}


def test_facts_are_cleared_only_while_their_hold_lasts(hot):
    task = admitted(hot.admission(), a_request())
    snapshot = seen(hot, task)
    order = a_cancellation(snapshot, task)
    (answer,) = hot.control(hold=timedelta()).cancel([order])
    name = snapshot.owed_key(OwedKind.FACTS, hold=answer.hold)
    assert hot.admission().clear([name]) == [Cleared.LATE]
    assert what_is_owed(hot)


def test_a_running_task_is_told_and_runs_on(hot):
    task = admitted(hot.admission(), a_request())
    lease = claimed(hot.leases(), task)
    assert cancel(hot, task, is_running=True) == Ordered()
    snapshot = seen(hot, task)
    assert (snapshot.task.status, snapshot.task.cancel_requested) == (Status.RUNNING, True)
    assert snapshot.owed_facts(OwedKind.FACTS) == (cancel_requested(task),)
    (settled,) = hot.leases().settle([a_success(task, lease.token)])
    assert not isinstance(settled, Stale)
    assert seen(hot, task).task.status is Status.SUCCEEDED


def test_under_a_restored_lease_nothing_ends_and_its_holder_is_asked(hot):
    task, _ = rebuilt(hot)
    snapshot = seen(hot, task)
    assert snapshot.may_run
    assert hot.control().cancel([a_cancellation(snapshot, task)]) == [Moved()]
    asked = a_cancellation(snapshot, task, is_running=True)
    assert hot.control().cancel([asked]) == [Ordered()]
    assert (seen(hot, task).task.status, seen(hot, task).task.cancel_requested) == ("queued", True)


def test_the_holder_of_a_restored_lease_hears_that_it_should_end(hot):
    task, held = rebuilt(hot)
    hot.control().cancel([a_cancellation(seen(hot, task), task, is_running=True)])
    assert hot.leases().extend([held]) == [Beat.CANCEL]


def test_a_restored_lease_that_lapsed_is_nobodys(hot):
    task, _ = rebuilt(hot, lease=timedelta())
    snapshot = seen(hot, task)
    assert not snapshot.may_run
    asked = a_cancellation(snapshot, task, is_running=True)
    assert hot.control().cancel([asked]) == [Moved()]
    assert hot.control().cancel([a_cancellation(snapshot, task)]) == [Ordered()]


def test_under_a_restored_lease_nothing_is_changed(hot):
    task, _ = rebuilt(hot)
    assert hot.control().change([a_change(seen(hot, task), task)]) == [Moved()]


def test_what_begins_after_its_restored_lease_waits(hot):
    due = now_ms() + HOUR_MS
    task = a_request(timing=Timing(run_at_ms=due, said_ms=due), generation=now_ms())
    restore(hot, task, status=Status.SCHEDULED, due_at_ms=due)
    snapshot = seen(hot, task)
    assert (snapshot.may_run, snapshot.begins_ms) == (False, due)
    assert hot.control().change([a_change(snapshot, task)]) == [Ordered()]


def test_a_change_is_what_readers_see_and_what_the_next_turn_carries(hot):
    task = admitted(hot.admission(), a_request(fairness_key="a customer"))
    order = a_change(seen(hot, task), task, priority=Priority.CRITICAL, order_ms=now_ms())
    assert hot.control().change([order]) == [Ordered()]
    snapshot = seen(hot, task)
    assert snapshot.owed[OwedKind.TURN].task == order.envelope
    spec = snapshot.task.spec
    assert (spec.priority, spec.fairness_key) == (Priority.CRITICAL, "a customer")


def test_a_second_wish_to_cancel_finds_the_first(hot):
    task = admitted(hot.admission(), a_request())
    claimed(hot.leases(), task)
    cancel(hot, task, is_running=True)
    assert cancel(hot, task, is_running=True) == Moved()


@pytest.mark.parametrize("has_begun", [True, False])
def test_an_order_about_what_is_no_longer_so_changes_nothing(hot, has_begun):
    task = admitted(hot.admission(), a_request())
    before = seen(hot, task)
    lease = claimed(hot.leases(), task)
    if not has_begun:
        hot.leases().settle([a_success(task, lease.token)])
    now = seen(hot, task)
    assert hot.control().cancel([a_cancellation(before, task)]) == [Moved()]
    assert hot.control().redrive([a_redrive(before, task)]) == [Moved()]
    assert seen(hot, task) == now


def test_an_order_about_a_task_that_is_gone_changes_nothing(hot):
    task = admitted(hot.admission(), a_request())
    snapshot = seen(hot, task)
    other = a_fresh_envelope()
    order = CancelOrder(id=other.id, seen=snapshot.moment, facts=(), ending=None)
    assert hot.control().cancel([order]) == [Moved()]
    assert hot.control().see([other.id]) == [Absent()]


def test_a_keyed_task_that_was_cancelled_keeps_its_key_for_the_window(hot):
    request = a_request("k1")
    task = admitted(hot.admission(), request)
    hot.control(grace=timedelta()).cancel([a_cancellation(seen(hot, task), task)])
    again = replace(request, submission="s2")
    assert hot.admission().admit([again]) == [Replayed(task.generation, Owed(task=task))]
    assert hot.due().forget_expired(most=10) == 0


def test_a_keyed_task_that_was_cancelled_late_keeps_its_key_for_a_while(hot):
    request = a_request("k1")
    task = admitted(hot.admission(), request)
    hot.control(window=timedelta()).cancel([a_cancellation(seen(hot, task), task)])
    again = replace(request, submission="s2")
    assert hot.admission().admit([again]) == [Replayed(task.generation, Owed(task=task))]
    assert hot.due().forget_expired(most=10) == 0


def test_a_key_whose_task_was_cancelled_is_free_when_its_time_is_over(hot):
    task = admitted(hot.admission(), a_request("k1"))
    order = a_cancellation(seen(hot, task), task)
    hot.control(window=timedelta(), grace=timedelta()).cancel([order])
    (verdict,) = hot.admission().admit([replace(task, generation=0, submission="s2")])
    assert isinstance(verdict, Created)


def test_the_record_of_a_keyed_task_that_was_cancelled_ends_with_its_window(hot):
    task = admitted(hot.admission(), a_request("k1"))
    order = a_cancellation(seen(hot, task), task)
    hot.control(window=timedelta(), grace=timedelta()).cancel([order])
    assert hot.due().forget_expired(most=10) == 1
    assert hot.control().see([task.id]) == [Absent()]


def test_a_dead_task_gets_its_next_generation(hot):
    task = admitted(hot.admission(), a_request())
    dead(hot, task)
    answer = redrive(hot, task)
    assert isinstance(answer, Redriven)
    assert answer.generation > task.generation
    snapshot = seen(hot, task)
    assert (snapshot.task.status, snapshot.turn, snapshot.task.attempt) == (Status.QUEUED, 1, 1)
    assert (snapshot.task.losses, snapshot.task.ending, snapshot.last) == (0, None, ())
    assert (snapshot.task.generation, snapshot.submitted) == (answer.generation, task.generation)


def test_a_redrive_owes_the_task_and_the_facts_that_ended_it(hot):
    task = admitted(hot.admission(), a_request())
    hot.admission().clear([of_turn(task, OwedKind.SUBMISSION)])
    ended = dead(hot, task)
    answer = redrive(hot, task, facts=ended.facts)
    again = replace(task, generation=answer.generation, submitted=task.generation)
    assert what_is_owed(hot) == {
        of_turn(again, OwedKind.SUBMISSION): Owed(facts=ended.facts, task=again)
    }


def test_a_redriven_task_gets_a_larger_token_and_its_old_turn_the_facts_that_ended_it(hot):
    task = admitted(hot.admission(), a_request())
    ended = dead(hot, task)
    answer = redrive(hot, task, facts=ended.facts)
    again = replace(task, generation=answer.generation, submitted=task.generation)
    assert hot.leases().claim([a_claim(task, source=a_source(7))]) == [TurnOver(ended.facts)]
    assert claimed(hot.leases(), again).token > ended.token


def test_a_redrive_that_is_repeated_finds_the_first(hot):
    task = admitted(hot.admission(), a_request())
    dead(hot, task)
    order = a_redrive(seen(hot, task), task)
    first, second = hot.control().redrive([order, order])
    assert (type(first), second) == (Redriven, Moved())


def test_a_redrive_without_a_record_makes_it_from_the_ledger(hot):
    task = a_fresh_envelope(submission="s9")
    token = (now_ms() + 60_000) * 1000
    (answer,) = hot.control().redrive([a_redrive(None, task, token=token)])
    assert isinstance(answer, Redriven)
    again = replace(task, generation=answer.generation, submitted=task.generation)
    snapshot = seen(hot, again)
    assert (snapshot.task.spec.type, snapshot.token) == (task.type, token)
    assert claimed(hot.leases(), again).token == token + 1
    (verdict,) = hot.admission().admit([again])
    assert isinstance(verdict, AdmittedBefore)
    assert verdict.generation == answer.generation


def test_a_redrive_from_the_ledger_finds_a_record_that_came_between(hot):
    task = admitted(hot.admission(), a_request())
    assert hot.control().redrive([a_redrive(None, task)]) == [Moved()]


def test_the_generation_of_a_redrive_is_above_that_of_a_clock_ahead(hot):
    ahead = now_ms() + 3_600_000
    task = a_fresh_envelope(generation=ahead, created_at_ms=ahead)
    assert hot.control().redrive([a_redrive(None, task)]) == [Redriven(ahead + 1)]


def test_a_redriven_task_keeps_its_key_for_the_window_of_its_submission(hot):
    request = a_request("k2")
    task = admitted(hot.admission(), request)
    dead(hot, task)
    answer = redrive(hot, task)
    again = replace(task, generation=answer.generation, submitted=task.generation)
    same = replace(request, submission="s2")
    assert hot.admission(window=timedelta()).admit([same]) == [
        Replayed(answer.generation, Owed(task=again))
    ]
    lease = claimed(hot.leases(), again)
    hot.leases().settle([a_success(again, lease.token)])
    assert seen(hot, again).submitted == task.generation
