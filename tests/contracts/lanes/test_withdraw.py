"""What waits may be withdrawn; what is in flight stays."""

from taskmill.core.task import Priority
from taskmill.stores.redis.keys import lane_keys
from taskmill.stores.redis.session import Session
from tests.builders import ECHO
from tests.contracts.hot import InValkey
from tests.contracts.lane_words import (
    A_WHILE,
    HOUR,
    a_task,
    members,
    members_of,
    take,
    tasks,
    until_empty,
)


def withdraw(lanes, waiting, epoch=None):
    if epoch is None:
        (epoch,) = lanes.epochs([ECHO])
    return lanes.withdraw(ECHO, members_of(waiting), epoch=epoch)


def test_what_is_withdrawn_is_gone(hot):
    lanes, waiting = hot.lanes(), tasks(4)
    lanes.enter(waiting)
    assert withdraw(lanes, waiting[::2]) == 2
    assert until_empty(lanes) == members_of(waiting[1::2])
    assert withdraw(lanes, waiting[::2]) == 0


def test_what_is_in_flight_stays(hot):
    lanes, waiting = hot.lanes(), tasks(2)
    lanes.enter(waiting)
    take(lanes)
    assert withdraw(lanes, waiting) == 1
    assert len(hot.lane_content(ECHO)) == 1


def test_nothing_is_withdrawn_under_another_epoch(hot):
    lanes, waiting = hot.lanes(), tasks(1)
    lanes.enter(waiting)
    (epoch,) = lanes.epochs([ECHO])
    hot.cold_lanes().renew_epochs()
    assert withdraw(lanes, waiting, epoch) == 0
    assert until_empty(lanes) == members_of(waiting)


def test_nothing_is_withdrawn_from_a_cold_lane(hot):
    lanes, waiting = hot.lanes(), tasks(1)
    lanes.enter(waiting)
    (epoch,) = lanes.epochs([ECHO])
    hot.become_another_server()
    assert withdraw(lanes, waiting, epoch) == 0


def test_more_are_withdrawn_than_one_call_can_carry(hot):
    lanes, waiting = hot.lanes(), tasks(1_100)
    lanes.enter(waiting)
    assert withdraw(lanes, waiting[:1_050]) == 1_050
    assert until_empty(lanes, 100) == members_of(waiting[1_050:])


def test_a_line_that_was_emptied_stops_nobody(hot):
    lanes, gone, stays = hot.lanes(), tasks(3, tenant="A"), tasks(3, tenant="B")
    lanes.enter([*gone, *stays])
    withdraw(lanes, gone)
    assert until_empty(lanes, 2) == members_of(stays)


def test_emptied_lines_of_a_higher_class_stop_nobody(hot):
    lanes = hot.lanes()
    gone = tasks(40, priority=Priority.HIGH, tenant=lambda place: f"{place % 20}")
    stays = tasks(3)
    lanes.enter([*gone, *stays])
    withdraw(lanes, gone)
    assert members(take(lanes, 2)) == members_of(stays[:2])


def test_a_tenant_whose_line_was_emptied_comes_back(hot):
    lanes, gone, back = hot.lanes(), tasks(1, tenant="A"), tasks(2, tenant="A")
    others = tasks(2, tenant="B")
    lanes.enter([*gone, *others])
    withdraw(lanes, gone)
    lanes.enter(back)
    came = until_empty(lanes)
    assert sorted(came) == sorted(members_of([*back, *others]))


def test_the_next_task_of_a_line_has_its_own_order(hot):
    """Else a lower class would be lifted for a task that is gone."""
    lanes = hot.lanes()
    old, young = a_task(ago=HOUR, priority=Priority.LOW), a_task(priority=Priority.LOW)
    urgent = tasks(16, priority=Priority.CRITICAL)
    lanes.enter([old, young, *urgent])
    withdraw(lanes, [old])
    assert until_empty(lanes, 4) == members_of([*urgent, young])


def test_emptied_lines_that_are_many_hold_up_no_take(valkey):
    """Redis serves nobody else while a script runs."""
    hot = InValkey(Session(valkey))
    try:
        lanes, gone = hot.lanes(), tasks(250, fairness_key=lambda place: f"{place}")
        stays = a_task()
        lanes.enter([*gone, stays])
        withdraw(lanes, gone)
        assert members(take(lanes, partition=0, waits=A_WHILE)) == []
        assert hot.heard_rings(ECHO) == [0], "it takes again at once"
        assert members(take(lanes)) == members_of([stays])
    finally:
        hot.session.close()


def test_a_lane_in_which_nothing_waits_keeps_nothing_of_its_lines(valkey):
    hot = InValkey(Session(valkey))
    try:
        lanes, gone = hot.lanes(), tasks(3, fairness_key=lambda place: f"{place}")
        lanes.enter(gone)
        withdraw(lanes, gone)
        keys = lane_keys(ECHO)
        (tree,) = (one for one in keys.every if one.endswith(":open"))
        assert hot.session.command("EXISTS", keys.lines, keys.sizes, tree) == 0
    finally:
        hot.session.close()
