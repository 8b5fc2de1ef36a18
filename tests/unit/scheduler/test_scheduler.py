"""The scheduler publishes due entries until its time is nearly over, despite failing stores."""

import logging
from datetime import timedelta

import pytest
from msgspec.structs import replace

from functions.scheduler.handler import lambda_handler as scheduler
from taskmill.core import topics
from taskmill.core.counting import Span
from taskmill.core.errors import StoreUnavailable
from taskmill.core.owed import Owed, OwedKey, OwedKind
from taskmill.core.task import TaskId, TaskType
from taskmill.lanes.pauses import pause
from taskmill.lanes.rules import EVERYTHING, PauseOrder
from tests.builders import an_envelope, died
from tests.unit.stage import NOW, Stage, do_job
from tests.unit.world import Away, Instead

LIFE = timedelta(seconds=125)


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def owe(stage, number, *, at_ms=NOW, kind=OwedKind.SUBMISSION, facts=()):
    """Create a due entry, as a script leaves it; return the task."""
    task = an_envelope(id=TaskId(f"019f0000-0000-7000-8000-{number:012d}"), generation=NOW)
    name = OwedKey(id=task.id, generation=NOW, turn=1, kind=kind)
    stage.hot.due[name] = (at_ms, Owed(task=task, facts=facts))
    return task


def run(stage, *, lives=LIFE):
    """Return how much was published in a run."""
    return scheduler({}, stage.context(lives=lives))["publish_due"]


def test_a_tick_publishes_what_is_due_and_clears_it(stage):
    submitted = owe(stage, 1)
    retried = owe(stage, 2, kind=OwedKind.TURN)
    assert run(stage) == 2
    assert stage.log.tasks(topics.PENDING) == [submitted]
    assert stage.waiting() == [retried]
    assert stage.hot.due == {}


def test_what_becomes_due_while_it_runs_is_published_in_time(stage):
    owe(stage, 1, at_ms=NOW + 60_000)
    run(stage)
    (record,) = stage.log.records(topics.PENDING)
    assert 0 <= record.at_ms - NOW - 60_000 <= 100


def test_what_is_not_due_yet_stays(stage):
    owe(stage, 1, at_ms=NOW + 200_000)
    assert run(stage) == 0
    assert len(stage.hot.due) == 1


def test_facts_stand_in_the_log_before_the_turn_that_follows_them(stage):
    task = an_envelope(id=TaskId("019f0000-0000-7000-8000-000000000001"), generation=NOW)
    fact = died(task)
    owe(stage, 1, kind=OwedKind.TURN, facts=(fact,))
    seen = []

    def watched():
        stage.log.flush()
        seen.append((stage.log.facts(), [one.id for one in stage.waiting()]))

    stage.ports.bus = Instead(stage.log, flush=watched)
    run(stage)
    entered = next(number for number, (_, waiting) in enumerate(seen) if waiting)
    assert [facts for facts, _ in seen[:entered]][-1] == [fact]
    assert seen[entered] == ([fact], [task.id])


def test_records_that_are_over_are_forgotten(stage):
    forgotten = TaskId("019f0000-0000-7000-8000-000000000001")
    stage.hot.lifetimes = {forgotten: NOW - 1, TaskId("later"): NOW + 10**9}
    run(stage)
    assert set(stage.hot.lifetimes) == {"later"}


@pytest.mark.parametrize("lives", [LIFE, timedelta(seconds=6)])
def test_a_run_ends_before_its_time_is_over(stage, lives):
    context = stage.context(lives=lives)
    scheduler({}, context)
    left = timedelta(milliseconds=context.get_remaining_time_in_millis())
    assert timedelta(seconds=4.8) <= left <= timedelta(seconds=5)


@pytest.mark.parametrize("lives", [timedelta(seconds=5), timedelta(0), timedelta(seconds=-1)])
def test_a_run_without_time_does_nothing(stage, lives):
    owe(stage, 1)
    assert run(stage, lives=lives) == 0
    assert stage.log.tasks(topics.PENDING) == []


def test_a_log_that_is_away_ends_no_run_and_what_was_taken_is_published_later(stage, caplog):
    owe(stage, 1)
    stage.log.is_away = True

    def come_back():
        stage.log.is_away = stage.clock() < NOW + 20_000

    stage.on_wait[:] = [come_back]
    with caplog.at_level(logging.WARNING, logger="taskmill"):
        assert run(stage) == 1
    assert len(stage.log.tasks(topics.PENDING)) == 1
    assert {(one.message, one.store) for one in caplog.records} == {
        ("periodic job failed: store unavailable", "Kafka")
    }


def test_a_store_that_is_away_is_asked_once_a_second(stage):
    asked = []

    def away(*, most):
        asked.append(most)
        raise StoreUnavailable("Redis", "it is set to be unavailable")

    stage.ports.due = Instead(stage.due, take=away)
    assert run(stage, lives=timedelta(seconds=25)) == 0
    assert len(asked) == 20


def test_two_runs_at_a_time_publish_everything(stage):
    owed = {owe(stage, number).id for number in range(20)}
    first = stage.due.take(most=10)
    assert run(stage) == 20, "what the first took and left is due again"
    assert {task.id for task in stage.log.tasks(topics.PENDING)} == owed
    assert len(first) == 10


def test_an_entry_of_a_task_that_was_replaced_does_no_harm(stage):
    task = owe(stage, 1)
    newer = replace(task, generation=NOW + 1)
    stage.hot.due[OwedKey(id=task.id, generation=NOW + 1, turn=1, kind=OwedKind.SUBMISSION)] = (
        NOW,
        Owed(task=newer),
    )
    assert run(stage) == 2
    assert stage.hot.due == {}


def test_a_pause_that_redis_missed_is_set_once_redis_is_back(stage):
    pause(PauseOrder(key=EVERYTHING, by="ada"), stage.stores(lanes=Away()))
    assert scheduler({}, stage.context(lives=LIFE))["repeat_pauses"] > 0
    assert stage.ports.lanes.count([TaskType("echo")])[0].paused_until_ms == 0


def test_a_run_that_has_nothing_to_publish_times_no_publishing(stage):
    run(stage)
    assert stage.counters.times(Span.PUBLISH) == []
    owe(stage, 1)
    run(stage)
    assert stage.counters.times(Span.PUBLISH)


def a_second(stage, port, method):
    """Return how often a second a run calls a method of a port."""
    inner, calls = getattr(stage.ports, port), []

    def noted(**how):
        calls.append(how)
        return getattr(inner, method)(**how)

    setattr(stage.ports, port, Instead(inner, **{method: noted}))
    scheduler({}, stage.context(lives=timedelta(seconds=65)))
    return len(calls) / 60


def test_empty_lanes_are_looked_at_less_often_but_before_anybody_takes_them_for_unwatched(stage):
    assert 1.4 <= a_second(stage, "lanes", "watch") <= 1.7


def test_lanes_in_which_something_waits_are_looked_at_five_times_a_second(stage):
    pause(PauseOrder(key=EVERYTHING, by="ada"), stage.ports)
    stage.wake(an_envelope(generation=NOW))
    assert 4 <= a_second(stage, "lanes", "watch") <= 5.1


def test_a_lane_that_was_lost_is_looked_for_once_a_second(stage):
    assert 0.9 <= a_second(stage, "cold_lanes", "cold") <= 1.1


def test_a_lost_lane_that_waits_for_its_shards_is_looked_at_twice_a_second(stage):
    stage.hot.lanes.forget()
    stage.ports.shards = Instead(stage.ports.shards, are_some=lambda: True)
    assert 1.8 <= a_second(stage, "cold_lanes", "cold") <= 2.1


def test_a_lane_that_was_lost_is_paused_before_it_is_opened(stage):
    pause(PauseOrder(key=EVERYTHING, by="ada"), stage.ports)
    stage.hot.lanes.forget()
    do_job("rebuild_lanes")
    assert stage.ports.lanes.count([TaskType("echo")])[0].paused_until_ms == 0
