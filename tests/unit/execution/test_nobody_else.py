"""While no scheduler is there, the last process of a type stays for what is in flight."""

from datetime import timedelta

import pytest

from taskmill.core import codec
from taskmill.core.lifetimes import LEASE
from taskmill.core.task import Status
from taskmill.core.time import in_ms
from taskmill.execution.outcome import Succeeded
from taskmill.lanes.lane import Take
from taskmill.lanes.watch import LaneWatch, Rhythm
from tests.builders import a_claim
from tests.unit.world import Away, Instead, World

SECOND = timedelta(seconds=1)
WAKE_UPS = "tasks.worker.echo"
TAKES_FOR = 45 * SECOND
"""An invocation of 91 s with tasks of up to 45 s takes for so long: all but a margin and those."""


@pytest.fixture
def world():
    return World()


def flight(world):
    return world.hot.lanes["echo"].flight


def killed_with(world, *tasks, partition=0):
    """Let a process take and claim all that waits, and die."""
    taken = world.take(partition=partition)
    claims = [a_claim(task, look=one.look) for task, one in zip(tasks, taken, strict=True)]
    world.leases.claim(claims)


def work_as_a_stand_in(world, perform=None, **changes):
    """Let an invocation run whose process watches its lane itself; return how long it lasted."""
    rhythm = Rhythm(lambda: timedelta(milliseconds=world.now), watched_at=timedelta())
    began, end = world.now, world.now + 91_000
    changes = {
        "watch": lambda task_type: LaneWatch(world.ports, rhythm, only=task_type).run(),
        "remaining": lambda: timedelta(milliseconds=end - world.now),
        "longest": 45 * SECOND,
    } | changes
    world.work(perform, **changes)
    return timedelta(milliseconds=world.now - began)


def wake_ups(world):
    return [(one.position.partition, one.value) for one in world.log.records(WAKE_UPS)]


def test_the_tasks_of_a_killed_process_run_again_with_no_scheduler_and_no_new_task(world):
    tasks = world.admitted(None, None, None)
    killed_with(world, *tasks)
    lasted = work_as_a_stand_in(world)
    assert sorted(world.performed) == sorted(task.id for task in tasks)
    assert (world.waiting(), flight(world)) == ([], {})
    assert lasted <= LEASE + 6 * SECOND
    assert {world.status(task) for task in tasks} == {Status.SUCCEEDED}


def test_a_process_that_died_between_take_and_claim_is_stood_in_for_as_well(world):
    (task,) = world.admitted()
    world.take()
    work_as_a_stand_in(world)
    assert world.performed == [task.id]


def test_what_its_last_take_brings_and_another_holds_keeps_it(world):
    held = []

    def take(asked):
        if asked.waits is None and not held:
            held.extend(world.admitted())
            world.leases.claim([a_claim(held[0], source="a dead process")])
        return world.ports.lanes.take(asked)

    work_as_a_stand_in(world, lanes=Instead(world.ports.lanes, take=take))
    assert world.performed == [held[0].id]


def test_it_asks_now_and_then_only(world):
    (task,) = world.admitted()
    killed_with(world, task)
    takes = []

    def take(asked):
        takes.append(world.now)
        return world.ports.lanes.take(asked)

    lasted = work_as_a_stand_in(world, lanes=Instead(world.ports.lanes, take=take))
    assert len(takes) <= lasted / timedelta(milliseconds=200) + 5


def test_while_a_scheduler_watches_nobody_stays(world):
    (task,) = world.admitted()
    killed_with(world, task)
    world.watch()
    before = wake_ups(world)
    assert work_as_a_stand_in(world) == timedelta()
    assert (wake_ups(world), len(flight(world))) == (before, 1)


def test_once_a_scheduler_is_back_it_goes(world):
    (task,) = world.admitted()
    killed_with(world, task)
    back_ms = world.now + 2_000
    world.on_wait.append(lambda: world.now >= back_ms and world.watch())
    assert 2 * SECOND <= work_as_a_stand_in(world) <= 3 * SECOND
    assert (world.performed, len(flight(world))) == ([], 1)


def test_beside_another_process_of_the_type_it_goes(world):
    """That one watches as long as it lives, and its wake-up comes again if it dies."""
    (task,) = world.admitted()
    killed_with(world, task, partition=1)
    before = wake_ups(world)
    assert work_as_a_stand_in(world) == timedelta()
    assert wake_ups(world) == before


def test_it_stays_after_another_process_has_gone_or_is_silent(world):
    (task,) = world.admitted()
    killed_with(world, task, partition=1)
    world.ports.lanes.take(Take(type="echo", partition=1, waits=None))
    work_as_a_stand_in(world)
    assert world.performed == [task.id]


def test_with_nothing_in_flight_it_goes(world):
    world.admitted()
    assert work_as_a_stand_in(world) == timedelta()
    assert len(world.performed) == 1


def of_another(world, task):
    """Let another process run a task for as long as the test lasts."""
    killed_with(world, task)
    world.hot.records[task.id].holding.until_ms = world.now + in_ms(timedelta(hours=1))


def test_when_it_has_to_go_it_wakes_another_in_its_place(world):
    (task,) = world.admitted()
    of_another(world, task)
    before = wake_ups(world)
    lasted = work_as_a_stand_in(world)
    assert TAKES_FOR - SECOND <= lasted <= TAKES_FOR + SECOND
    assert wake_ups(world)[len(before) :] == [(0, codec.WAKE_UP)]


def test_a_process_that_must_end_wakes_another_at_once(world):
    (task,) = world.admitted()
    of_another(world, task)
    before = wake_ups(world)
    assert work_as_a_stand_in(world, is_leaving=lambda: True) == timedelta()
    assert wake_ups(world)[len(before) :] == [(0, codec.WAKE_UP)]


def test_a_redis_that_is_away_meanwhile_changes_nothing(world):
    (task,) = world.admitted()
    killed_with(world, task)
    began = world.now

    def take(asked):
        if 1_000 <= world.now - began < 9_000:
            world.wait(2 * SECOND)
            return Away().take(asked)
        return world.ports.lanes.take(asked)

    work_as_a_stand_in(world, lanes=Instead(world.ports.lanes, take=take))
    assert world.performed == [task.id]


def test_whoever_runs_tasks_stays_no_longer_than_for_them(world):
    """What it has in flight itself is nobody else's."""
    world.admitted(None, None)

    def slow(_task):
        world.wait(3 * SECOND)
        return Succeeded("done")

    assert work_as_a_stand_in(world, slow, concurrency=1) == 6 * SECOND
    assert flight(world) == {}
