"""A pause is in the rule book first and in the lanes soon, whatever is away meanwhile."""

import pytest

from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import Millis, TaskType
from taskmill.core.topics import worker
from taskmill.lanes.pauses import NotPaused, pause, pauses, resume
from taskmill.lanes.repeat_pauses import repeat_pauses
from taskmill.lanes.rules import EVERYTHING, PauseOrder, key_of
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.memory.lanes.rules import MemoryRules
from tests.unit.world import Away, Instead, World

ECHO, REPORT = key_of(TaskType("echo")), key_of(TaskType("report"))


@pytest.fixture
def world():
    return World(catalogue=AssembledCatalogue())


def ordered(world, key=ECHO, *, stores=None, **changes):
    order = PauseOrder(**{"key": key, "by": "ada"} | changes)
    return pause(order, stores or world.stores())


def resumed(world, key=ECHO):
    return resume(key, world.stores())


def wake_ups(world):
    return len(world.log.records(worker(TaskType("echo"))))


def without_redis(world):
    """Return stores of which only the lanes are away."""
    return world.stores(lanes=Away())


def test_a_paused_type_starts_nothing_until_it_is_resumed(world):
    (task,) = world.admitted()
    assert ordered(world).is_new
    assert world.take() == ()
    assert resumed(world).pause.by == "ada"
    (taken,) = world.take()
    assert taken.member.id == task.id


def test_a_pause_ends_by_itself(world):
    world.admitted()
    ordered(world, until_ms=Millis(world.now + 1_000))
    world.pass_time(milliseconds=999)
    assert world.take() == ()
    assert len(pauses(world.stores())) == 1
    world.pass_time(milliseconds=1)
    assert len(world.take()) == 1
    assert pauses(world.stores()) == []


def test_another_type_runs_on_unless_everything_is_paused(world):
    world.admitted()
    ordered(world, REPORT)
    assert len(world.take()) == 1
    world.admitted()
    ordered(world, EVERYTHING)
    assert world.take() == ()


def test_the_pause_of_a_type_outlasts_that_of_everything(world):
    world.admitted()
    ordered(world, ECHO)
    ordered(world, EVERYTHING)
    resumed(world, EVERYTHING)
    assert world.take() == ()
    resumed(world, ECHO)
    assert len(world.take()) == 1


def test_a_second_pause_replaces_the_first(world):
    ordered(world, until_ms=Millis(world.now + 1_000), reason="slow")
    again = ordered(world, by="bob")
    assert (again.is_new, again.pause.until_ms, again.pause.reason) == (False, None, None)
    (paused,) = pauses(world.stores())
    assert paused.by == "bob"


def test_after_the_end_of_a_pause_there_is_none_to_end_and_the_next_one_is_new(world):
    assert resumed(world) == NotPaused()
    ordered(world, until_ms=Millis(world.now + 1_000))
    world.pass_time(seconds=1)
    assert ordered(world, until_ms=Millis(world.now + 1_000)).is_new
    world.pass_time(seconds=1)
    assert resumed(world) == NotPaused()


def test_after_the_end_of_a_pause_the_next_tick_wakes_workers(world):
    ordered(world)
    world.admitted()
    world.watch()
    assert wake_ups(world) == 0
    resumed(world)
    assert wake_ups(world) == 0
    world.watch()
    assert wake_ups(world) == 1


def test_pauses_are_repeated_although_the_log_is_away(world):
    ordered(world)
    world.admitted()
    resume(ECHO, without_redis(world))
    world.log.is_away = True
    assert repeat_pauses(world.stores()) > 0
    assert len(world.take()) == 1


def test_without_redis_the_scheduler_sets_it_later(world):
    world.admitted()
    assert ordered(world, stores=without_redis(world)).is_deferred
    assert [one.key for one in pauses(world.stores())] == [ECHO]
    assert repeat_pauses(world.stores()) == len(world.catalogue.entries())
    assert world.take() == ()
    assert repeat_pauses(world.stores()) == 0


def test_a_resume_without_redis_is_made_up_for_and_wakes_workers(world):
    ordered(world)
    world.admitted()
    assert resume(ECHO, without_redis(world)).is_deferred
    assert world.take() == ()
    assert repeat_pauses(world.stores()) > 0
    assert wake_ups(world) == 1
    assert len(world.take()) == 1


def test_nothing_is_paused_while_the_ledger_is_away(world):
    world.admitted()
    world.ledger.is_away = True
    for attempt in (lambda: ordered(world), lambda: resumed(world), lambda: pauses(world.stores())):
        with pytest.raises(StoreUnavailable):
            attempt()
    assert len(world.take()) == 1


def test_a_lane_that_was_lost_gets_its_pauses_while_it_is_rebuilt(world):
    ordered(world)
    world.hot.lanes.forget()
    cold = world.ports.cold_lanes
    types = cold.begin("nonce", cold.cold())
    repeat_pauses(world.stores())
    cold.open("nonce", types)
    world.admitted()
    assert world.take() == ()


def test_a_ledger_of_an_earlier_time_outruns_the_lanes(world):
    ordered(world)
    world.admitted()
    world.ports.rules = rules = MemoryRules(lambda: world.ledger, world.clock)
    assert repeat_pauses(world.stores()) == len(world.catalogue.entries())
    assert rules.revision() == 2
    assert len(world.take()) == 1
    assert repeat_pauses(world.stores()) == 0


def test_without_any_change_the_lanes_are_left_alone(world):
    refused = Instead(world.ports.lanes, set_pauses=None)
    assert repeat_pauses(world.stores(lanes=refused)) == 0
    ordered(world)
    assert repeat_pauses(world.stores(lanes=refused)) == 0
