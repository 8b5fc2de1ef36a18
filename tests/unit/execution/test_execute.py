"""Tasks are taken from their lane and run to their end, despite hangs and outages."""

import logging
from datetime import timedelta

import pytest

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import TaskDeferred, TaskDied, TaskStarted, TaskSucceeded
from taskmill.core.lifetimes import LEASE
from taskmill.core.task import Status
from taskmill.core.view import Absent
from taskmill.execution.outcome import Discard, Succeeded
from taskmill.execution.ports import Ended
from tests.builders import a_claim
from tests.unit.world import DeafExecutor, HangingExecutor, World, WorldCrew, kinds

SECOND = timedelta(seconds=1)
HANGS = object()


@pytest.fixture
def world():
    return World()


def test_a_task_is_performed_and_its_success_is_told(world):
    (task,) = world.admitted()
    world.work()
    (fact,) = world.log.facts()
    assert (world.performed, type(fact), bytes(fact.result)) == (
        [task.id],
        TaskSucceeded,
        b'"done"',
    )
    assert world.status(task) is Status.SUCCEEDED
    assert world.waiting() == [], "it has left its lane"


def test_a_task_that_fails_is_told_with_its_reason(world):
    (task,) = world.admitted()
    world.work(lambda _: Discard("no"))
    (fact,) = world.log.facts()
    assert (type(fact), fact.reason, fact.error_message) == (TaskDied, "discarded", "no")
    assert world.status(task) is Status.DEAD


def test_a_task_that_enters_again_after_its_end_only_repeats_its_facts(world):
    world.admitted()
    world.work()
    world.dispatch()
    world.work()
    first, again = world.log.facts()
    assert len(world.performed) == 1
    assert first == again
    assert world.waiting() == []


def test_a_task_that_enters_twice_runs_once(world):
    world.admitted()
    world.dispatch()
    world.work()
    assert len(world.performed) == len(world.log.facts()) == 1


def test_no_more_run_side_by_side_than_allowed(world):
    world.admitted(*[None] * 7)
    sizes = []

    class Counting:
        extend, settle = world.leases.extend, world.leases.settle

        def claim(self, claims):
            sizes.append(len(claims))
            return world.leases.claim(claims)

    world.work(leases=Counting(), concurrency=3)
    assert max(sizes) <= 3
    assert len(world.performed) == 7


def test_what_waits_starts_in_its_order(world):
    tasks = world.admitted(*[None] * 25)
    world.work(concurrency=3)
    assert world.performed == [task.id for task in tasks]


def in_seconds(world, seconds):
    """Return a handler that takes this long."""

    def slow(task):
        world.wait(timedelta(seconds=seconds))
        return world.perform(task)

    return slow


@pytest.mark.parametrize(("chance", "done"), [(0.0, 2), (0.5, 3), (1.0, 4)])
def test_an_invocation_stops_while_its_longest_task_could_still_end(world, chance, done):
    """At a random moment between half and all of 39 s: a minute less a margin and 20 s."""
    tasks = world.admitted(*[None] * 9)
    world.work(in_seconds(world, 10), concurrency=1, longest=20 * SECOND, chance=lambda: chance)
    assert world.performed == [task.id for task in tasks[:done]]
    assert world.waiting() == tasks[done:]
    assert world.hot.lanes["echo"].flight == {}


def test_a_task_that_may_take_almost_the_whole_invocation_gets_its_time(world):
    """It takes for 39 s: 840 s less a margin and 800 s."""
    tasks = world.admitted(*[None] * 9)
    left = {"remaining": lambda: timedelta(seconds=840), "longest": 800 * SECOND}
    world.work(in_seconds(world, 10), concurrency=1, chance=lambda: 1.0, **left)
    assert world.performed == [task.id for task in tasks[:4]]


@pytest.mark.parametrize(("chance", "done"), [(0.0, 5), (1.0, 8)])
def test_after_about_a_minute_it_goes_when_nothing_runs_and_wakes_another(world, chance, done):
    tasks = world.admitted(*[None] * 12)
    woken = len(world.log.records("tasks.worker.echo"))
    left = {"remaining": lambda: timedelta(minutes=14), "longest": 20 * SECOND}
    world.work(in_seconds(world, 10), concurrency=1, chance=lambda: chance, **left)
    assert world.performed == [task.id for task in tasks[:done]]
    assert len(world.log.records("tasks.worker.echo")) == woken + 1


def test_the_first_of_an_invocation_starts_with_what_time_there_is(world):
    world.admitted(timeout_seconds=800.0)
    world.work()
    assert len(world.performed) == 1


def test_with_no_time_at_all_nothing_is_taken(world):
    world.admitted()
    world.work(remaining=lambda: SECOND / 2)
    assert world.performed == []
    assert world.hot.lanes["echo"].flight == {}


@pytest.mark.parametrize("seconds", [1e300, 1e12])
def test_no_time_limit_of_a_task_is_too_long_for_the_shop(world, seconds):
    world.admitted(timeout_seconds=seconds)
    world.work()
    assert len(world.performed) == 1


def test_an_attempt_past_its_deadline_is_cut_off(world):
    (task,) = world.admitted(timeout_seconds=5.0, max_attempts=1)
    began = world.now
    world.work(executor=HangingExecutor(world))
    fact = world.log.facts()[-1]
    assert (fact.reason, fact.error_message) == (
        "timeout",
        ("the attempt was stopped at its time limit of 5 s"),
    )
    assert began + 5000 <= fact.at_ms <= began + 5500
    assert world.status(task) is Status.DEAD


def test_what_still_runs_when_its_process_must_end_is_given_back(world):
    (task,) = world.admitted(timeout_seconds=60.0)
    began = world.now
    reply = []

    def remember(one):
        reply.append(one)

    executor = DeafExecutor(world)
    world.work(remember, executor=executor, is_leaving=lambda: world.now > began)
    *_, fact = world.log.facts()
    assert (type(fact), fact.reason, fact.attempt, fact.next_attempt) == (
        TaskDeferred,
        "stopped",
        1,
        1,
    )
    assert began + 1000 <= fact.at_ms <= began + 2000
    assert [one.cancelled for one in reply] == [True]
    assert fact.due_at_ms == fact.at_ms
    assert world.status(task) is Status.RETRYING


def test_three_orderly_stops_of_a_long_task_are_no_losses(world):
    (task,) = world.admitted(timeout_seconds=60.0)
    began = world.now
    for _ in range(3):
        world.work(executor=HangingExecutor(world), is_leaving=lambda at=world.now: world.now > at)
        world.publish_due()
    assert world.now - began < 10_000
    world.work()
    (view,) = world.records.read([task.id])
    assert (view.status, view.losses, view.attempt) == (Status.SUCCEEDED, 0, 1)
    assert world.performed == [task.id]


def test_what_must_end_while_redis_is_away_is_left_to_the_tick(world):
    (task,) = world.admitted(timeout_seconds=60.0)
    began = world.now

    class Deaf:
        claim, extend = world.leases.claim, world.leases.extend

        def settle(self, settlements):
            raise StoreUnavailable("Redis", "away")

    world.work(executor=HangingExecutor(world), leases=Deaf(), is_leaving=lambda: world.now > began)
    assert world.now - began < 5_000
    assert task in world.waiting()


class LateExecutor(WorldCrew):
    """Reports an end only after the attempt was stopped; other work continues."""

    def __init__(self, world):
        super().__init__(world)
        self._late = []

    def abandon(self, ticket):
        self._late = [Ended(ticket, Succeeded("too late"))]

    def ended(self, *, within):
        if self._late:
            late, self._late = self._late, []
            return late
        self._ends.clear()
        return super().ended(within=within)


def test_an_answer_after_the_cut_is_void(world):
    short, _long = (
        world.admitted(timeout_seconds=5.0, max_attempts=1),
        world.admitted(timeout_seconds=9.0, max_attempts=1),
    )
    world.work(executor=LateExecutor(world))
    assert world.status(short[0]) is Status.DEAD
    assert [fact.reason for fact in world.log.facts() if isinstance(fact, TaskDied)] == [
        "timeout",
        "timeout",
    ]


def test_at_its_first_beat_an_attempt_is_told_to_have_started(world):
    world.admitted(timeout_seconds=9.0, max_attempts=1)
    world.work(executor=HangingExecutor(world))
    assert kinds(world.log.facts()) == [TaskStarted, TaskDied]


def test_ends_are_told_by_the_parcel(world):
    world.admitted(*[None] * 250)
    world.work()
    assert len(world.log.facts()) == 250
    assert len(world.log.records(topics.EVENTS)) == 3


class LastHangs(WorldCrew):
    """Performs all but the last of two."""

    def start(self, call):
        return super().start(call if not self._world.performed else lambda: HANGS)

    def ended(self, *, within):
        ends = [end for end in super().ended(within=within) if end.end is not HANGS]
        if not ends:
            self._world.wait(within)
        return ends


def test_an_end_is_told_while_others_still_run(world):
    world.admitted(None, None, timeout_seconds=30.0, max_attempts=1)
    began, told_after = world.now, []

    def look():
        world.log.flush()
        if not told_after and world.log.facts():
            told_after.append(world.now - began)

    world.on_wait.append(look)
    world.work(executor=LastHangs(world))
    assert kinds(world.log.facts())[0] is TaskSucceeded
    assert told_after[0] <= 1000


def test_a_short_attempt_is_told_once(world):
    world.admitted()
    world.work()
    assert kinds(world.log.facts()) == [TaskSucceeded]


def test_beats_keep_a_long_attempt_from_being_taken_over(world):
    (task,) = world.admitted(timeout_seconds=30.0)
    answers = []
    rival = a_claim(task, source="rival", alone=True)
    world.on_wait.append(lambda: answers.extend(world.leases.claim([rival])))
    world.work(executor=HangingExecutor(world))
    assert {type(answer).__name__ for answer in answers} == {"HeldLease"}


def test_a_lost_lease_is_logged(world, caplog):
    (task,) = world.admitted(timeout_seconds=3.0)
    world.on_wait.append(lambda: world.hot.records[task.id].__setattr__("token", 10**18))
    with caplog.at_level(logging.WARNING, "taskmill"):
        world.work(executor=HangingExecutor(world))
    assert "lease lost" in caplog.text


def test_after_a_stale_settlement_nothing_is_said(world, caplog):
    (task,) = world.admitted()

    def overtaken(envelope):
        world.wait(LEASE + SECOND)
        world.leases.claim([a_claim(task, source="rival", alone=True)])
        return world.perform(envelope)

    with caplog.at_level(logging.WARNING, "taskmill"):
        world.work(overtaken)
    assert task in world.waiting()
    assert world.log.facts() == []
    assert world.status(task) is Status.RUNNING
    assert "stale settle" in caplog.text


def open_all(world):
    world.hot.open()
    world.hot.lanes.open()


def test_a_settlement_is_offered_again_until_the_shard_is_open(world):
    (task,) = world.admitted()

    def last_before_the_restart(envelope):
        world.hot.restart()
        return world.perform(envelope)

    waited = []
    world.on_wait.append(lambda: waited.append(1) or (len(waited) > 3 and open_all(world)))
    world.work(last_before_the_restart)
    assert world.status(task) is Status.SUCCEEDED
    assert kinds(world.log.facts())[-1] is TaskSucceeded


def test_a_settlement_that_finds_no_open_shard_in_time_is_left_to_the_tick(world):
    (task,) = world.admitted()

    def last_before_the_restart(envelope):
        world.hot.restart()
        return world.perform(envelope)

    world.work(last_before_the_restart)
    open_all(world)
    assert world.status(task) is Status.RUNNING
    assert task in world.waiting()
    world.watch()
    world.work()
    assert world.performed == [task.id] * 2
    assert world.waiting() == []


def test_a_settlement_that_redis_forgot_about_is_adopted(world):
    (task,) = world.admitted()

    def last_before_the_loss(envelope):
        world.hot.forget_shards()
        world.hot.open()
        return world.perform(envelope)

    assert world.records.read([task.id]) != [Absent()]
    world.work(last_before_the_loss)
    assert world.status(task) is Status.SUCCEEDED


def test_while_the_log_is_away_nothing_more_is_taken(world):
    tasks = world.admitted(*[None] * 30)
    world.log.is_away = True
    began = world.now
    world.on_wait.append(lambda: setattr(world.log, "is_away", world.now - began < 20_000))
    world.work(in_seconds(world, 1), concurrency=2)
    assert world.performed == [task.id for task in tasks[:6]], "then it was known to be away"
    ended = [fact.id for fact in world.log.facts() if isinstance(fact, TaskSucceeded)]
    assert ended == world.performed


def test_without_the_log_until_the_end_the_tick_publishes_the_facts(world):
    (task,) = world.admitted()
    world.log.is_away = True
    world.work()
    assert world.log.facts() == []
    world.log.is_away = False
    world.watch()
    world.work(lambda _: Succeeded("another"))
    (fact,) = world.log.facts()
    assert (fact.id, bytes(fact.result)) == (task.id, b'"done"')
    assert world.waiting() == []


def test_where_nothing_waits_an_invocation_ends_at_once(world):
    began = world.now
    world.work()
    assert world.now == began
