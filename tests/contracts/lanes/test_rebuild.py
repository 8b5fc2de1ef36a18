"""A lane that lost data is filled by one process, under a nonce, and has a new epoch."""

from datetime import timedelta

import pytest
from msgspec import Raw

from taskmill.core import codec
from taskmill.core.owed import Cold
from taskmill.core.task import Priority
from taskmill.lanes.lane import Entered, Filled, Take
from taskmill.stores.redis.session import Session
from taskmill.stores.redis.shards import open_lanes
from tests.builders import ECHO
from tests.contracts.hot import TYPES, InValkey
from tests.contracts.lane_words import (
    A_WHILE,
    BEFORE,
    EMAIL,
    HOUR,
    a_task,
    leaves,
    members,
    members_of,
    take,
    tasks,
    until_empty,
)
from tests.waiting import eventually

SOON = timedelta(milliseconds=50)


def in_line(waiting):
    return [Filled(envelope=one.envelope) for one in waiting]


def begun(hot, **spans):
    """Lose the lanes, and return their rebuild of nonce "n"."""
    hot.forget_lanes()
    cold = hot.cold_lanes(**spans)
    assert cold.begin("n", TYPES) == list(TYPES)
    return cold


def test_a_live_lane_is_left_alone(hot):
    lanes, task = hot.lanes(), a_task()
    lanes.enter([task])
    assert hot.cold_lanes().cold() == []
    assert hot.cold_lanes().begin("n", TYPES) == []
    assert until_empty(lanes) == members_of([task])


def test_every_lost_lane_is_cold(hot):
    hot.forget_lanes()
    assert hot.cold_lanes().cold() == list(TYPES)


def test_a_lane_on_another_server_is_cold_and_begins_empty(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(2))
    hot.become_another_server()
    cold = hot.cold_lanes()
    assert cold.cold() == list(TYPES)
    cold.begin("n", TYPES)
    cold.open("n", TYPES)
    assert hot.lane_content(ECHO) == set()


def test_one_rebuilds_at_a_time(hot):
    cold = begun(hot)
    assert cold.begin("m", TYPES) == []


def test_a_rebuild_that_shows_no_progress_is_taken_over(hot):
    begun(hot, nonce_stays=SOON)
    others = hot.cold_lanes()
    eventually(lambda: others.begin("m", TYPES), within=10, reason="the nonce has ended")
    assert set(hot.cold_lanes().fill("n", ECHO, in_line(tasks(1)))) == {Entered.COLD}
    assert hot.cold_lanes().open("n", TYPES) == []


def test_a_rebuild_that_is_kept_goes_on(hot):
    begun(hot, nonce_stays=HOUR)
    assert hot.cold_lanes().keep("n", TYPES) == list(TYPES)
    assert hot.cold_lanes().keep("m", TYPES) == []


def test_a_rebuild_that_was_left_can_begin_again(hot):
    cold = begun(hot)
    cold.fill("n", ECHO, in_line(tasks(1)))
    cold.leave("m", TYPES)
    assert cold.begin("m", TYPES) == []
    cold.leave("n", TYPES)
    assert cold.begin("m", TYPES) == list(TYPES)
    cold.open("m", TYPES)
    assert hot.lane_content(ECHO) == set()


def test_what_was_filled_waits_in_order(hot):
    cold = begun(hot)
    waiting = tasks(10, priority=lambda place: Priority(place % 4))
    assert set(cold.fill("n", ECHO, in_line(waiting[5:]))) == {Entered.WAITS}
    assert set(cold.fill("n", ECHO, in_line(waiting[:5]))) == {Entered.WAITS}
    assert cold.open("n", TYPES) == list(TYPES)
    by_class = [one for start in (3, 2, 1, 0) for one in members_of(waiting[start::4])]
    assert until_empty(hot.lanes()) == by_class


def test_what_was_filled_has_its_bytes(hot):
    cold, task = begun(hot), a_task()
    cold.fill("n", ECHO, in_line([task]))
    cold.open("n", TYPES)
    (taken,) = take(hot.lanes()).tasks
    assert codec.open_envelope(taken.raw) == task.envelope


def test_what_runs_is_in_flight_until_its_look(hot):
    cold, (now, later) = begun(hot), tasks(2)
    runs = [
        Filled(envelope=now.envelope, look_after=BEFORE),
        Filled(envelope=later.envelope, look_after=A_WHILE),
    ]
    cold.fill("n", ECHO, runs)
    cold.open("n", TYPES)
    lanes = hot.lanes()
    assert members(take(lanes, 10)) == []
    seen = dict(lanes.watch(most=10))[ECHO].tasks
    assert [one.member for one in seen] == members_of([now])


def test_what_is_filled_twice_is_there_once(hot):
    cold, waiting = begun(hot), tasks(2)
    for _ in range(2):
        cold.fill("n", ECHO, in_line(waiting))
    cold.open("n", TYPES)
    assert until_empty(hot.lanes()) == members_of(waiting)


def test_more_are_filled_than_one_call_can_carry(hot):
    cold, waiting = begun(hot), tasks(1_100)
    assert set(cold.fill("n", ECHO, in_line(waiting))) == {Entered.WAITS}
    cold.open("n", TYPES)
    assert until_empty(hot.lanes(), 100) == members_of(waiting)


def test_a_lane_that_is_rebuilt_gives_nothing_and_takes_nothing(hot):
    begun(hot)
    assert hot.lanes().take(Take(type=ECHO, most=1)) == Cold()
    assert list(hot.lanes().epochs([ECHO])) == [None]


def test_a_live_lane_is_not_filled(hot):
    cold = begun(hot)
    cold.open("n", [ECHO])
    assert set(cold.fill("n", ECHO, in_line(tasks(1)))) == {Entered.COLD}
    assert set(cold.fill("n", EMAIL, in_line([a_task(type=EMAIL)]))) == {Entered.WAITS}


def test_a_rebuilt_lane_has_another_epoch(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(1))
    before = take(lanes)
    cold = begun(hot)
    (task,) = before.tasks
    envelope = codec.open_envelope(task.raw)
    cold.fill("n", ECHO, [Filled(envelope=envelope, look_after=A_WHILE)])
    cold.open("n", TYPES)
    take(lanes, 0, leaves=leaves(before), epoch=before.epoch)
    lanes.leave(ECHO, leaves(before))
    assert len(hot.lane_content(ECHO)) == 1


def test_epochs_are_those_that_takes_name(hot):
    lanes = hot.lanes()
    assert lanes.epochs([ECHO, EMAIL]) == [
        take(lanes, 0).epoch,
        take(lanes, 0, type=EMAIL).epoch,
    ]


def test_each_renewed_epoch_is_another_one(hot):
    lanes, cold = hot.lanes(), hot.cold_lanes()
    epochs = []
    for _ in range(20):
        epochs += lanes.epochs([ECHO])
        cold.renew_epochs()
    assert len(set(epochs)) == 20


def test_a_cold_lane_needs_no_new_epoch(hot):
    hot.become_another_server()
    hot.cold_lanes().renew_epochs()
    assert hot.lanes().epochs([ECHO]) == [None]


def test_lanes_that_were_live_on_the_server_before_are_opened_as_they_are(valkey):
    """A local server that was shut down in order has lost nothing."""
    hot, task = InValkey(Session(valkey)), a_task()
    try:
        hot.lanes().enter([task])
        hot.become_another_server()
        open_lanes(hot.session, TYPES, since="a third one")
        assert hot.cold_lanes().cold() == list(TYPES)
        open_lanes(hot.session, TYPES, since="another server")
        assert hot.cold_lanes().cold() == []
        assert until_empty(hot.lanes()) == members_of([task])
    finally:
        hot.session.close()


def held(cold, task_type=ECHO, *, most=10):
    """Return everything that a lane holds, page after page."""
    place, found = cold.held(task_type, after="0", most=most)
    while place != "0":
        place, others = cold.held(task_type, after=place, most=most)
        found = [*found, *others]
    return {one.member: one.raw for one in found}


def test_a_closed_lane_takes_and_gives_nothing_and_keeps_what_it_holds(hot):
    lanes, cold, waiting = hot.lanes(), hot.cold_lanes(), tasks(3, fairness_key="a b")
    lanes.enter(waiting)
    (flies,) = members(take(lanes, 1))
    cold.close([ECHO])
    assert cold.cold() == [ECHO]
    assert lanes.enter([a_task()]).answers == (Entered.COLD,)
    assert lanes.take(Take(type=ECHO, most=1)) == Cold()
    assert held(cold) == {
        member: one.raw for member, one in zip(members_of(waiting), waiting, strict=True)
    }
    assert flies in held(cold)


def test_a_lane_is_closed_twice_and_others_stay_open(hot):
    lanes, cold, mail = hot.lanes(), hot.cold_lanes(), a_task(type=EMAIL)
    lanes.enter([mail])
    for _ in range(2):
        assert cold.close([ECHO]) == [ECHO]
    assert (held(cold), cold.cold()) == ({}, [ECHO])
    assert held(cold, EMAIL) == {members_of([mail])[0]: mail.raw}
    assert until_empty(lanes, type=EMAIL) == members_of([mail])


def test_a_lane_that_lost_data_is_not_closed(hot):
    hot.forget_lanes()
    cold = hot.cold_lanes()
    assert (cold.close([ECHO]), cold.empty([ECHO])) == ([], [])


def test_a_closed_lane_is_emptied_unless_a_rebuild_has_begun(hot):
    lanes, cold = hot.lanes(), hot.cold_lanes()
    lanes.enter(tasks(3))
    cold.close([ECHO, EMAIL])
    assert cold.begin("n", [EMAIL]) == [EMAIL]
    assert cold.empty([ECHO, EMAIL]) == [ECHO]
    assert held(cold) == {}
    assert cold.close([ECHO, EMAIL]) == [ECHO]


def test_a_large_lane_is_listed_page_by_page(hot):
    waiting = tasks(1_200)
    hot.lanes().enter(waiting)
    cold = hot.cold_lanes()
    cold.close([ECHO])
    assert held(cold, most=100).keys() == set(members_of(waiting))
    assert len(cold.held(ECHO, after="0", most=100)[1]) < 1_200


class Weighed(Session):
    """Remembers the largest call, and how much went into one exchange at most."""

    call_bytes = exchange_bytes = 0

    def call(self, script, calls, **how):
        sizes = [sum(map(_size, arguments)) for _, arguments in calls]
        self.call_bytes = max([self.call_bytes, *sizes])
        self.exchange_bytes = max(self.exchange_bytes, sum(sizes))
        return super().call(script, calls, **how)


def _size(argument):
    return len(argument) if isinstance(argument, bytes) else 0


@pytest.fixture
def weighed(valkey):
    session = Weighed(valkey)
    yield InValkey(session), session
    session.close()


def large(count):
    return tasks(count, payload=Raw(b'"' + b"x" * 250_000 + b'"'))


def test_large_tasks_are_filled_in_a_few_megabytes_at_a_time(weighed):
    """Redis serves nobody else meanwhile, and no call waits for long."""
    hot, session = weighed
    cold, waiting = begun(hot), large(50)
    assert set(cold.fill("n", ECHO, in_line(waiting))) == {Entered.WAITS}
    assert session.exchange_bytes < 5_000_000
    cold.open("n", [ECHO])
    assert until_empty(hot.lanes(), 10) == members_of(waiting)


def test_large_tasks_enter_in_a_few_megabytes_at_a_time(weighed):
    hot, session = weighed
    waiting = large(50)
    assert set(hot.lanes().enter(waiting, past=True).answers) == {Entered.WAITS}
    assert session.call_bytes < 5_000_000
    assert until_empty(hot.lanes(), 10) == members_of(waiting)
