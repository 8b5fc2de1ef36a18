"""A take gives what may start, no more than is asked for, and lets go of what has left."""

from msgspec import Raw

from taskmill.core.owed import Cold
from taskmill.core.time import in_ms
from taskmill.lanes.lane import BYTES_TAKEN, Leave, Take
from tests.builders import ECHO, now_ms
from tests.contracts.lane_words import (
    A_WHILE,
    a_task,
    leaves,
    members,
    members_of,
    take,
    tasks,
    until_empty,
)


def test_no_more_is_taken_than_asked(hot):
    lanes, waiting = hot.lanes(), tasks(5)
    lanes.enter(waiting)
    assert members(take(lanes, 3)) == members_of(waiting[:3])
    assert members(take(lanes, 3)) == members_of(waiting[3:])
    assert members(take(lanes, 3)) == []


def test_a_take_of_nothing_takes_nothing(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(1))
    assert members(take(lanes, 0)) == []
    assert len(until_empty(lanes)) == 1


def test_a_look_comes_when_a_lease_would_end(hot):
    lanes = hot.lanes(lease=A_WHILE)
    lanes.enter(tasks(1))
    before = now_ms()
    (taken,) = take(lanes).tasks
    assert before - 100 <= taken.look // 1000 - in_ms(A_WHILE) <= now_ms() + 100


def test_every_look_is_another_one(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(200))
    looks = [one.look for _ in range(2) for one in take(lanes, 100).tasks]
    assert len(set(looks)) == 200


def test_a_take_stops_at_its_bytes(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(100, payload=Raw(b'"%b"' % (b"x" * 100_000))))
    size = sum(len(one.raw) for one in take(lanes, 100).tasks)
    assert BYTES_TAKEN - 200_000 < size <= BYTES_TAKEN + 200_000
    assert len(until_empty(lanes, 100)) > 0


def test_large_tasks_after_small_ones_stop_it_as_well(hot):
    lanes = hot.lanes()
    large = Raw(b'"%b"' % (b"x" * 200_000))
    lanes.enter(tasks(100, payload=lambda place: large if place >= 16 else Raw(b"1")))
    size = sum(len(one.raw) for one in take(lanes, 100).tasks)
    assert BYTES_TAKEN < size < 3 * BYTES_TAKEN


def test_a_cold_lane_gives_nothing(hot):
    hot.lanes().enter(tasks(1))
    hot.become_another_server()
    assert hot.lanes().take(Take(type=ECHO, most=1)) == Cold()


# What leaves


def test_what_leaves_is_forgotten(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(3))
    taken = take(lanes, 3)
    after = take(lanes, 0, leaves=leaves(taken), epoch=taken.epoch)
    assert after.epoch == taken.epoch
    assert hot.lane_content(ECHO) == set()


def test_what_leaves_makes_no_room_for_what_was_said_of_another_epoch(hot):
    lanes, task = hot.lanes(), a_task()
    lanes.enter([task])
    taken = take(lanes)
    hot.cold_lanes().renew_epochs()
    take(lanes, 0, leaves=leaves(taken), epoch=taken.epoch)
    lanes.leave(ECHO, leaves(taken))
    assert len(hot.lane_content(ECHO)) == 1
    assert take(lanes).epoch != taken.epoch


def test_leaves_of_another_epoch_than_the_caller_knows_are_not_sent(hot):
    lanes, task = hot.lanes(), a_task()
    lanes.enter([task])
    taken = take(lanes)
    hot.cold_lanes().renew_epochs()
    now = take(lanes, 0).epoch
    take(lanes, 0, leaves=leaves(taken), epoch=now)
    assert len(hot.lane_content(ECHO)) == 1


def test_nothing_leaves_without_an_epoch(hot):
    lanes, task = hot.lanes(), a_task()
    lanes.enter([task])
    (member,) = members(take(lanes))
    take(lanes, 0, leaves=(Leave(member, ""),))
    lanes.leave(ECHO, [Leave(member, "")])
    assert len(hot.lane_content(ECHO)) == 1


def test_only_what_is_in_flight_leaves(hot):
    lanes, waiting = hot.lanes(), tasks(2)
    lanes.enter(waiting)
    taken = take(lanes)
    both = tuple(Leave(one, taken.epoch) for one in members_of(waiting))
    lanes.leave(ECHO, both)
    assert until_empty(lanes) == members_of(waiting[1:])


def test_members_of_two_epochs_leave_in_one_call(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(2))
    first = take(lanes)
    hot.cold_lanes().renew_epochs()
    second = take(lanes)
    lanes.leave(ECHO, [*leaves(first), *leaves(second)])
    ((member, *_),) = hot.lane_content(ECHO)
    assert [member] == [str(one) for one in members(first)]


def test_more_leave_than_one_call_can_carry(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(4_500))
    taken = [take(lanes, 100) for _ in range(45)]
    left = tuple(leave for one in taken for leave in leaves(one))
    take(lanes, 0, leaves=left, epoch=taken[0].epoch)
    assert hot.lane_content(ECHO) == set()


def test_a_task_that_was_lost_from_the_lane_does_not_stop_it(hot):
    lanes, waiting = hot.lanes(), tasks(2)
    lanes.enter(waiting)
    lanes.withdraw(ECHO, members_of(waiting[:1]), epoch=take(lanes, 0).epoch)
    assert until_empty(lanes) == members_of(waiting[1:])
