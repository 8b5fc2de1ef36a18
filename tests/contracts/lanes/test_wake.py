"""Whom a lane wakes: as many processes as what waits needs, where none asks by itself."""

from datetime import timedelta
from threading import Thread

import pytest

from taskmill.core.task import Millis
from taskmill.stores.memory.hot import MemoryHot
from taskmill.stores.redis.keys import lane_keys
from taskmill.stores.redis.lanes import RedisRings
from taskmill.stores.redis.session import Session
from tests.builders import ECHO, now_ms
from tests.contracts.hot import PARTITIONS, InMemory, InValkey
from tests.contracts.lane_words import (
    A_WHILE,
    EMAIL,
    HOUR,
    NO_TIME,
    a_task,
    back,
    leaves,
    members,
    take,
    tasks,
)
from tests.waiting import eventually


def partitions(wake):
    assert {one.type for one in wake} <= {ECHO}
    return [one.partition for one in wake]


@pytest.mark.parametrize(("waiting", "wanted"), [(1, 1), (8, 1), (9, 2), (40, 5), (1_000, 6)])
def test_one_process_is_started_for_eight_tasks(hot, waiting, wanted):
    assert partitions(hot.lanes().enter(tasks(waiting)).wake) == list(range(wanted))


def test_a_process_that_starts_is_not_started_again(hot):
    lanes = hot.lanes()
    assert partitions(lanes.enter(tasks(1)).wake) == [0]
    assert partitions(lanes.enter(tasks(1)).wake) == []
    assert partitions(lanes.enter(tasks(8)).wake) == [1]


def test_a_process_that_takes_is_not_started(hot):
    lanes = hot.lanes()
    take(lanes, partition=0)
    take(lanes, partition=1)
    assert partitions(lanes.enter(tasks(20)).wake) == [2, 3, 4]


def test_one_busy_process_does_not_keep_the_others_asleep(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(20))
    take(lanes, partition=0)
    hot.forget_who_takes(ECHO)
    assert partitions(take(lanes, partition=0).wake) == [1, 2, 3]


def test_a_process_that_is_silent_is_started(hot):
    lanes = hot.lanes()
    take(lanes, partition=0)
    lanes.enter(tasks(1))
    hot.forget_who_takes(ECHO)
    assert partitions(lanes.enter(tasks(1)).wake) == [0]


def test_a_process_that_ended_is_started_when_something_comes(hot):
    lanes = hot.lanes()
    take(lanes, partition=0)
    take(lanes, partition=0, waits=None)
    assert partitions(lanes.enter(tasks(1)).wake) == [0]


def test_a_wake_up_that_was_answered_is_no_longer_awaited(hot):
    lanes = hot.lanes()
    assert partitions(lanes.enter(tasks(1)).wake) == [0]
    take(lanes, partition=0)
    take(lanes, partition=0, waits=None)
    assert partitions(lanes.enter(tasks(1)).wake) == [0]


def test_a_scheduler_that_takes_nothing_keeps_nobody_asleep(hot):
    lanes = hot.lanes()
    take(lanes, 0)
    assert partitions(lanes.enter(tasks(1)).wake) == [0]


def test_nobody_is_woken_for_nothing(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(1))
    hot.forget_who_takes(ECHO)
    assert partitions(take(lanes, 1).wake) == []


def test_what_leaves_wakes_nobody(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(9))
    taken = take(lanes)
    hot.forget_who_takes(ECHO)
    lanes.leave(ECHO, leaves(taken))
    assert partitions(take(lanes, 0).wake) == [0]


def test_what_comes_back_wakes(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(1))
    taken = take(lanes)
    hot.forget_who_takes(ECHO)
    assert partitions(lanes.put_back(back(taken))) == [0]


def test_the_tick_wakes_for_what_waits(hot):
    lanes = hot.lanes()
    lanes.enter([*tasks(1), a_task(type=EMAIL)])
    for lane in (ECHO, EMAIL):
        hot.forget_who_takes(lane)
    wake = [one for _, answer in lanes.watch(most=10) for one in answer.wake]
    assert [(one.type, one.partition) for one in wake] == [(ECHO, 0), (EMAIL, 0)]


def test_nobody_is_woken_for_a_type_that_is_not_deployed(hot):
    gone = a_task(type="gone")
    cold = hot.cold_lanes()
    cold.begin("n", ["gone"])
    cold.open("n", ["gone"])
    assert hot.lanes().enter([gone]).wake == ()
    assert members(take(hot.lanes(), type="gone")) != []


def test_the_last_take_of_a_process_that_gives_something_is_not_its_last(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(2))
    assert len(take(lanes, 1, partition=0, waits=None).tasks) == 1
    assert partitions(lanes.enter(tasks(1)).wake) == []


# Rings


def test_a_process_that_waits_is_rung_for_instead(hot):
    lanes = hot.lanes()
    take(lanes, partition=2, waits=A_WHILE)
    assert lanes.enter(tasks(1)).wake == ()
    assert not hot.rings().wait(ECHO, 1)
    assert hot.rings().wait(ECHO, 2)
    assert not hot.rings().wait(ECHO, 2)


def test_as_many_are_rung_for_as_are_needed(hot):
    lanes = hot.lanes()
    for partition in (1, 2, 4, 5):
        take(lanes, partition=partition, waits=A_WHILE)
    lanes.enter(tasks(9))
    lanes.enter(tasks(1))
    assert hot.heard_rings(ECHO) == [1, 2]


def test_others_are_started_if_too_few_wait(hot):
    lanes = hot.lanes()
    take(lanes, partition=3, waits=A_WHILE)
    assert partitions(lanes.enter(tasks(20)).wake) == [0, 1]
    assert hot.heard_rings(ECHO) == [3]


def test_nobody_is_rung_for_a_task_that_must_run_alone(hot):
    """The process runs others: it would be rung again after each take, and take nothing."""
    lanes = hot.lanes()
    lanes.enter(tasks(1))
    lanes.put_back(back(take(lanes), alone=True))
    hot.forget_who_takes(ECHO)
    assert partitions(take(lanes, partition=0, waits=A_WHILE).wake) == [1]
    assert hot.heard_rings(ECHO) == []
    assert partitions(lanes.enter(tasks(1)).wake) == []
    assert hot.heard_rings(ECHO) == [0]


def test_a_promise_ends(hot):
    lanes = hot.lanes()
    take(lanes, partition=0, waits=timedelta(milliseconds=1))
    later = now_ms() + 20
    eventually(lambda: now_ms() > later, within=10, reason="the promise ends")
    lanes.enter(tasks(1))
    assert hot.heard_rings(ECHO) == []


@pytest.mark.parametrize("waits", [NO_TIME, None])
def test_a_process_takes_its_promise_back(hot, waits):
    lanes = hot.lanes()
    take(lanes, partition=0, waits=A_WHILE)
    take(lanes, partition=0, waits=waits)
    lanes.enter(tasks(1))
    assert hot.heard_rings(ECHO) == []


def test_a_ring_ends_with_its_promise(hot):
    lanes = hot.lanes()
    for partition in (0, 1):
        take(lanes, partition=partition, waits=A_WHILE)
    lanes.enter(tasks(9))
    take(lanes, 0, partition=0, waits=None)
    assert hot.heard_rings(ECHO) == [1]


def test_a_process_that_got_all_it_asked_for_does_not_wait(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(20))
    assert len(take(lanes, 4, partition=0, waits=A_WHILE).tasks) == 4
    assert hot.heard_rings(ECHO) == []


def test_a_process_of_a_partition_that_is_gone_may_take(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(2))
    take(lanes, partition=PARTITIONS, waits=A_WHILE)
    assert len(take(lanes, 2, partition=PARTITIONS, waits=None).tasks) == 1


def test_a_promise_for_too_long_is_none(hot):
    """It was given by a clock that has gone back since: nobody would be started for so long."""
    lanes = hot.lanes()
    take(lanes, partition=0, waits=HOUR)
    lanes.enter(tasks(1))
    assert hot.heard_rings(ECHO) == []


def test_a_clock_that_goes_back_keeps_nobody_asleep_in_memory():
    ahead_ms = [3_600_000]
    hot = InMemory(MemoryHot(lambda: Millis(now_ms() + ahead_ms[0])))
    starts_and_takes(hot.lanes())
    ahead_ms[0] = 0
    assert partitions(hot.lanes().watch(most=1)[0][1].wake) == [0]


def test_a_clock_that_goes_back_keeps_nobody_asleep_in_valkey(valkey):
    hot = InValkey(Session(valkey))
    try:
        starts_and_takes(hot.lanes())
        taking, woken = lane_keys(ECHO).every[7:9]
        for key, partition in ((taking, 0), (woken, 1)):
            hot.session.command("ZADD", key, now_ms() + 3_600_000, f"{ECHO}\t{partition}")
        assert partitions(hot.lanes().watch(most=1)[0][1].wake) == [0]
    finally:
        hot.session.close()


def starts_and_takes(lanes):
    """Let the process of one partition take, and that of another one start."""
    take(lanes, partition=0)
    assert partitions(lanes.enter(tasks(1)).wake) == [1]


def test_a_ring_that_comes_while_a_process_waits_is_heard(valkey):
    """Nothing happens in memory while a process waits."""
    hot, heard = InValkey(Session(valkey)), []
    with_own = Session(valkey, patience=timedelta(seconds=10))
    try:
        take(hot.lanes(), partition=0, waits=A_WHILE)
        rings = RedisRings(with_own)
        waiting = Thread(target=lambda: heard.append(rings.wait(ECHO, 0)))
        waiting.start()
        hot.lanes().enter(tasks(1))
        waiting.join(10)
        assert heard == [True]
    finally:
        with_own.close()
        hot.session.close()
