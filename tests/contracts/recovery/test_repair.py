"""A record is updated from the ledger only if it is unchanged."""

from datetime import timedelta

import pytest

from taskmill.core.task import Status
from taskmill.core.view import Absent
from taskmill.execution.lease import Claimed, HeldLease, Stale, TurnOver
from taskmill.ledger.projection import merged, row_of
from taskmill.orders.control import Moment
from taskmill.recovery.divergence import RepairAnswer, RepairOrder
from taskmill.recovery.restoration import hot_view
from tests.builders import (
    a_claim,
    a_fresh_envelope,
    a_request,
    a_success,
    deferred,
    died,
    now_ms,
    started,
    succeeded,
)
from tests.contracts.hot import admitted, claimed

AT_ONCE = timedelta(0)


def an_order(seen, task, *facts):
    """Return the repair order for the ledger's row after these facts."""
    row = row_of(task)
    for fact in facts:
        row = merged(row, row_of(fact))
    return RepairOrder(seen=seen, view=hot_view(row, row.spec))


def moment(hot, task):
    (snapshot,) = hot.control().see([task.id])
    return snapshot.moment


def repaired(hot, order, **spans):
    (answer,) = hot.repairs(**spans).repair([order])
    return answer


def view_of(hot, task):
    return hot.records().read([task.id])[0]


def test_a_record_behind_a_closed_ledger_is_closed(hot):
    task = admitted(hot.admission(), a_request("k1"))
    token = claimed(hot.leases(), task).token
    order = an_order(moment(hot, task), task, succeeded(task, token=token))
    assert repaired(hot, order) is RepairAnswer.DONE
    assert view_of(hot, task).status is Status.SUCCEEDED
    assert hot.leases().claim([a_claim(task)]) == [TurnOver(())]
    assert hot.leases().settle([a_success(task, token)]) == [Stale()]
    assert hot.repairs().repair([order]) == [RepairAnswer.MOVED]


@pytest.mark.parametrize(("grace", "forgotten"), [(AT_ONCE, 1), (timedelta(minutes=1), 0)])
def test_a_key_names_its_closed_task_for_a_while(hot, grace, forgotten):
    task = admitted(hot.admission(), a_request("k1"))
    order = an_order(moment(hot, task), task, succeeded(task))
    assert repaired(hot, order, window=AT_ONCE, grace=grace) is RepairAnswer.DONE
    assert hot.due().forget_expired(most=10) == forgotten


def test_of_two_ends_the_ledgers_is_right(hot):
    task = admitted(hot.admission(), a_request())
    token = claimed(hot.leases(), task).token
    hot.leases().settle([a_success(task, token)])
    assert repaired(hot, an_order(moment(hot, task), task, died(task))) is RepairAnswer.DONE
    assert view_of(hot, task).status is Status.DEAD


@pytest.mark.parametrize(
    "seen",
    [None, Moment(1, 1, Status.QUEUED)],
    ids=["that there was none", "another generation"],
)
def test_a_record_that_moved_on_is_left_alone(hot, seen):
    task = admitted(hot.admission(), a_request())
    assert repaired(hot, an_order(seen, task, succeeded(task))) is RepairAnswer.MOVED
    assert view_of(hot, task).status is Status.QUEUED


def test_a_task_that_was_claimed_meanwhile_is_left_alone(hot):
    task = admitted(hot.admission(), a_request())
    seen = moment(hot, task)
    claimed(hot.leases(), task)
    assert repaired(hot, an_order(seen, task, succeeded(task))) is RepairAnswer.MOVED


def test_a_cold_shard_is_not_repaired(hot):
    task = a_fresh_envelope()
    hot.forget()
    assert repaired(hot, an_order(None, task)) is RepairAnswer.COLD


def test_a_missing_record_is_made_and_put_in_line(hot):
    task = a_fresh_envelope()
    order = an_order(None, task, started(task, token=7, losses=1))
    assert repaired(hot, order, lease=AT_ONCE) is RepairAnswer.DONE
    ((name, owed),) = hot.due().take(most=10)
    assert (name.turn, owed.task) == (1, order.view.envelope)
    (claim,) = hot.leases().claim([a_claim(owed.task, alone=True)])
    assert isinstance(claim, Claimed)
    assert (claim.losses, claim.token > 7) == (1, True)


def test_a_missing_retrying_task_is_put_in_line_at_its_time(hot):
    task = a_fresh_envelope()
    later = deferred(task, due_at_ms=now_ms() + 3_600_000)
    assert repaired(hot, an_order(None, task, later)) is RepairAnswer.DONE
    assert view_of(hot, task).waiting.due_at_ms == later.due_at_ms
    assert hot.due().take(most=10) == []
    early = a_fresh_envelope()
    repaired(hot, an_order(None, early, deferred(early, due_at_ms=now_ms() - 1)))
    ((name, _),) = hot.due().take(most=10)
    assert (name.id, name.turn) == (early.id, 2)


def test_a_raised_record_that_is_not_closed_waits_for_one_lease(hot):
    task = admitted(hot.admission(), a_request())
    order = an_order(moment(hot, task), task, deferred(task, due_at_ms=now_ms() - 1))
    assert repaired(hot, order) is RepairAnswer.DONE
    turns = {name.turn: owed.task for name, owed in hot.due().take(most=10)}
    assert hot.leases().claim([a_claim(turns[2])]) == [HeldLease()]


def test_a_repair_lowers_no_token(hot):
    task = admitted(hot.admission(), a_request())
    token = claimed(hot.leases(), task).token
    order = an_order(
        moment(hot, task), task, deferred(task, token=token - 5, due_at_ms=now_ms() - 1)
    )
    repaired(hot, order, lease=AT_ONCE)
    assert claimed(hot.leases(), order.view.envelope).token > token


def test_nothing_is_made_of_a_task_nobody_knows(hot):
    assert view_of(hot, a_fresh_envelope()) == Absent()
