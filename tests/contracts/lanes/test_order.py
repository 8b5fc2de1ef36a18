"""What starts next: classes, turns of tenants and of fairness keys, age, tasks that run alone."""

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from taskmill.core.task import Priority
from taskmill.lanes.lane import Alone
from taskmill.stores.redis.lanes import RedisLanes
from taskmill.stores.redis.session import Session
from tests.contracts.hot import CATALOGUE, InValkey
from tests.contracts.lane_words import (
    HOUR,
    a_task,
    back,
    envelopes_of,
    members,
    members_of,
    take,
    tasks,
    until_empty,
)

CLASSES = tuple(sorted(Priority, reverse=True))


def mixed(waiting, seed=1):
    return random.Random(seed).sample(waiting, len(waiting))


def of_each_class(count):
    """Return that many tasks of each class, whose orders alternate."""
    return tasks(4 * count, priority=lambda place: CLASSES[place % 4])


def by_class(waiting):
    return [one for start in range(4) for one in members_of(waiting[start::4])]


def test_tasks_of_a_line_start_in_their_order(hot):
    lanes, waiting = hot.lanes(), tasks(10)
    lanes.enter(waiting[5:])
    lanes.enter(waiting[:5])
    assert until_empty(lanes) == members_of(waiting)


def test_many_at_once_come_in_the_same_order(hot):
    lanes, waiting = hot.lanes(), tasks(100)
    lanes.enter(mixed(waiting))
    assert until_empty(lanes, 33) == members_of(waiting)


def test_tasks_of_the_same_order_start_by_name(hot):
    lanes, waiting = hot.lanes(), tasks(10, index=0)
    lanes.enter(waiting)
    assert until_empty(lanes, 3) == sorted(members_of(waiting), key=str)


@pytest.mark.parametrize("most", [1, 7, 100])
def test_higher_classes_start_first_each_in_its_order(hot, most):
    lanes, waiting = hot.lanes(), of_each_class(100)
    shuffled = mixed(waiting)
    for start in range(0, 400, 5):
        lanes.enter(shuffled[start : start + 5])
    assert until_empty(lanes, most) == by_class(waiting)


def test_the_order_is_exact_with_eight_writers(valkey):
    InValkey(Session(valkey))
    waiting = of_each_class(100)
    shuffled = mixed(waiting)
    sessions = [Session(valkey) for _ in range(8)]
    try:
        lanes = [RedisLanes(session, CATALOGUE) for session in sessions]
        with ThreadPoolExecutor(8) as writers:
            parts = [shuffled[start::8] for start in range(8)]
            list(writers.map(lambda own, part: [own.enter([one]) for one in part], lanes, parts))
        assert until_empty(lanes[0]) == by_class(waiting)
    finally:
        for session in sessions:
            session.close()


def test_one_critical_task_starts_before_ten_thousand(hot):
    lanes, waiting = hot.lanes(), tasks(10_000)
    lanes.enter(waiting)
    assert members(take(lanes, 3)) == members_of(waiting[:3])
    urgent = a_task(priority=Priority.CRITICAL)
    lanes.enter([urgent])
    assert members(take(lanes)) == members_of([urgent])


def longest_row(came, many, few):
    """Return the largest number of *many* between two of *few*."""
    assert set(came) == {many, few}
    places = [place for place, one in enumerate(came) if one == few]
    return max(after - before - 1 for before, after in pairwise(places))


@pytest.mark.parametrize("most", [1, 10, 100])
def test_fairness_keys_of_a_tenant_take_turns(hot, most):
    lanes = hot.lanes()
    waiting = [*tasks(10_000, fairness_key="A"), *tasks(20, fairness_key="B")]
    lanes.enter(waiting)
    came = envelopes_of(until_empty(lanes, most, count=60), waiting)
    assert longest_row([one.fairness_key for one in came], "A", "B") <= 2


@pytest.mark.parametrize("most", [1, 10, 100])
def test_no_tenant_gains_by_inventing_keys(hot, most):
    lanes = hot.lanes()
    spread = tasks(10_000, tenant="A", fairness_key=lambda place: f"{place % 1000}")
    waiting = [*spread, *tasks(20, tenant="B")]
    lanes.enter(waiting)
    came = envelopes_of(until_empty(lanes, most, count=60), waiting)
    assert longest_row([one.tenant for one in came], "A", "B") <= 2


def test_a_key_that_comes_later_waits_for_one_round_only(hot):
    lanes = hot.lanes()
    waiting = tasks(30, fairness_key=lambda place: f"{place % 3}")
    lanes.enter(waiting)
    take(lanes, 4)
    newcomer = a_task(fairness_key="new")
    lanes.enter([newcomer])
    assert members_of([newcomer])[0] in members(take(lanes, 4))


def test_tasks_of_a_key_keep_their_order(hot):
    lanes, waiting = hot.lanes(), tasks(60, fairness_key=lambda place: f"{place % 7}")
    lanes.enter(mixed(waiting))
    came = envelopes_of(until_empty(lanes, 11), waiting)
    for key in {one.fairness_key for one in came}:
        places = [one.index for one in came if one.fairness_key == key]
        assert places == sorted(places)


def test_every_eighth_may_be_an_old_one_of_a_lower_class(hot):
    lanes = hot.lanes()
    urgent, old = tasks(32, priority=Priority.CRITICAL), tasks(2, ago=HOUR, priority=Priority.LOW)
    lanes.enter([*urgent, *old])
    came = until_empty(lanes, 5)
    assert [came.index(one) for one in members_of(old)] == [7, 15]


def test_of_the_lower_classes_the_oldest_task_is_lifted(hot):
    lanes = hot.lanes()
    older, old = tasks(1, ago=2 * HOUR, priority=Priority.LOW), tasks(1, ago=HOUR)
    lanes.enter([*tasks(32, priority=Priority.CRITICAL), *old, *older])
    came = until_empty(lanes, 32)
    assert [came.index(*members_of(one)) for one in (older, old)] == [7, 15]


def test_a_young_task_of_a_lower_class_is_not_lifted(hot):
    lanes, waiting = hot.lanes(), of_each_class(8)
    lanes.enter(waiting)
    assert until_empty(lanes, 32) == by_class(waiting)


# Tasks that must run alone


def waits_alone(lanes, task):
    """Let *task* come back as one that must run alone."""
    lanes.enter([task])
    lanes.put_back(back(take(lanes), alone=True))
    return task


def test_a_task_that_must_run_alone_is_given_to_nobody_else(hot):
    lanes = hot.lanes()
    waits_alone(lanes, a_task())
    assert members(take(lanes, 10)) == []


def test_a_task_that_must_run_alone_comes_first_and_by_itself(hot):
    lanes = hot.lanes()
    suspect = waits_alone(lanes, a_task())
    lanes.enter(tasks(5, priority=Priority.CRITICAL))
    assert members(take(lanes, 10, alone=Alone.FIRST)) == members_of([suspect])
    assert len(members(take(lanes, 10, alone=Alone.FIRST))) == 5


def test_a_task_that_must_run_alone_comes_last_if_there_is_no_other(hot):
    lanes = hot.lanes()
    suspect = waits_alone(lanes, a_task())
    others = tasks(5)
    lanes.enter(others)
    assert members(take(lanes, 10, alone=Alone.LAST)) == members_of(others)
    assert members(take(lanes, 10, alone=Alone.LAST)) == members_of([suspect])


def test_tasks_that_must_run_alone_come_one_by_one_in_order(hot):
    lanes, waiting = hot.lanes(), tasks(3)
    lanes.enter(waiting)
    lanes.put_back(back(take(lanes, 3), alone=True))
    came = [members(take(lanes, 10, alone=Alone.FIRST)) for _ in range(3)]
    assert came == [[one] for one in members_of(waiting)]
