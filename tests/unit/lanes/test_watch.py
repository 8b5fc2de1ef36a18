"""The tick of a lane: what becomes of each task in flight, by what its record says."""

import logging
from datetime import timedelta

import pytest

from taskmill.core import codec
from taskmill.core.facts import TaskDeferred, TaskSucceeded
from taskmill.core.lifetimes import LEASE
from taskmill.core.owed import Cold
from taskmill.execution.lease import Beat
from taskmill.execution.outcome import Retry
from taskmill.lanes.watch import HELD_UP, SPARED, LaneWatch, Rhythm
from taskmill.stores.memory.hot import Holding
from tests.builders import a_claim, a_lease
from tests.unit.world import Away, Instead, World, kinds, taken

SECOND = timedelta(seconds=1)
A_LOOK = LEASE + timedelta(milliseconds=1)


class Killed(BaseException):
    """The process died here."""


@pytest.fixture
def world():
    return World()


def flight(world):
    return world.hot.lanes["echo"].flight


def claimed(world, task, source="a process"):
    """Take and claim a task, as a process that dies right after it."""
    claim = a_claim(task, source=source, look=taken(world, task).look)
    (answer,) = world.leases.claim([claim])
    return answer


def watch_with(world, **stores):
    return LaneWatch(world.stores(**stores)).run()


def test_what_was_taken_and_not_claimed_is_put_back_after_a_lease_and_keeps_its_order(world):
    first, second = world.admitted(None, None)
    world.take(most=1)
    world.wait(LEASE - SECOND)
    world.watch()
    assert len(flight(world)) == 1
    world.wait(2 * SECOND)
    world.watch()
    assert flight(world) == {}
    world.work(concurrency=1)
    assert world.performed == [first.id, second.id]


def test_what_is_over_is_published_and_leaves(world):
    (task,) = world.admitted()
    world.work(bus=Away())
    assert (world.log.facts(), world.waiting()) == ([], [task])
    world.watch()
    assert kinds(world.log.facts()) == [TaskSucceeded]
    assert world.waiting() == []


def test_a_turn_with_a_next_one_is_published_and_leaves(world):
    world.admitted(max_attempts=2)
    world.work(lambda _: Retry("busy"), bus=Away())
    world.watch()
    assert kinds(world.log.facts()) == [TaskDeferred]
    assert world.waiting() == []
    assert [name.turn for name in world.hot.due] == [2]


def test_what_is_over_stays_in_flight_and_keeps_its_record_while_the_log_is_away(world):
    (task,) = world.admitted()
    world.work(bus=Away())
    world.hot.records[task.id].ends_at_ms = world.now + 60_000
    world.wait(A_LOOK)
    world.log.is_away = True
    for _ in range(3):
        world.watch()
        world.wait(timedelta(seconds=25))
    assert world.waiting() == [task]
    world.log.is_away = False
    world.watch()
    assert kinds(world.log.facts()) == [TaskSucceeded]
    assert world.waiting() == []


@pytest.mark.parametrize("source", ["somebody", None])
def test_a_living_lease_is_looked_at_again_when_it_would_end(world, source):
    """One without a source was restored: somebody unknown may run the task."""
    (task,) = world.admitted()
    claimed(world, task)
    world.wait(A_LOOK)
    until_ms = world.now + 4_000
    world.hot.records[task.id].holding = Holding(until_ms=until_ms, limit_ms=None, source=source)
    assert world.watch() == 1
    world.wait(3 * SECOND)
    assert world.watch() == 0
    assert list(flight(world)), "it is in flight"
    world.wait(2 * SECOND)
    assert world.watch() == 1
    assert flight(world) == {}


def test_a_lapsed_lease_is_closed_and_its_task_put_back_in_company(world):
    (task,) = world.admitted()
    token = claimed(world, task).token
    world.wait(A_LOOK)
    world.watch()
    assert world.leases.extend([a_lease(task, token)]) == [Beat.LOST]
    assert len(world.take()) == 1


def test_after_its_second_loss_a_task_is_put_back_alone(world):
    (task,) = world.admitted()
    for number in range(2):
        claimed(world, task, source=f"process {number}")
        world.wait(A_LOOK)
        world.watch()
    assert world.take() == ()
    world.work()
    assert world.performed == [task.id]


def test_without_a_record_a_young_task_is_put_back(world):
    (task,) = world.admitted()
    world.take()
    world.hot.remove(task.id)
    world.wait(A_LOOK)
    world.watch()
    world.work()
    assert world.performed == [task.id]


def test_without_a_record_an_old_task_leaves(world, caplog):
    (task,) = world.admitted()
    world.take()
    world.hot.remove(task.id)
    world.wait(timedelta(hours=1) + SECOND)
    with caplog.at_level(logging.WARNING, "taskmill"):
        world.watch()
    assert world.waiting() == []
    assert [one.id for one in caplog.records] == [task.id]


def test_of_a_cold_shard_nothing_is_known_so_it_is_looked_at_again(world):
    (task,) = world.admitted()
    world.take()
    world.hot.forget_shards()
    world.wait(A_LOOK)
    assert world.ports.turns.look(list(flight(world))) == [Cold()]
    assert (world.watch(), world.watch()) == (1, 0)
    assert world.waiting() == [task]
    world.hot.open()
    world.wait(timedelta(seconds=11))
    world.watch()
    world.work()
    assert world.performed == [task.id]


def test_two_ticks_do_not_look_at_the_same_task(world):
    world.admitted()
    world.take()
    world.wait(A_LOOK)
    assert watch_with(world, turns=Instead(world.ports.turns, look=lambda _: [Cold()])) == 1
    assert world.watch() == 0


def test_what_a_dead_tick_saw_is_looked_at_by_another_ten_seconds_later(world):
    (task,) = world.admitted()
    world.take()
    world.wait(A_LOOK)

    def die(_tasks):
        raise Killed

    with pytest.raises(Killed):
        watch_with(world, lanes=Instead(world.ports.lanes, put_back=die))
    world.wait(timedelta(seconds=9))
    assert world.watch() == 0
    world.wait(2 * SECOND)
    assert world.watch() == 1
    world.work()
    assert world.performed == [task.id]


def test_a_tick_that_comes_late_puts_nothing_back_that_was_taken_since(world):
    (task,) = world.admitted()
    world.take()
    world.wait(A_LOOK)
    late = []
    watch_with(
        world, lanes=Instead(world.ports.lanes, put_back=lambda tasks: late.extend(tasks) or ())
    )
    world.wait(timedelta(seconds=11))
    world.watch()
    claimed(world, task)
    world.ports.lanes.put_back(late)
    assert len(flight(world)) == 1
    assert world.take() == ()


def test_what_waits_while_nobody_takes_is_woken_for(world):
    world.admitted()
    world.wait(3 * SECOND)
    woken = len(world.log.records("tasks.worker.echo"))
    world.watch()
    assert [one.value for one in world.log.records("tasks.worker.echo")[woken:]] == [codec.WAKE_UP]


def test_a_cold_lane_is_not_watched(world):
    world.admitted()
    world.take()
    world.wait(A_LOOK)
    world.hot.lanes.restart()
    assert world.watch() == 0


def test_a_watch_that_was_held_up_leaves_holders_the_time_to_extend_their_leases(world):
    """Redis stood still for longer than a lease: whoever runs a task lives."""
    (task,) = world.admitted()
    holder = claimed(world, task)
    rhythm = Rhythm(lambda: timedelta(milliseconds=world.now))
    LaneWatch(world.ports, rhythm).run()
    world.wait(max(2 * LEASE, HELD_UP + SECOND))
    LaneWatch(world.ports, rhythm).run()
    assert world.leases.extend([a_lease(task, holder.token)]) == [Beat.HELD]
    for _ in range(SPARED // SECOND + 1):
        world.wait(SECOND)
        LaneWatch(world.ports, rhythm).run()
    assert len(flight(world)) == 1


def test_a_watch_that_was_held_up_finds_the_dead_a_little_later(world):
    (task,) = world.admitted()
    claimed(world, task)
    rhythm = Rhythm(lambda: timedelta(milliseconds=world.now))
    LaneWatch(world.ports, rhythm).run()
    world.wait(2 * LEASE)
    LaneWatch(world.ports, rhythm).run()
    assert len(flight(world)) == 1
    for _ in range(SPARED // SECOND + 1):
        world.wait(SECOND)
        LaneWatch(world.ports, rhythm).run()
    assert flight(world) == {}


def test_the_first_watch_of_a_process_spares_nobody_unless_it_knows_that_nobody_watched():
    assert Rhythm(lambda: timedelta(days=1)).spares() == timedelta()
    assert Rhythm(lambda: timedelta(days=1), watched_at=timedelta()).spares() == SPARED


def saw_nothing(world):
    """Return what a scheduler says after its look."""
    watch = LaneWatch(world.ports)
    watch.run()
    return watch.saw_nothing


def test_a_look_that_finds_all_lanes_empty_says_so(world):
    assert saw_nothing(world)
    world.admitted(None)
    assert not saw_nothing(world), "it waits"
    world.take(most=1)
    assert not saw_nothing(world), "it is in flight"
    world.hot.forget()
    assert saw_nothing(world), "cold lanes are not watched"


def test_a_thousand_takers_that_die_leave_nothing_in_flight(world):
    tasks = world.admitted(*[None] * 20)
    for number in range(1_000):
        world.take(most=1 + number % 20)
        world.wait(SECOND)
        world.watch()
    world.wait(A_LOOK)
    world.watch()
    assert flight(world) == {}
    assert world.waiting() == tasks
