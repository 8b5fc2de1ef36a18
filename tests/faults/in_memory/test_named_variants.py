"""Broken variants that random runs rarely reach: a scripted run finds each."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from msgspec import Raw

from taskmill.core import topics
from taskmill.core.lifetimes import LEASE
from taskmill.execution.outcome import Retry, Snooze, Succeeded
from taskmill.schedules.fire_due import ScheduleFirer
from taskmill.schedules.fire_step import arrived, millis_of, step_of
from taskmill.schedules.manage import make
from taskmill.schedules.read import WantedSchedule
from taskmill.schedules.schedule import Definition
from tests.faults import forgetful
from tests.faults.checker import check
from tests.faults.history import Fired, Plan, Sample
from tests.faults.mortals import WORK, Mortals, deaths

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
MILLISECOND = timedelta(milliseconds=1)
MINUTELY = Definition(task=Raw(b'{"type":"probe"}'), every_seconds=60)


class Story:
    """One system, its tasks, and the side effects of its handler."""

    def __init__(self, parts, *, perform=None):
        self.mortals = Mortals(self._perform, parts=parts)
        self.system = self.mortals.system
        self.runs = 0
        self._first = perform or (lambda _: None)

    def _perform(self, task):
        self.runs += 1
        outcome = self._first(task) or Succeeded("done")
        if isinstance(outcome, Succeeded):
            self.mortals.take_effect(task)
        return outcome

    def submit(self, *labels, death=None):
        """Submit tasks; a repeated name is a repeated request."""
        for label in labels:
            again = len(self.mortals.submits)
            self.mortals.submit(label, key=label, entropy=again, death=death)

    def live(self, work, **how):
        return self.mortals.live(work, **how)

    def pass_on(self):
        """Let everything except workers continue."""
        self.live(self.system.tick)
        for reader in (topics.DISPATCHER, *topics.RECORDERS):
            self.live(lambda reader=reader: self.system.step(reader))

    def work(self, **how):
        return self.live(lambda: self.system.step(WORK), **how)

    def redis_forgets(self, *, pause=None):
        self.mortals.hot.forget()
        self.live(lambda: self.system.rebuild(pause=pause))

    def a_shard_forgets(self):
        self.mortals.hot.forget_shards()
        self.live(self.system.rebuild)

    def enter_again(self):
        """Let the first turn of the first task enter once more."""
        first = next(iter(self.mortals.entered.values()))
        self.system.stores.lanes.enter([first])

    def go_on(self, *, rounds):
        for _ in range(rounds):
            self.mortals.clock.move(1.5 * SECOND)
            self.pass_on()
            self.work()

    def come_to_rest(self):
        self.go_on(rounds=40)
        return self.mortals.history(in_flight=1)


def two_schedulers_at_once(parts):
    story = Story(parts)
    story.submit("a", death=deaths("gateway after admit")[0])
    story.mortals.clock.move(10 * SECOND)
    first = story.system.stores.due.take(most=10)
    second = story.system.stores.due.take(most=10)
    answer = [Sample(name="takers of an entry", value=len([*first, *second]), cap=1)]
    return replace(story.mortals.history(), samples=answer)


def a_retry_behind_a_flush(parts):
    story = Story(parts, perform=lambda task: Retry("busy") if task.attempt <= 3 else None)
    story.submit("a")
    story.go_on(rounds=4)
    story.redis_forgets()
    return story.come_to_rest()


def a_copy_of_a_snoozed_turn(parts):
    story = Story(parts, perform=lambda _: Snooze(20 * SECOND) if story.runs == 1 else None)
    story.submit("a")
    story.pass_on()
    story.work()
    story.pass_on()
    story.enter_again()
    return story.come_to_rest()


def a_shard_lost_under_a_worker(parts):
    """Its lane lives, and looks at what this worker still runs."""

    def perform(_):
        if story.runs == 1:
            story.pass_on()
            story.a_shard_forgets()
            story.mortals.clock.move(SECOND)
            story.pass_on()
            story.work()

    story = Story(parts, perform=perform)
    story.submit("a")
    story.pass_on()
    story.work()
    return story.come_to_rest()


def a_running_task_that_enters_again(parts):
    """Its lane forgot it, and nobody has filled it yet."""

    def perform(_):
        if story.runs == 1:
            story.mortals.hot.forget_lanes()
            story.mortals.hot.lanes.open()
            story.enter_again()
            story.work()

    story = Story(parts, perform=perform)
    story.submit("a")
    story.pass_on()
    story.work()
    return story.come_to_rest()


def a_flush_while_the_ledger_is_behind(parts):
    story = Story(parts)
    story.submit("a")
    story.pass_on()
    story.work()
    waited = []

    def only_later_the_ledger(span):
        waited.append(span)
        story.mortals.clock.move(span)
        if sum(waited, timedelta()) > 2 * LEASE:
            story.pass_on()

    story.redis_forgets(pause=only_later_the_ledger)
    story.enter_again()
    story.mortals.clock.move(2 * LEASE)
    story.work()
    return story.come_to_rest()


def a_replay_behind_a_death(parts):
    story = Story(parts)
    story.submit("a", death=deaths("gateway after admit")[0])
    story.submit("a")
    story.redis_forgets()
    return story.come_to_rest()


def some_snoozes(parts):
    story = Story(parts, perform=lambda _: Snooze(SECOND) if story.runs <= 2 else None)
    story.submit("a")
    return story.come_to_rest()


def a_poison_among_others(parts):
    def perform(task):
        if task.metadata["label"] == "poison":
            story.mortals.present.die()

    story = Story(parts, perform=perform)
    story.submit("a", "b", "poison", "c", "d")
    return replace(story.come_to_rest(), expected_dead=frozenset({"poison"}), in_flight=None)


def an_instant_that_two_schedulers_saw(parts):
    """Another one fires what the first one saw; then none runs for five instants."""
    story = Story(parts)
    clock, stores = story.mortals.clock, story.system.stores
    schedules = stores.schedules
    wanted = WantedSchedule(name="s", definition=MINUTELY, enabled=None)
    first = make(wanted, schedules, tenant="default", by="ada").schedule.next_at_ms
    clock.move(MINUTE)
    steps = [
        step_of(arrived(seen, clock()), still_open=(), is_free=True)
        for seen in schedules.due(most=9).schedules
    ]
    schedules.advance(steps)
    schedules.advance(steps)
    clock.move(5 * MINUTE)
    ScheduleFirer(stores, cancel=lambda _: True, now=timedelta).fire()
    fired = [_become_a_task(story, kept.row) for kept in stores.queue.kept]
    plan = Plan(schedule="s", fires_ms=[first, first + 5 * MINUTE // MILLISECOND])
    return replace(story.come_to_rest(), plans=[plan], fires=fired)


def _become_a_task(story, row):
    """Let the relay take what a fire enqueued."""
    key = json.loads(row.request)["idempotency_key"]
    _, schedule, instant = key.split("#")[0].split(":", maxsplit=2)
    asked = story.mortals.submit(instant, key=key)
    nominal_ms = millis_of(datetime.fromisoformat(instant))
    at_ms = story.mortals.clock()
    return Fired(schedule=schedule, nominal_ms=nominal_ms, task_id=asked.id, at_ms=at_ms)


STORIES = {
    "cron without its unique instant": (
        an_instant_that_two_schedulers_saw,
        forgetful.NO_UNIQUE_INSTANT,
        "I13 cron",
    ),
    "publish-then-remove without a hold": (
        two_schedulers_at_once,
        forgetful.UNHELD,
        "I16 bounded",
    ),
    "tokens that start again at 1 after a flush": (
        a_retry_behind_a_flush,
        forgetful.TOKENS_FROM_ONE,
        "I6 fencing",
    ),
    "attempt used as the order instead of turn": (
        a_copy_of_a_snoozed_turn,
        forgetful.BY_ATTEMPT,
        "I4 monotonic",
    ),
    "running restored as due at once": (
        a_shard_lost_under_a_worker,
        forgetful.AS_DUE,
        "I5 effect once",
    ),
    "a lease that keeps nobody out": (
        a_running_task_that_enters_again,
        forgetful.OPEN_TO_ALL,
        "I5 effect once",
    ),
    "rebuild without waiting for the ledger": (
        a_flush_while_the_ledger_is_behind,
        forgetful.HASTY,
        "I5 effect once",
    ),
    "replay that never republishes": (
        a_replay_behind_a_death,
        forgetful.SILENT,
        "I1 no loss",
    ),
    "snoozes counted as attempts": (some_snoozes, forgetful.SNOOZES_SPEND, "I10 attempts"),
    "losses blamed on batch-mates": (
        a_poison_among_others,
        forgetful.BLAMING,
        "P1 blame",
    ),
}


@pytest.fixture(autouse=True)
def _quiet(caplog):
    """Keep complaints of stale workers and rebuilds out of the report."""
    caplog.set_level("CRITICAL", logger="taskmill")


@pytest.mark.parametrize("story", sorted({answer for answer, _, _ in STORIES.values()}, key=str))
def test_the_system_as_it_is_comes_well_through_this_story(story):
    assert [str(one) for one in check(story(None))] == []


@pytest.mark.parametrize(("story", "parts", "invariant"), STORIES.values(), ids=STORIES)
def test_a_system_of_this_kind_is_caught_in_its_story(story, parts, invariant, figures):
    found = {complaint.invariant for complaint in check(story(parts))}
    figures.tell("negative controls", f"{story.__name__}: {', '.join(sorted(found))}")
    assert invariant in found
