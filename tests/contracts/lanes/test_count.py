"""What a lane holds of a type: what waits and for how long, what is in flight, its pause."""

from taskmill.core.owed import Cold
from taskmill.core.task import Millis, Priority
from taskmill.lanes.lane import ClassCount, LanePause
from taskmill.lanes.order import order_of
from tests.builders import ECHO, now_ms
from tests.contracts.lane_words import EMAIL, HOUR, a_task, back, members_of, take, tasks

NOTHING = ClassCount(0, None)


def count(lanes, type_=ECHO):
    (answer,) = lanes.count([type_])
    return answer


def test_an_empty_lane_has_nothing(hot):
    answer = count(hot.lanes())
    assert answer.classes == dict.fromkeys(Priority, NOTHING)
    assert (answer.alone, answer.in_flight) == (NOTHING, 0)
    assert (answer.taken_at_ms, answer.paused_until_ms) == (None, None)


def test_each_class_is_counted_with_its_oldest_task(hot):
    lanes = hot.lanes()
    low = tasks(3, priority=Priority.LOW, tenant=lambda place: f"{place}")
    high = tasks(2, priority=Priority.HIGH, fairness_key=lambda place: f"{place}")
    lanes.enter([*low, *high])
    assert count(lanes).classes == {
        Priority.CRITICAL: NOTHING,
        Priority.HIGH: ClassCount(2, order_of(high[0].envelope)),
        Priority.NORMAL: NOTHING,
        Priority.LOW: ClassCount(3, order_of(low[0].envelope)),
    }


def test_the_oldest_is_found_whatever_its_line(hot):
    lanes = hot.lanes()
    old = a_task(ago=HOUR, tenant="z")
    lanes.enter([*tasks(20, tenant=lambda place: f"{place}"), old])
    assert count(lanes).classes[Priority.NORMAL] == ClassCount(21, order_of(old.envelope))


def test_what_was_withdrawn_is_not_the_oldest(hot):
    lanes, old, young = hot.lanes(), a_task(ago=HOUR, tenant="A"), a_task(tenant="B")
    lanes.enter([old, young])
    lanes.withdraw(ECHO, members_of([old]), epoch=take(lanes, 0).epoch)
    assert count(lanes).classes[Priority.NORMAL] == ClassCount(1, order_of(young.envelope))


def test_what_is_in_flight_does_not_wait(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(3))
    take(lanes, 2)
    answer = count(lanes)
    assert (answer.classes[Priority.NORMAL].waiting, answer.in_flight) == (1, 2)


def test_what_must_run_alone_is_counted_by_itself(hot):
    lanes, task = hot.lanes(), a_task()
    lanes.enter([task])
    lanes.put_back(back(take(lanes), alone=True))
    answer = count(lanes)
    assert answer.alone == ClassCount(1, order_of(task.envelope))
    assert answer.classes[Priority.NORMAL] == NOTHING


def test_types_are_counted_by_themselves(hot):
    lanes = hot.lanes()
    lanes.enter([a_task(type=EMAIL), a_task()])
    echo, email = lanes.count([ECHO, EMAIL])
    assert echo.classes[Priority.NORMAL].waiting == email.classes[Priority.NORMAL].waiting == 1


def test_the_last_take_of_a_process_is_known(hot):
    lanes, before = hot.lanes(), now_ms()
    take(lanes)
    assert count(lanes).taken_at_ms is None
    take(lanes, partition=1)
    take(lanes, partition=4)
    assert before - 100 <= count(lanes).taken_at_ms <= now_ms() + 100


def test_a_pause_is_seen_with_its_end(hot):
    lanes, until = hot.lanes(), Millis(now_ms() + 60_000)
    lanes.set_pauses([LanePause(type=ECHO, until_ms=until)], revision=1)
    assert count(lanes).paused_until_ms == until
    assert count(lanes, EMAIL).paused_until_ms is None


def test_of_two_pauses_the_longer_one_counts(hot):
    lanes, until = hot.lanes(), Millis(now_ms() + 60_000)
    both = [LanePause(type=ECHO, until_ms=until), LanePause(type=None, until_ms=Millis(until + 1))]
    lanes.set_pauses(both, revision=1)
    assert count(lanes).paused_until_ms == until + 1
    lanes.set_pauses([both[0], LanePause(type=None)], revision=2)
    assert count(lanes).paused_until_ms == 0


def test_a_cold_lane_is_not_counted(hot):
    hot.become_another_server()
    assert count(hot.lanes()) == Cold()
