"""Each instant of a schedule fires once, is skipped or missed, by its policies."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core.task import Millis
from taskmill.core.time import in_ms
from taskmill.schedules.catch_up import MOST, CatchUp
from taskmill.schedules.clock_changes import Dst, Fold, Gap
from taskmill.schedules.fire_due import BATCH
from taskmill.schedules.fire_step import millis_of
from taskmill.schedules.manage import (
    Contended,
    KeptSchedule,
    NoSchedule,
    backfill,
    delete,
    pause,
    put,
    trigger,
)
from taskmill.schedules.schedule import OCTETS_AT_A_TIME, Draft, FireTally, Overlap
from taskmill.schedules.zones import LATEST
from taskmill.stores.memory.schedules import MemorySchedules
from tests.unit.schedules.conftest import ZONE
from tests.unit.schedules.scheduling import HOUR, MINUTE, NOON, SECOND, T, wanted
from tests.unit.world import Instead


def test_an_instant_fires_once_at_its_time_and_never_before(scheduling):
    scheduling.make()
    assert scheduling.fire(behind=MINUTE - 1) == 0
    assert scheduling.fire(behind=1) == 1
    assert scheduling.fire() == 0
    assert scheduling.fire(behind=MINUTE - 1) == 0
    assert scheduling.fire(behind=1) == 1
    assert scheduling.fired() == [60, 120]
    seen = scheduling.seen()
    assert (seen.tally, seen.next_at_ms) == (FireTally(fired=2), NOON + 3 * MINUTE)
    assert (seen.last.nominal_ms, seen.last.at_ms) == (NOON + 2 * MINUTE, NOON + 2 * MINUTE)


def test_seconds_and_periods_fire_too(scheduling):
    scheduling.make("six", cron="* * * * * */20")
    scheduling.make("every", cron=None, every_seconds=30)
    for _ in range(60):
        scheduling.fire(behind=SECOND)
    assert scheduling.fired("six") == [20, 40, 60]
    assert scheduling.fired("every") == [30, 60]


@pytest.mark.parametrize(
    ("catch_up", "fired", "missed"),
    [
        (CatchUp.NONE, [], 3),
        (CatchUp.ONE, [180], 2),
        (CatchUp.ALL, [60, 120, 180], 0),
    ],
)
def test_after_three_instants_without_a_scheduler_the_policy_says_what_fires(
    scheduling, catch_up, fired, missed
):
    scheduling.make(catch_up=catch_up)
    scheduling.fire(behind=3 * MINUTE + 45 * SECOND)
    assert scheduling.fired() == fired
    assert scheduling.seen().tally == FireTally(fired=len(fired), missed=missed)
    assert scheduling.seen().next_at_ms == NOON + 4 * MINUTE
    scheduling.fire(behind=15 * SECOND)
    assert scheduling.fired()[-1] == 240


def test_of_a_long_downtime_so_many_are_made_up_for_and_no_more(scheduling):
    scheduling.make(catch_up=CatchUp.ALL)
    scheduling.fire(behind=10 * HOUR)
    assert scheduling.fired() == [60 * n for n in range(600 - MOST + 1, 601)]
    assert scheduling.seen().tally == FireTally(fired=MOST, missed=600 - MOST)
    scheduling.make("windowed", catch_up=CatchUp.ALL, catch_up_window_seconds=600)
    scheduling.fire(behind=HOUR)
    assert len(scheduling.fired("windowed")) == 10


def test_a_busy_scheduler_is_no_downtime(scheduling):
    scheduling.make(cron="* * * * * *", catch_up=CatchUp.NONE)
    scheduling.fire(behind=20 * SECOND)
    assert scheduling.fired() == list(range(1, 21))


@pytest.mark.parametrize("gap", Gap)
def test_what_clocks_leave_out_fires_as_the_policy_says(scheduling, gap):
    scheduling.now = Millis(1_806_195_600_000)  # 2027-03-28 01:00 in Berlin: an hour before the gap
    dst = Dst(gap=gap, fold=Fold.FIRST)
    scheduling.make(cron="30 2 * * *", timezone="Europe/Berlin", dst=dst)
    for _ in range(24):
        scheduling.fire(behind=HOUR // 4)
    assert len(scheduling.fired()) == (gap is Gap.SHIFT)


@pytest.mark.parametrize("fold", Fold)
def test_what_clocks_show_twice_fires_as_the_policy_says(scheduling, fold):
    scheduling.now = Millis(1_824_940_800_000)  # 2027-10-31 02:00 in Berlin, for the first time
    dst = Dst(gap=Gap.SKIP, fold=fold)
    scheduling.make(cron="30 2 * * *", timezone="Europe/Berlin", dst=dst)
    for _ in range(24):
        scheduling.fire(behind=HOUR // 4)
    assert len(scheduling.fired()) == (2 if fold is Fold.BOTH else 1)


def test_two_schedulers_that_saw_the_same_fire_it_once(scheduling):
    scheduling.make()
    scheduling.now += MINUTE
    schedules = scheduling.schedules

    def another_was_faster(steps):
        scheduling.schedules = schedules
        assert scheduling.fire() == 1
        return schedules.advance(steps)

    scheduling.schedules = Instead(schedules, advance=another_was_faster)
    assert scheduling.fire() == 0
    assert scheduling.fired() == [60]


class Forgetful(MemorySchedules):
    """Applies every step, even if the schedule changed since it was read."""

    def advance(self, steps):
        return super().advance([replace(step, seen=self._now(step.seen)) for step in steps])

    def _now(self, seen):
        return self.find(seen.tenant, seen.name)


def test_without_the_comparison_an_instant_would_be_asked_for_twice(scheduling):
    """What the one before shows would not show otherwise."""
    scheduling.schedules = Forgetful(
        lambda: scheduling.ledger, scheduling.requests, scheduling.clock
    )
    scheduling.make()
    scheduling.now += MINUTE
    schedules = scheduling.schedules

    def another_was_faster(steps):
        scheduling.schedules = schedules
        assert scheduling.fire() == 1
        return schedules.advance(steps)

    scheduling.schedules = Instead(schedules, advance=another_was_faster)
    assert scheduling.fire() == 1
    assert scheduling.fired() == [60, 60]


def test_more_than_a_batch_is_fired_in_one_turn_those_first_that_wait_longest(scheduling):
    for number in range(2 * BATCH + 1):
        scheduling.make(f"n{number}")
    assert scheduling.fire(behind=MINUTE) == 2 * BATCH + 1
    assert len({kept.row.task_id for kept in scheduling.requests.kept}) == 2 * BATCH + 1


def test_what_is_too_large_for_one_statement_is_fired_in_several(scheduling):
    """In their order, in one turn, and each once."""
    answer, schedules = [], scheduling.schedules

    def measured(steps):
        answer.append(sum(len(fire.request.request) for step in steps for fire in step.fires))
        return schedules.advance(steps)

    scheduling.schedules = Instead(schedules, advance=measured)
    large = Raw(b'{"type":"echo","payload":{"say":"' + b"x" * 250_000 + b'"}}')
    for name in ("one", "other"):
        scheduling.make(name, catch_up=CatchUp.ALL, task=large)
    scheduling.make("small")
    assert scheduling.fire(behind=99 * MINUTE) == 199
    assert 6 <= len(answer) <= 9
    assert max(answer) <= OCTETS_AT_A_TIME
    for name in ("one", "other"):
        assert scheduling.fired(name) == [60 * n for n in range(1, 100)]
        assert scheduling.seen(name).held == []
        assert scheduling.seen(name).next_at_ms == NOON + 100 * MINUTE
    assert scheduling.fired("small") == [5_940]


def test_jitter_begins_each_instant_later_by_as_much_as_ever(scheduling):
    scheduling.make(jitter_seconds=30)
    scheduling.fire(behind=MINUTE)
    run_at = datetime.fromisoformat(json.loads(scheduling.requests.kept[0].row.request)["run_at"])
    late = in_ms(run_at - datetime(1970, 1, 1, tzinfo=UTC)) - NOON - MINUTE
    assert 0 <= late < 30 * SECOND
    backfill("n", Millis(NOON + 1), Millis(NOON + MINUTE), scheduling.schedules, tenant=T)
    first, again = (kept.row.request for kept in scheduling.requests.kept)
    assert first == again


def test_what_was_foreseen_by_a_rule_that_is_broken_fires_behind_the_edit(scheduling, rules):
    rules(1)
    scheduling.make(timezone=ZONE)
    scheduling.make("early", timezone=ZONE)
    scheduling.now += MINUTE
    rules(None)
    scheduling.put(cron="0 * * * *")
    scheduling.fire()
    assert scheduling.fired() == [60]
    pause("early", scheduling.schedules, tenant=T, by="ada")
    assert scheduling.seen("early").tally == FireTally(missed=1)


def test_a_schedule_whose_zone_is_gone_stops_no_other(scheduling, rules):
    rules(1)
    scheduling.make("broken", timezone=ZONE)
    scheduling.make("sound")
    rules(None)
    assert scheduling.fire(behind=MINUTE) == 1
    assert scheduling.schedules.due(most=9).schedules == []
    rules(1)
    assert scheduling.fire(behind=MINUTE) == 2
    assert len(scheduling.fired("broken")) == 1


def test_where_one_scheduler_lacks_a_zone_another_still_fires_in_time(scheduling, rules):
    rules(1)
    scheduling.make(timezone=ZONE, catch_up=CatchUp.NONE)
    rules(None)
    assert scheduling.fire(behind=MINUTE) == 0
    rules(1)
    assert scheduling.fire(behind=15 * SECOND) == 1


def test_rules_of_a_zone_that_changed_count_from_then_on(scheduling):
    """What was foreseen before is neither fired nor lost."""
    scheduling.make("early", cron="30 * * * *")
    scheduling.make("late", cron="30 * * * *")
    for name, foreseen in (("early", 20), ("late", 40)):
        seen = scheduling.seen(name)
        scheduling.schedules.change(
            seen, replace(as_it_is(seen), next_at_ms=NOON + foreseen * MINUTE)
        )
    for _ in range(45):
        scheduling.fire(behind=MINUTE)
    assert scheduling.fired("early") == scheduling.fired("late") == [30 * 60]
    assert scheduling.seen("late").next_at_ms == NOON + 90 * MINUTE


def as_it_is(seen):
    names = {*Draft.__struct_fields__} - {"skipped", "missed"}
    return Draft(**{name: getattr(seen, name) for name in names})


def test_what_waits_for_long_is_looked_at_more_seldom(scheduling):
    scheduling.make(overlap=Overlap.QUEUE_ONE, cron="0 0 * * *")
    trigger("n", scheduling.schedules, tenant=T)
    scheduling.fire(behind=24 * HOUR)
    looks = 0
    schedules = scheduling.schedules

    def looked(*, most):
        nonlocal looks
        answer = schedules.due(most=most)
        looks += len(answer.schedules)
        return answer

    scheduling.schedules = Instead(schedules, due=looked)
    for _ in range(HOUR // 1_000):
        scheduling.fire(behind=1_000)
    assert 300 < looks < 500


def test_a_clock_that_goes_back_fires_nothing_twice(scheduling):
    scheduling.make()
    scheduling.fire(behind=MINUTE)
    scheduling.fire(behind=-HOUR)
    scheduling.fire(behind=HOUR)
    assert scheduling.fired() == [60]


def test_what_changes_all_the_time_is_given_up(scheduling):
    scheduling.make()
    verbs = ("change", "trigger", "delete")
    contended = Instead(scheduling.schedules, **dict.fromkeys(verbs, lambda *_: False))
    answers = [
        pause("n", contended, tenant=T, by="ada"),
        put(wanted(), contended, tenant=T, by="ada"),
        trigger("n", contended, tenant=T),
        delete("n", contended, tenant=T),
    ]
    assert answers == [Contended()] * 4


def test_what_is_not_there_is_told(scheduling):
    assert pause("n", scheduling.schedules, tenant=T, by="ada") == NoSchedule()
    assert isinstance(put(wanted(), scheduling.schedules, tenant=T, by="ada"), KeptSchedule)
    assert scheduling.fire() == 0


def test_a_rule_that_comes_no_more_is_looked_at_no_more(scheduling):
    scheduling.now = Millis(millis_of(LATEST) - 2 * MINUTE)
    scheduling.make()
    scheduling.fire(behind=MINUTE)
    assert scheduling.seen().next_at_ms is None
    assert scheduling.fire(behind=int(timedelta(days=1) / timedelta(milliseconds=1))) == 0
