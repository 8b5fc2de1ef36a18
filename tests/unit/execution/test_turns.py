"""A task's next turns start at their time, and a cancelled task ends early."""

from datetime import timedelta

import pytest

from taskmill.core.facts import (
    AttemptLost,
    TaskCancelled,
    TaskDeferred,
    TaskDied,
    TaskStarted,
    TaskSucceeded,
)
from taskmill.core.task import Status
from taskmill.execution.outcome import Raised, Retry, Snooze, Succeeded
from tests.unit.world import DeafExecutor, HangingExecutor, World, die_with, kinds

SECOND = timedelta(seconds=1)


@pytest.fixture
def world():
    return World()


def test_a_task_that_fails_waits_and_is_tried_again(world):
    (task,) = world.admitted(max_attempts=2)
    world.work(lambda _: Retry("busy"))
    (deferred,) = world.log.facts()
    assert (deferred.due_at_ms, deferred.next_attempt) == (world.now + 1000, 2)
    (view,) = world.records.read([task.id])
    assert (view.status, view.attempt, view.waiting.due_at_ms) == (
        Status.RETRYING,
        1,
        deferred.due_at_ms,
    )
    assert world.publish_due() == 0
    world.wait(SECOND)
    assert world.publish_due() == 1
    world.work()
    assert world.performed == [task.id]
    assert kinds(world.log.facts())[-1] is TaskSucceeded
    assert world.log.facts()[-1].attempt == 2


def test_a_task_has_no_more_attempts_than_it_may(world):
    (task,) = world.admitted(max_attempts=3)
    starts = []

    def fail(one):
        starts.append((one.attempt, world.now))
        return Raised("ValueError", "no")

    for _ in range(10):
        world.work(fail)
        world.wait(timedelta(minutes=6))
        world.publish_due()
    assert [attempt for attempt, _ in starts] == [1, 2, 3]
    facts = [fact for fact in dict.fromkeys(world.log.facts()) if fact.id == task.id]
    assert kinds(facts) == [TaskDeferred, TaskDeferred, TaskDied]
    assert (facts[-1].reason, facts[-1].attempt) == ("failed", 3)
    world.record()
    assert world.ledger.find(task.id).status is Status.DEAD


def test_a_snooze_spends_no_attempt(world):
    (task,) = world.admitted(max_attempts=1)
    attempts = []

    def sleepy(one):
        attempts.append(one.attempt)
        return Succeeded() if len(attempts) == 5 else Snooze(SECOND)

    for _ in range(6):
        world.work(sleepy)
        world.wait(SECOND)
        world.publish_due()
    assert attempts == [1] * 5
    assert world.status(task) is Status.SUCCEEDED


def test_an_attempt_past_its_deadline_is_followed_by_the_next(world):
    (task,) = world.admitted(timeout_seconds=5.0, max_attempts=2)
    world.work(executor=HangingExecutor(world))
    assert world.log.facts()[-1].reason == "timeout"
    assert world.status(task) is Status.RETRYING
    world.wait(SECOND)
    world.publish_due()
    world.work()
    assert world.status(task) is Status.SUCCEEDED


def test_the_facts_of_a_turn_whose_worker_died_are_published_with_the_next(world):
    world.admitted(max_attempts=2)
    world.log.is_away = True
    world.work(lambda _: Retry("busy"))
    assert world.log.facts() == []
    world.log.is_away = False
    world.wait(SECOND)
    world.publish_due()
    assert kinds(world.log.facts()) == [TaskDeferred]
    assert [task.attempt for task in world.waiting()] == [1, 2]
    world.watch()
    assert [task.attempt for task in world.waiting()] == [2], "the first turn has left"


def test_the_time_of_a_next_attempt_goes_by_the_clock_of_the_hot_store(world):
    (task,) = world.admitted(max_attempts=2)
    hour = 3_600_000
    world.work(lambda _: Retry("busy"), clock=lambda: world.now - hour)
    (fact,) = world.log.facts()
    assert (fact.due_at_ms, fact.at_ms) == (world.now + 1000, world.now)
    assert world.status(task) is Status.RETRYING


def test_a_running_task_is_told_of_its_cancellation_and_ends_so(world):
    (task,) = world.admitted()

    def cancelled_meanwhile(_one):
        world.hot.records[task.id].cancel_requested = True
        return Retry("busy")

    world.work(cancelled_meanwhile)
    assert kinds(world.log.facts()) == [TaskCancelled]
    assert world.status(task) is Status.CANCELLED
    assert world.hot.due == {}


def test_a_cancelled_task_that_succeeds_has_succeeded(world):
    (task,) = world.admitted()

    def cancelled_meanwhile(one):
        world.hot.records[task.id].cancel_requested = True
        return world.perform(one)

    world.work(cancelled_meanwhile)
    assert world.status(task) is Status.SUCCEEDED


def test_a_cancelled_task_is_taken_over_only_to_be_ended(world):
    (task,) = world.admitted()
    die_with(world, task, times=3)
    world.hot.records[task.id].cancel_requested = True
    world.work()
    assert world.performed == []
    assert kinds(world.log.facts()) == [AttemptLost] * 3 + [TaskCancelled]
    assert world.status(task) is Status.CANCELLED


def test_a_handler_learns_at_a_beat_that_it_was_cancelled(world):
    (task,) = world.admitted(timeout_seconds=9.0)
    seen, answer = [], []

    def cancel():
        world.hot.records[task.id].cancel_requested = True
        seen.extend(one.cancelled for one in answer)

    world.on_wait.append(cancel)
    world.work(answer.append, executor=DeafExecutor(world))
    assert (seen[0], seen[-1]) == (False, True)
    assert kinds(world.log.facts()) == [TaskStarted, TaskCancelled]


def test_what_the_beat_says_is_cancelled_is_settled_once(world):
    (task,) = world.admitted(timeout_seconds=9.0)
    settled = []

    class Counting:
        claim, extend = world.leases.claim, world.leases.extend

        def settle(self, settlements):
            settled.extend(settlements)
            return world.leases.settle(settlements)

    world.on_wait.append(lambda: setattr(world.hot.records[task.id], "cancel_requested", True))
    world.work(executor=DeafExecutor(world), leases=Counting())
    assert [one.status for one in settled] == [Status.CANCELLED]


def test_a_handler_learns_at_a_beat_that_another_has_its_task(world):
    (task,) = world.admitted(timeout_seconds=9.0)
    answer = []
    world.on_wait.append(lambda: setattr(world.hot.records[task.id], "token", 10**18))
    world.work(answer.append, executor=DeafExecutor(world))
    assert [one.cancelled for one in answer] == [True]
