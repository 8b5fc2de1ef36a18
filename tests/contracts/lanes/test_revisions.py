"""A lane knows the revision of its pauses, and keeps the newest that it was given."""

from taskmill.core.task import Millis
from taskmill.lanes.lane import LanePause
from tests.builders import ECHO, now_ms
from tests.contracts.lane_words import EMAIL, a_task

EVERYTHING = LanePause(type=None)


def ends(lanes):
    """Return until when each type is paused."""
    return [one.paused_until_ms for one in lanes.count([ECHO, EMAIL])]


def test_a_lane_that_was_given_none_has_no_revision(hot):
    assert hot.lanes().revisions([ECHO, EMAIL]) == [0, 0]


def test_every_lane_gets_all_pauses_and_their_revision(hot):
    lanes, until = hot.lanes(), Millis(now_ms() + 60_000)
    lanes.set_pauses([LanePause(type=ECHO, until_ms=until)], revision=7)
    assert (lanes.revisions([ECHO, EMAIL]), ends(lanes)) == ([7, 7], [until, None])
    lanes.set_pauses([EVERYTHING], revision=8)
    assert (lanes.revisions([ECHO, EMAIL]), ends(lanes)) == ([8, 8], [0, 0])
    lanes.set_pauses([], revision=9)
    assert (lanes.revisions([ECHO, EMAIL]), ends(lanes)) == ([9, 9], [None, None])


def test_a_lane_keeps_the_newer_revision(hot):
    lanes = hot.lanes()
    lanes.set_pauses([EVERYTHING], revision=8)
    lanes.set_pauses([], revision=7)
    assert (lanes.revisions([ECHO]), ends(lanes)) == ([8], [0, 0])


def test_a_cold_lane_has_none_and_takes_none(hot):
    lanes = hot.lanes()
    lanes.set_pauses([EVERYTHING], revision=3)
    hot.forget_lanes()
    assert lanes.revisions([ECHO]) == [None]
    lanes.set_pauses([EVERYTHING], revision=4)
    cold = hot.cold_lanes()
    cold.open("nonce", cold.begin("nonce", [ECHO]))
    assert lanes.revisions([ECHO]) == [0]


def test_a_lane_that_is_rebuilt_takes_pauses_before_it_is_opened(hot):
    lanes, cold = hot.lanes(), hot.cold_lanes()
    hot.forget_lanes()
    types = cold.begin("nonce", [ECHO, EMAIL])
    lanes.set_pauses([EVERYTHING], revision=3)
    assert lanes.revisions([ECHO]) == [None]
    cold.open("nonce", types)
    assert (lanes.revisions([ECHO]), ends(lanes)) == ([3], [0, 0])


def test_a_caller_that_cannot_wake_leaves_that_to_the_next_tick(hot):
    lanes = hot.lanes()
    lanes.set_pauses([EVERYTHING], revision=1)
    lanes.enter([a_task()])
    assert list(lanes.set_pauses([], revision=2, wakes=False)) == []
    watched = dict(lanes.watch(most=1))
    assert [one.type for one in watched[ECHO].wake] == [ECHO]
