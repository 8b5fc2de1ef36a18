"""Cancels a waiting task at once, asks a running one to stop; the log knows before the response."""

import pytest

from taskmill.core.facts import CancelRequested, TaskAdmitted, TaskCancelled, TaskDeferred
from taskmill.core.owed import OwedKind
from taskmill.core.task import Status, Timing
from taskmill.core.view import Nowhere, Unsure
from taskmill.execution.lease import Claimed
from taskmill.orders.cancel import AlreadyFinished, Asked, CancelAccepted, Canceller
from taskmill.orders.control import Moved
from taskmill.stores.memory.hot import Holding
from taskmill.stores.memory.orders import MemoryControl
from taskmill.submission.submission import view_of
from tests.builders import a_claim, a_death, a_new_id, a_request
from tests.contracts.hot import admitted, next_turn
from tests.unit.world import Away, World


@pytest.fixture
def world():
    return World()


def ask(world, task_id, **others):
    return Canceller(world.stores(**others), world.find).cancel(task_id)


def read(world, task_id):
    (view,) = world.records.read([task_id])
    return view


def begun(world, task):
    (claimed,) = world.leases.claim([a_claim(task)])
    assert isinstance(claimed, Claimed)
    return claimed


def owed(world, kind):
    return [name for name in world.hot.due if name.kind is kind]


def test_a_waiting_task_is_over_at_once_and_the_log_knows(world):
    (task,) = world.admitted()
    answer = ask(world, task.id)
    assert isinstance(answer, CancelAccepted)
    assert answer.task == read(world, task.id)
    assert answer.task.status is Status.CANCELLED
    (fact,) = world.log.facts()
    assert isinstance(fact, TaskCancelled)
    assert (fact.started_at_ms, fact.turn) == (None, 1)
    assert owed(world, OwedKind.FACTS) == []


def test_a_cancelled_task_does_not_run_and_the_ledger_says_so(world):
    (task,) = world.admitted()
    ask(world, task.id)
    world.work()
    world.record()
    assert world.ledger.find(task.id).status is Status.CANCELLED
    assert [type(fact) for fact in world.log.facts()] == [TaskCancelled]


def test_what_the_turn_owed_is_published_before_the_end(world):
    (task,) = world.admitted()
    world.leases.settle([next_turn(task, begun(world, task).token, due_at_ms=world.clock() + 1)])
    ask(world, task.id)
    assert [type(fact) for fact in world.log.facts()] == [TaskDeferred, TaskCancelled]
    assert owed(world, OwedKind.TURN) == []


def test_a_submission_that_the_log_may_not_have_is_told_with_the_end_and_can_be_kept_whole(world):
    task = admitted(world.admission, a_request())  # its gateway died before it published
    ask(world, task.id)
    first, end = world.log.facts()
    assert (type(first), first.envelope, type(end)) == (TaskAdmitted, task, TaskCancelled)
    world.record()
    (row,) = world.ledger.of([task.id])
    assert (row.status, row.spec.submission) == (Status.CANCELLED, task.submission)
    (snapshot,) = world.ports.control.see([task.id])
    assert snapshot.last == (end,)


def test_a_running_task_is_asked_once(world):
    (task,) = world.admitted()
    begun(world, task)
    for _ in range(2):
        answer = ask(world, task.id)
        assert isinstance(answer, Asked)
        assert answer.task.cancel_requested
    assert [type(fact) for fact in world.log.facts()] == [CancelRequested]


def test_who_may_run_after_a_rebuild_is_asked_and_the_next_worker_ends_it(world):
    (task,) = world.admitted()
    record = world.hot.record(task.id)
    until = world.clock() + 6_000
    record.holding = Holding(until_ms=until, limit_ms=None, source=None)
    assert isinstance(ask(world, task.id), Asked)
    assert read(world, task.id).cancel_requested
    assert isinstance(world.log.facts()[-1], CancelRequested)
    record.holding = None
    assert begun(world, task).cancel_requested


def test_what_has_ended_otherwise_is_told(world):
    (task,) = world.admitted()
    world.leases.settle([a_death(task, begun(world, task).token)])
    answer = ask(world, task.id)
    assert isinstance(answer, AlreadyFinished)
    assert answer.task.status is Status.DEAD


def test_the_same_answer_comes_twice_and_after_the_record_is_gone(world):
    (task,) = world.admitted()
    first = ask(world, task.id)
    assert ask(world, task.id) == first
    world.record()
    world.hot.remove(task.id)
    again = ask(world, task.id)
    assert isinstance(again, CancelAccepted)
    assert again.task.status is Status.CANCELLED


def test_a_cancellation_that_the_log_did_not_take_is_not_told_as_done(world):
    (task,) = world.admitted()
    world.log.is_away = True
    assert isinstance(ask(world, task.id), Unsure)
    world.log.is_away = False
    assert isinstance(ask(world, task.id), CancelAccepted)
    assert [type(fact) for fact in world.log.facts()] == [TaskCancelled]
    assert owed(world, OwedKind.FACTS) == []


def test_facts_that_cannot_be_cleared_are_published_once_more(world):
    (task,) = world.admitted()
    assert isinstance(ask(world, task.id, admission=Away()), CancelAccepted)
    assert len(owed(world, OwedKind.FACTS)) == 1


def test_a_task_that_goes_on_meanwhile_is_looked_at_again(world):
    (task,) = world.admitted()

    class Late(MemoryControl):
        def cancel(self, orders):
            if read(world, task.id).status is Status.QUEUED:
                begun(world, task)
            return super().cancel(orders)

    assert isinstance(ask(world, task.id, control=Late(world.hot)), Asked)


def test_a_task_that_always_goes_on_is_not_asked_for_ever(world):
    (task,) = world.admitted()

    class Never(MemoryControl):
        def cancel(self, orders):
            return [Moved() for _ in orders]

    assert isinstance(ask(world, task.id, control=Never(world.hot)), Unsure)


def test_nobody_knows_a_task_that_was_never_submitted(world):
    assert isinstance(ask(world, a_new_id()), Nowhere)


def test_nothing_is_cancelled_on_the_word_of_the_ledger(world):
    (task,) = world.admitted()
    world.record()
    world.hot.remove(task.id)
    assert isinstance(ask(world, task.id), Unsure)


@pytest.mark.parametrize("state", ["away", "cold"])
def test_nothing_is_cancelled_while_redis_cannot_say(world, state):
    (task,) = world.admitted()
    ports = {"control": Away()} if state == "away" else {}
    if state == "cold":
        world.hot.restart()
    assert isinstance(ask(world, task.id, **ports), Unsure)
    assert world.log.facts() == []


def test_what_the_dispatcher_has_not_admitted_is_cancelled_later(world):
    """A record of it would begin another life than the one that the dispatcher will begin."""
    timing = Timing(run_at_ms=world.now + 60_000, said_ms=world.now)
    task = a_request(timing=timing)
    canceller = Canceller(world.ports, lambda _id: view_of(task))
    answer = canceller.cancel(task.id)
    assert isinstance(answer, Unsure)
    assert "not admitted yet" in answer.why
    assert world.hot.records == {}
