"""A batch of tasks is run to its end despite crashes, hangs and outages."""

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
from tests.builders import a_claim, a_position
from tests.unit.world import Away, DeafExecutor, HangingExecutor, World, WorldCrew, kinds

SECOND = timedelta(seconds=1)
HANGS = object()


@pytest.fixture
def world():
    return World()


def test_a_task_is_performed_and_its_success_is_told(world):
    (task,) = world.admitted()
    assert world.work() == set()
    (fact,) = world.log.facts()
    assert (world.performed, type(fact), bytes(fact.result)) == (
        [task.id],
        TaskSucceeded,
        b'"done"',
    )
    assert world.status(task) is Status.SUCCEEDED


def test_a_task_that_fails_is_told_with_its_reason(world):
    (task,) = world.admitted()
    world.work(lambda _: Discard("no"))
    (fact,) = world.log.facts()
    assert (type(fact), fact.reason, fact.error_message) == (TaskDied, "discarded", "no")
    assert world.status(task) is Status.DEAD


def test_a_batch_that_comes_again_runs_nothing_again_and_tells_its_facts_again(world):
    world.admitted()
    world.work()
    assert world.work() == set()
    first, again = world.log.facts()
    assert len(world.performed) == 1
    assert first == again


def test_a_second_copy_in_the_batch_is_dropped(world):
    world.admitted()
    arrivals = world.arrivals("tasks.worker.echo")
    world.dispatch()
    assert world.work() == set()
    assert len(arrivals) == 1
    assert len(world.performed) == 1


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


def test_without_redis_all_come_again_and_nothing_runs(world):
    world.admitted(None, None)
    assert world.work(leases=Away()) == {a_position(0)}
    assert world.performed == []


def test_in_a_cold_shard_all_come_again_and_nothing_runs(world):
    world.admitted()
    world.hot.restart()
    assert world.work() == {a_position(0)}
    assert world.performed == []


def test_a_task_of_a_living_process_comes_again(world):
    (task,) = world.admitted()
    world.leases.claim([a_claim(task, process="alive")])
    assert world.work() == {a_position(0)}
    assert world.performed == []


def test_a_forgotten_old_task_is_left_to_the_ledger(world, caplog):
    world.admitted()
    world.hot.forget()
    world.hot.open()
    world.wait(timedelta(hours=2))
    with caplog.at_level(logging.WARNING, "taskmill"):
        assert world.work() == set()
    assert world.performed == []
    assert "too old to adopt" in caplog.text


def test_what_no_longer_fits_into_the_time_comes_again(world):
    tasks = [world.admitted(timeout_seconds=20.0)[0] for _ in range(3)]

    def slow(envelope):
        world.wait(timedelta(seconds=25))
        return world.perform(envelope)

    failed = world.work(slow, concurrency=1)
    assert world.performed == [task.id for task in tasks[:2]]
    assert failed == {a_position(2)}
    assert world.status(tasks[2]) is Status.QUEUED


def test_the_first_of_an_invocation_starts_with_what_time_there_is(world):
    world.admitted(timeout_seconds=800.0)
    assert world.work() == set()
    assert len(world.performed) == 1


def test_with_no_time_at_all_even_the_first_comes_again(world):
    world.admitted()
    assert world.work(remaining=lambda: SECOND / 2) == {a_position(0)}
    assert world.performed == []


@pytest.mark.parametrize("seconds", [1e300, 1e12])
def test_no_time_limit_of_a_task_is_too_long_for_the_shop(world, seconds):
    world.admitted(timeout_seconds=seconds)
    assert world.work() == set()
    assert len(world.performed) == 1


def test_an_attempt_past_its_deadline_is_cut_off(world):
    (task,) = world.admitted(timeout_seconds=5.0, max_attempts=1)
    began = world.now
    assert world.work(executor=HangingExecutor(world)) == set()
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
    assert world.work(remember, executor=executor, is_leaving=lambda: world.now > began) == set()
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


def test_what_is_to_end_while_redis_is_away_comes_again_and_nobody_waits_for_ever(world):
    world.admitted(timeout_seconds=60.0)
    began = world.now

    class Deaf:
        claim, extend = world.leases.claim, world.leases.extend

        def settle(self, settlements):
            raise StoreUnavailable("Redis", "away")

    failed = world.work(
        executor=HangingExecutor(world), leases=Deaf(), is_leaving=lambda: world.now > began
    )
    assert failed == {a_position(0)}
    assert world.now - began < 5_000


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
    assert world.work(executor=LateExecutor(world)) == set()
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
    rival = a_claim(task, process="rival", alone=True)
    world.on_wait.append(lambda: answers.extend(world.leases.claim([rival])))
    world.work(executor=HangingExecutor(world))
    assert {type(answer).__name__ for answer in answers} == {"HeldLease"}


def test_a_lost_lease_is_logged(world, caplog):
    (task,) = world.admitted(timeout_seconds=3.0)
    world.on_wait.append(lambda: world.hot.records[task.id].__setattr__("token", 10**18))
    with caplog.at_level(logging.WARNING, "taskmill"):
        world.work(executor=HangingExecutor(world))
    assert "lease lost" in caplog.text


def test_when_time_runs_out_in_mid_batch_only_the_unfinished_comes_again(world):
    tasks = [world.admitted(timeout_seconds=1.0)[0] for _ in range(100)]
    end = world.now + 45_000

    def slow(one):
        world.wait(SECOND)
        return world.perform(one)

    left = {"remaining": lambda: timedelta(milliseconds=end - world.now), "concurrency": 1}
    failed = world.work(slow, **left)
    done = list(world.performed)
    assert 35 <= len(done) < 50
    assert failed == {a_position(number) for number in range(len(done), 100)}
    assert world.work(process="p2") == set()
    assert world.performed == [task.id for task in tasks]


def test_a_stale_settlement_makes_its_record_come_again(world, caplog):
    (task,) = world.admitted()

    def overtaken(envelope):
        world.wait(LEASE + SECOND)
        world.leases.claim([a_claim(task, process="rival", alone=True)])
        return world.perform(envelope)

    with caplog.at_level(logging.WARNING, "taskmill"):
        assert world.work(overtaken) == {a_position(0)}
    assert world.log.facts() == []
    assert world.status(task) is Status.RUNNING
    assert "stale settle" in caplog.text


def test_a_settlement_is_offered_again_until_the_shard_is_open(world):
    (task,) = world.admitted()

    def last_before_the_restart(envelope):
        world.hot.restart()
        return world.perform(envelope)

    waited = []
    world.on_wait.append(lambda: waited.append(1) or (len(waited) > 3 and world.hot.open()))
    assert world.work(last_before_the_restart) == set()
    assert world.status(task) is Status.SUCCEEDED
    assert kinds(world.log.facts())[-1] is TaskSucceeded


def test_a_settlement_that_finds_no_open_shard_in_time_comes_again(world):
    (task,) = world.admitted()

    def last_before_the_restart(envelope):
        world.hot.restart()
        return world.perform(envelope)

    assert world.work(last_before_the_restart) == {a_position(0)}
    world.hot.open()
    assert world.status(task) is Status.RUNNING


def test_a_settlement_that_redis_forgot_about_is_adopted(world):
    (task,) = world.admitted()

    def last_before_the_loss(envelope):
        world.hot.forget()
        world.hot.open()
        return world.perform(envelope)

    assert world.records.read([task.id]) != [Absent()]
    assert world.work(last_before_the_loss) == set()
    assert world.status(task) is Status.SUCCEEDED


def test_without_the_log_the_batch_comes_again_and_the_first_facts_are_told(world):
    (task,) = world.admitted()
    arrivals = world.arrivals("tasks.worker.echo")
    world.log.is_away = True
    with pytest.raises(StoreUnavailable):
        world.work(arrivals=arrivals)
    assert world.log.facts() == []
    world.log.is_away = False
    assert world.work(lambda _: Succeeded("another"), arrivals=arrivals) == set()
    (fact,) = world.log.facts()
    assert (fact.id, bytes(fact.result)) == (task.id, b'"done"')


def test_an_empty_batch_is_no_work(world):
    assert world.work(arrivals=[]) == set()
