"""What is beyond a line's cap waits on its shelf, and nothing new passes it."""

from datetime import timedelta

import pytest

from taskmill.core import codec
from taskmill.core.task import Priority
from taskmill.lanes.caps import Caps
from taskmill.lanes.lane import Entered, Filled, Shelved, line_of, member_of
from taskmill.lanes.order import order_of
from tests.builders import ECHO
from tests.contracts.lane_words import (
    a_task,
    back,
    leaves,
    members,
    members_of,
    take,
    tasks,
    until_empty,
)

WAITS, SHELVED = Entered.WAITS, Entered.SHELVED
EARLIER = timedelta(seconds=1)
TEN = Caps(line_tasks=10, lane_tasks=1_000, small_tasks=2)


@pytest.fixture
def lanes(hot):
    return hot.lanes(caps=TEN)


def line(task):
    return str(line_of(task.envelope))


def over(task):
    """Return a task that ended while it was shelved."""
    return Shelved(member=member_of(task.envelope), line=line(task), order=order_of(task.envelope))


def fill(lanes, count, **changes):
    """Fill a line, and return the tasks that it took and those that were shelved."""
    waiting = tasks(count, ago=EARLIER, **changes)
    answers = lanes.enter(waiting).answers
    return (
        [one for one, answer in zip(waiting, answers, strict=True) if answer is WAITS],
        [one for one, answer in zip(waiting, answers, strict=True) if answer is SHELVED],
    )


def test_a_full_line_shelves_the_rest(lanes):
    waiting = tasks(15)
    assert lanes.enter(waiting).answers == (WAITS,) * 10 + (SHELVED,) * 5
    assert until_empty(lanes) == members_of(waiting[:10])


def test_bytes_fill_a_line_too(hot):
    size = len(a_task().raw)
    lanes = hot.lanes(caps=Caps(line_bytes=3 * size, small_tasks=0))
    assert lanes.enter(tasks(5)).answers.count(WAITS) in {3, 4}


def test_each_line_has_a_shelf_of_its_own(lanes):
    fill(lanes, 15)
    assert lanes.enter(tasks(10, tenant="other")).answers == (WAITS,) * 10


def test_while_a_shelf_is_open_newcomers_are_shelved(lanes):
    fill(lanes, 15)
    until_empty(lanes)
    assert lanes.enter([a_task()]).answers == (SHELVED,)
    assert lanes.enter([a_task(priority=Priority.HIGH)]).answers == (WAITS,)


def test_what_is_in_the_lane_is_not_shelved(lanes):
    held, _ = fill(lanes, 15)
    take(lanes)
    assert lanes.enter(held).answers == (WAITS,) * 10


def test_later_turns_are_never_shelved(lanes):
    fill(lanes, 15)
    assert lanes.enter([a_task(turn=2), a_task(turn=11)]).answers == (WAITS, WAITS)


def test_some_tasks_go_past_the_shelf(lanes):
    fill(lanes, 15)
    assert lanes.enter([a_task()], past=True).answers == (WAITS,)


def test_what_is_put_back_is_never_shelved(lanes):
    held, _ = fill(lanes, 10)
    taken = take(lanes, 5)
    lanes.enter(tasks(5))
    lanes.put_back(back(taken))
    assert len(until_empty(lanes)) == 15
    assert members(taken) == members_of(held[:5])


def test_a_shelved_task_enters_when_there_is_room(lanes):
    held, shelved = fill(lanes, 15)
    assert lanes.bring_in(shelved).answers == (SHELVED,) * 5
    lanes.leave(ECHO, leaves(take(lanes, 3)))
    assert lanes.bring_in(shelved).answers == (WAITS,) * 3 + (SHELVED,) * 2
    assert until_empty(lanes) == members_of(held[3:] + shelved[:3])


def test_a_shelf_closes_with_the_task_that_was_shelved_last(lanes):
    _, shelved = fill(lanes, 15)
    until_empty(lanes)
    lanes.bring_in(shelved[:4])
    assert lanes.enter([a_task()]).answers == (SHELVED,)
    until_empty(lanes)
    *_, last = shelved
    lanes.bring_in([last])
    assert lanes.enter([a_task()]).answers == (SHELVED,)  # the newcomer was shelved after it


def test_a_closed_shelf_takes_no_newcomers(lanes):
    _, shelved = fill(lanes, 15)
    until_empty(lanes)
    assert lanes.bring_in(shelved).answers == (WAITS,) * 5
    assert lanes.enter([a_task()]).answers == (WAITS,)


def test_a_task_that_is_over_closes_the_shelf(lanes):
    _, shelved = fill(lanes, 12)
    until_empty(lanes)
    first, last = shelved
    assert lanes.bring_in([first, over(last)]).answers == (WAITS, WAITS)
    assert until_empty(lanes) == members_of([first])
    assert lanes.enter([a_task()]).answers == (WAITS,)


def test_a_task_that_is_over_closes_no_shelf_from_which_something_stays(lanes):
    _, shelved = fill(lanes, 12)
    first, last = shelved
    assert lanes.bring_in([first, over(last)]).answers == (SHELVED, WAITS)
    until_empty(lanes)
    assert lanes.enter([a_task()]).answers == (SHELVED,)


def test_a_shelved_task_that_comes_again_is_shelved_again(lanes):
    _, shelved = fill(lanes, 12)
    until_empty(lanes)
    assert lanes.enter(shelved).answers == (SHELVED, SHELVED)
    assert lanes.bring_in(shelved).answers == (WAITS, WAITS)
    assert lanes.enter(shelved).answers == (WAITS, WAITS)
    assert until_empty(lanes) == members_of(shelved)


def test_a_small_line_grows_in_a_full_lane(hot):
    lanes = hot.lanes(caps=Caps(line_tasks=10, lane_tasks=20, small_tasks=3))
    for tenant in ("a", "b"):
        fill(lanes, 10, tenant=tenant)
    assert lanes.enter(tasks(5, tenant="c")).answers == (WAITS,) * 3 + (SHELVED,) * 2


def test_no_line_grows_beyond_twice_the_lane(hot):
    lanes = hot.lanes(caps=Caps(line_tasks=10, lane_tasks=4, small_tasks=3))
    answers = lanes.enter(tasks(12, tenant=lambda place: f"tenant {place}")).answers
    assert answers == (WAITS,) * 8 + (SHELVED,) * 4


def test_a_withdrawn_task_makes_room(lanes):
    held, shelved = fill(lanes, 11)
    (epoch,) = lanes.epochs([ECHO])
    lanes.withdraw(ECHO, members_of(held[:1]), epoch=epoch)
    assert lanes.bring_in(shelved).answers == (WAITS,)


def test_lines_below_half_have_room(lanes):
    held, _ = fill(lanes, 15)
    lines = {ECHO: [line(held[0])]}
    take(lanes, 5)
    assert list(lanes.with_room(lines)) == []
    take(lanes, 1)
    assert list(lanes.with_room(lines)) == lines[ECHO]


def test_a_cold_lane_shelves_nothing_and_has_no_room(hot):
    lanes, task = hot.lanes(caps=TEN), a_task()
    hot.forget_lanes()
    assert lanes.enter([task]).answers == (Entered.COLD,)
    assert lanes.bring_in([task]).answers == (Entered.COLD,)
    assert list(lanes.with_room({ECHO: [line(task)]})) == []


def test_a_lost_lane_has_no_open_shelves(hot):
    lanes = hot.lanes(caps=TEN)
    fill(lanes, 15)
    hot.forget_lanes()
    hot.cold_lanes().begin("n", [ECHO])
    hot.cold_lanes().open("n", [ECHO])
    assert lanes.enter([a_task()]).answers == (WAITS,)


def test_bytes_come_and_go_with_what_waits(hot):
    """A line that was emptied in every way takes as much as at first."""
    size = len(a_task().raw)
    lanes = hot.lanes(caps=Caps(line_bytes=4 * size, small_tasks=0))
    for _ in range(5):
        held = tasks(3)
        assert lanes.enter(held).answers == (WAITS,) * 3
        lanes.put_back(back(take(lanes, 2), alone=True))
        (epoch,) = lanes.epochs([ECHO])
        lanes.withdraw(ECHO, members_of(held[:1]), epoch=epoch)
        until_empty(lanes)
        until_empty(lanes, alone="first")
        assert codec.as_raw(held[0].raw).raw == held[0].raw


def rebuilt(hot, filled):
    """Rebuild the lane with these tasks, and return the answers."""
    hot.forget_lanes()
    cold = hot.cold_lanes(caps=TEN)
    cold.begin("n", [ECHO])
    answers = cold.fill("n", ECHO, filled)
    cold.open("n", [ECHO])
    return answers


def in_line(waiting):
    return [Filled(envelope=one.envelope) for one in waiting]


def test_a_rebuild_shelves_what_a_line_does_not_hold(hot, lanes):
    waiting = tasks(13, ago=EARLIER)
    assert rebuilt(hot, in_line(waiting)) == [WAITS] * 10 + [SHELVED] * 3
    assert until_empty(lanes) == members_of(waiting[:10])
    assert lanes.enter([a_task()]).answers == (SHELVED,)


def test_a_rebuild_shelves_neither_later_turns_nor_what_runs(hot, lanes):
    waiting = tasks(10, ago=EARLIER)
    runs = Filled(envelope=a_task().envelope, look_after=EARLIER)
    later = Filled(envelope=a_task(turn=2).envelope)
    assert rebuilt(hot, [*in_line(waiting), runs, later]) == [WAITS] * 12


def test_a_rebuild_opens_shelves(hot, lanes):
    first, shelved = tasks(2, ago=EARLIER)
    assert rebuilt(hot, [*in_line([first]), over(shelved)]) == [WAITS, SHELVED]
    assert lanes.enter([a_task(generation=first.envelope.generation)]).answers == (SHELVED,)
    assert lanes.bring_in([shelved]).answers == (WAITS,)
    assert lanes.enter([a_task()]).answers == (WAITS,)
