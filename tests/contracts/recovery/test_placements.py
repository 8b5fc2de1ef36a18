"""A record says where its task belongs in a rebuilt lane."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core import codec
from taskmill.core.owed import Cold, OwedKind
from taskmill.core.task import Timing
from taskmill.dispatch.waiting import DelayOrder
from taskmill.execution.lease import Beat
from taskmill.ledger.projection import merged, row_of
from taskmill.recovery.placement import InDueSet, InFlight, InLine
from taskmill.recovery.restoration import hot_view
from tests.builders import (
    a_fresh_envelope,
    a_lease,
    a_request,
    a_success,
    deferred,
    now_ms,
    started,
)
from tests.contracts.hot import admitted, claimed, mended, next_turn

NO_TIME, LONG = timedelta(), timedelta(minutes=1)
HOUR_MS = 3_600_000


def view_of(task, *facts):
    """Return the ledger's view of a task after these facts."""
    row = row_of(task)
    for fact in facts:
        row = merged(row, row_of(fact))
    return hot_view(row, row.spec)


def placed(hot, task, *facts):
    (placement,) = hot.placements().place([view_of(task, *facts)])
    return placement


def owed_turns(hot, task):
    (snapshot,) = hot.control().see([task.id])
    return snapshot.owed.get(OwedKind.TURN)


def retried(hot, task, *, due_at_ms):
    """Let *task* be run and retried; return the fact."""
    token = claimed(hot.leases(), task).token
    hot.leases().settle([next_turn(task, token, due_at_ms=due_at_ms)])
    return deferred(task, token=token, due_at_ms=due_at_ms)


def test_what_nobody_runs_waits_in_its_line(hot):
    assert placed(hot, admitted(hot.admission(), a_request())) == InLine()


def test_what_runs_is_in_flight_until_its_lease_would_end(hot):
    task = a_fresh_envelope()
    claimed(hot.leases(lease=LONG), task)
    placement = placed(hot, task)
    assert isinstance(placement, InFlight)
    assert placement.envelope == view_of(task).envelope
    assert LONG / 2 < placement.look_after <= LONG


def test_what_runs_is_in_flight_by_the_turn_of_its_record(hot):
    task = a_fresh_envelope()
    retried(hot, task, due_at_ms=now_ms())
    claimed(hot.leases(lease=LONG), replace(task, turn=2, attempt=2))
    expected = replace(view_of(task).envelope, turn=2, attempt=2)
    assert placed(hot, task).envelope == expected


def test_a_living_lease_of_nobody_known_is_one(hot):
    task = admitted(hot.admission(), a_request())
    mended(hot, task, lease=LONG)
    assert isinstance(placed(hot, task), InFlight)


def test_a_lapsed_lease_is_closed(hot):
    task = a_fresh_envelope()
    token = claimed(hot.leases(lease=NO_TIME), task).token
    assert placed(hot, task, started(task, token=token)) == InLine()
    assert hot.leases().extend([a_lease(task, token)]) == [Beat.LOST]


def test_a_living_lease_stays_as_it_is(hot):
    task = a_fresh_envelope()
    token = claimed(hot.leases(lease=LONG), task).token
    placed(hot, task)
    assert hot.leases().extend([a_lease(task, token)]) == [Beat.HELD]


def test_what_the_ledger_knows_to_be_owed_is_left_to_the_due_set(hot):
    task = a_fresh_envelope()
    for due_at_ms in (now_ms() - HOUR_MS, now_ms() + HOUR_MS):
        again = replace(task, id=a_request().id)
        fact = retried(hot, again, due_at_ms=due_at_ms)
        assert placed(hot, again, fact) == InDueSet()


def test_what_only_the_record_knows_to_be_owed_waits_in_its_line(hot):
    task = a_fresh_envelope()
    retried(hot, task, due_at_ms=now_ms() + HOUR_MS)
    assert placed(hot, task) == InLine()


def test_what_is_over_by_its_record_alone_waits_in_its_line(hot):
    task, leases = a_fresh_envelope(), hot.leases()
    leases.settle([a_success(task, claimed(leases, task).token)])
    assert placed(hot, task) == InLine()


def test_a_submission_that_is_owed_waits_in_its_line(hot):
    task = admitted(hot.admission(hold=LONG), a_request())
    assert placed(hot, task) == InLine()


def test_what_waits_for_its_time_is_owed_anew_if_nobody_owes_it(hot):
    task = a_fresh_envelope()
    due_at_ms = now_ms() + 60_000
    fact = retried(hot, task, due_at_ms=due_at_ms)
    following = view_of(task, fact)
    hot.due().clear([following.name])
    assert owed_turns(hot, task) is None
    assert placed(hot, task, fact) == InDueSet()
    assert owed_turns(hot, task) == following.owed


def test_what_is_owed_keeps_its_entry(hot):
    task = a_fresh_envelope()
    fact = retried(hot, task, due_at_ms=now_ms() + 60_000)
    before = owed_turns(hot, task)
    placed(hot, task, fact)
    assert owed_turns(hot, task) == before
    assert before.facts


def test_what_has_been_due_and_is_owed_no_more_waits_in_its_line(hot):
    task = a_fresh_envelope()
    fact = retried(hot, task, due_at_ms=now_ms() - 1)
    hot.due().clear([view_of(task, fact).name])
    assert placed(hot, task, fact) == InLine()


def test_what_is_further_than_the_turn_that_waits_starts_nothing_early(hot):
    """Its claim finds that it is over, and publishes what may not have been published."""
    task, leases = a_fresh_envelope(), hot.leases()
    fact = retried(hot, task, due_at_ms=now_ms() + HOUR_MS)
    following = replace(task, turn=2, attempt=2)
    leases.settle([a_success(following, claimed(leases, following).token)])
    hot.due().clear([view_of(task, fact).name])
    assert placed(hot, task, fact) == InLine()
    assert owed_turns(hot, task) is None


def test_a_lease_of_nobody_known_starts_nothing_early(hot):
    """After a repair it lives for a while, and nobody has it."""
    task = a_fresh_envelope()
    fact = retried(hot, task, due_at_ms=now_ms() + HOUR_MS)
    claimed(hot.leases(lease=LONG), replace(task, turn=2, attempt=2))
    assert isinstance(placed(hot, task, fact), InFlight)
    hot.lose_source(task)
    assert placed(hot, task, fact) == InDueSet()


def test_a_scheduled_task_is_left_to_the_due_set(hot):
    due_at_ms = now_ms() + 60_000
    task = admitted(hot.admission(), a_request(timing=Timing(run_at_ms=due_at_ms)))
    hot.delays().delay([DelayOrder(envelope=task, due_at_ms=due_at_ms, raw=codec.encode(task))])
    assert placed(hot, task) == InDueSet()


def test_without_a_record_it_waits_in_its_line(hot):
    assert placed(hot, a_fresh_envelope()) == InLine()


@pytest.mark.parametrize("lose", ["forget", "become_another_server"])
def test_a_shard_that_may_have_lost_data_says_nothing(hot, lose):
    task = a_fresh_envelope()
    getattr(hot, lose)()
    assert placed(hot, task) == Cold()


def test_many_are_placed_at_once(hot):
    tasks = [a_fresh_envelope() for _ in range(3)]
    claimed(hot.leases(lease=LONG), tasks[1])
    kinds = [type(one) for one in hot.placements().place([view_of(task) for task in tasks])]
    assert kinds == [InLine, InFlight, InLine]
