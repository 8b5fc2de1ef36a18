"""What a worker does with each answer of the lane and of a record."""

import logging
from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core.counting import Count
from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import TaskSucceeded
from taskmill.execution.lease import Beat
from tests.builders import a_claim
from tests.unit.world import Away, HangingExecutor, Instead, World, kinds

SECOND = timedelta(seconds=1)


@pytest.fixture
def world():
    return World()


def losing(port, verb, *, times=1):
    """Return *port*, which loses its first answers to *verb*."""
    left = [None] * times

    def call(*asked):
        answer = getattr(port, verb)(*asked)
        if left:
            left.pop()
            raise StoreUnavailable("Redis", "the answer was lost")
        return answer

    return Instead(port, **{verb: call})


def flight(world):
    return world.hot.lanes["echo"].flight


def losses(world, task):
    (view,) = world.records.read([task.id])
    return view.losses


def test_a_lost_answer_of_claim_is_asked_for_again_and_is_no_loss(world):
    (task,) = world.admitted()
    world.work(leases=losing(world.leases, "claim"))
    assert world.performed == [task.id]
    assert losses(world, task) == 0
    assert world.waiting() == []


def test_what_cannot_be_claimed_until_its_look_comes_back_by_the_tick(world, caplog):
    (task,) = world.admitted()
    with caplog.at_level(logging.WARNING, "taskmill"):
        world.work(leases=Instead(world.leases, claim=Away().claim))
    assert (world.performed, len(flight(world))) == ([], 1)
    assert len(caplog.records) < 50, "it pauses between two claims"
    world.wait(4 * SECOND)
    world.watch()
    world.work()
    assert world.performed == [task.id]
    assert losses(world, task) == 0


def test_a_lost_answer_of_settle_is_asked_for_again_and_leaves(world):
    (task,) = world.admitted()
    world.work(leases=losing(world.leases, "settle"))
    assert world.performed == [task.id]
    assert kinds(world.log.facts()) == [TaskSucceeded]
    assert world.waiting() == []


def test_a_lost_answer_of_take_costs_its_tasks_a_look(world):
    (task,) = world.admitted()
    world.work(lanes=losing(world.ports.lanes, "take"))
    assert world.performed == []
    assert len(flight(world)) == 1
    world.wait(7 * SECOND)
    world.watch()
    world.work()
    assert world.performed == [task.id]
    assert losses(world, task) == 0


def test_a_cold_lane_gives_nothing(world):
    (task,) = world.admitted()
    world.hot.lanes.restart()
    world.work()
    assert world.performed == []
    world.hot.lanes.open()
    world.work()
    assert world.performed == [task.id]


def test_in_a_cold_shard_nothing_runs_and_nothing_is_said(world):
    (task,) = world.admitted()
    world.hot.forget_shards()
    world.work()
    assert world.performed == []
    assert world.waiting() == [task]
    world.hot.open()
    world.wait(7 * SECOND)
    world.watch()
    world.work()
    assert world.performed == [task.id]


def test_what_another_holds_stays_in_flight(world):
    (task,) = world.admitted()
    world.leases.claim([a_claim(task, source="alive")])
    world.work()
    assert world.performed == []
    assert len(flight(world)) == 1


def test_a_task_that_is_too_old_for_a_new_record_leaves(world, caplog):
    world.admitted()
    world.hot.forget_shards()
    world.hot.open()
    world.wait(timedelta(hours=2))
    with caplog.at_level(logging.WARNING, "taskmill"):
        world.work()
    assert "too old to adopt" in caplog.text
    assert (world.performed, world.waiting()) == ([], [])


def test_who_was_paused_before_its_claim_comes_too_late(world):
    (task,) = world.admitted()

    def take(asked):
        answer = world.ports.lanes.take(asked)
        world.pass_time(seconds=7 if answer.tasks else 0)
        return answer

    world.work(lanes=Instead(world.ports.lanes, take=take))
    assert (world.performed, len(flight(world))) == ([], 1)
    world.watch()
    world.work()
    assert world.performed == [task.id]


def test_where_clocks_of_servers_differ_a_task_is_claimed_without_a_look_and_counted(world):
    (task,) = world.admitted()

    def take(asked):
        answer = world.ports.lanes.take(asked)
        tasks = [replace(one, look=one.look - 6_000_000) for one in answer.tasks]
        return replace(answer, tasks=tuple(tasks))

    world.work(lanes=Instead(world.ports.lanes, take=take))
    assert world.performed == [task.id]
    assert world.counters.total(Count.CLOCKS_APART) == 1


def test_what_is_said_of_another_epoch_changes_nothing(world):
    (task,) = world.admitted()

    def perform(one):
        world.hot.lanes["echo"].renew_epoch()
        return world.perform(one)

    world.work(perform)
    assert world.waiting() == [task], "its record may have been restored"
    world.wait(7 * SECOND)
    world.watch()
    assert world.waiting() == []
    first, again = world.log.facts()
    assert first == again


def test_a_process_that_stood_still_for_a_lease_is_not_sure_of_it_until_it_is_extended(
    world, caplog
):
    """Its task may run elsewhere, under a lease that a rebuild restored."""
    world.admitted(timeout_seconds=30.0, max_attempts=1)
    beats = []
    world.on_wait.append(lambda: len(beats) == 2 and world.pass_time(seconds=7))

    def extend(leases):
        beats.append(leases[0].is_sure)
        return world.leases.extend(leases)

    with caplog.at_level(logging.WARNING, "taskmill"):
        world.work(executor=HangingExecutor(world), leases=Instead(world.leases, extend=extend))
    assert "no beat was answered for a lease" in caplog.text
    assert beats[:4] == [True, True, False, True]


def test_a_lost_shard_does_not_make_a_process_sure_again(world):
    """It may have rested before the shard was lost, and another process taken its task over."""
    world.admitted(timeout_seconds=30.0, max_attempts=1)
    answers = ["away"] * 4 + [Beat.COLD, Beat.COLD, Beat.HELD, Beat.HELD]
    beats = []

    def extend(leases):
        beats.append(leases[0].is_sure)
        answer = answers[min(len(beats), len(answers)) - 1]
        if answer == "away":
            raise StoreUnavailable("Redis", "it stands still")
        return [answer for _ in leases]

    world.work(executor=HangingExecutor(world), leases=Instead(world.leases, extend=extend))
    assert beats[:8] == [True, True, False, False, False, False, False, True]


def test_a_rebuild_that_answers_leaves_a_process_sure(world):
    """Its holder takes the lease that the rebuild restores."""
    world.admitted(timeout_seconds=30.0, max_attempts=1)
    beats = []

    def extend(leases):
        beats.append(leases[0].is_sure)
        return [Beat.COLD for _ in leases]

    world.work(executor=HangingExecutor(world), leases=Instead(world.leases, extend=extend))
    assert len(beats) > 4
    assert all(beats)


def test_what_was_taken_after_the_stand_still_goes_on(world):
    task, _ = world.admitted(None, None)
    beats = []

    def take(asked):
        world.pass_time(seconds=0 if world.hot.records[task.id].holding else 7)
        return world.ports.lanes.take(asked)

    def extend(leases):
        beats.append(len(leases))
        return world.leases.extend(leases)

    world.work(
        executor=HangingExecutor(world),
        lanes=Instead(world.ports.lanes, take=take),
        leases=Instead(world.leases, extend=extend),
        is_leaving=lambda: len(beats) > 2,
    )
    assert beats[0] == 2


def test_a_redis_that_stands_still_is_no_stand_still_of_the_process(world, caplog):
    """Each call gives up within a lease, though all of them together take longer."""
    world.admitted(None, None)
    beats = []

    def held_up(call):
        def attempt(*arguments):
            if 1 <= len(beats) <= 4:
                world.pass_time(seconds=4)
                raise StoreUnavailable("Redis", "it stands still")
            return call(*arguments)

        return attempt

    def extend(leases):
        beats.append(len(leases))
        return held_up(world.leases.extend)(leases)

    with caplog.at_level(logging.WARNING, "taskmill"):
        world.work(
            executor=HangingExecutor(world),
            lanes=Instead(world.ports.lanes, take=held_up(world.ports.lanes.take)),
            leases=Instead(world.leases, extend=extend),
            is_leaving=lambda: len(beats) > 5,
        )
    assert "the process stood still" not in caplog.text
    assert "lease lost" not in caplog.text
    assert set(beats) == {2}


def test_a_worker_watches_its_lane_when_no_scheduler_does(world):
    world.admitted()
    watched = []
    world.work(watch=lambda _: watched.append(world.now))
    assert watched
    world.watch()
    watched.clear()
    world.work(watch=lambda _: watched.append(world.now))
    assert watched == []
    world.wait(3 * SECOND)
    world.work(watch=lambda _: watched.append(world.now))
    assert watched


def test_a_watch_that_fails_ends_no_run(world):
    (task,) = world.admitted()
    world.work(watch=Away().watch)
    assert world.performed == [task.id]
