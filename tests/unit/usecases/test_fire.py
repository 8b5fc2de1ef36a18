"""Each instant of a schedule fires once, is skipped or missed as its policies say."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import Raw
from msgspec.structs import replace

from taskmill.adapters.memory.enqueued import MemoryRequests
from taskmill.adapters.memory.ledger import MemoryLedger
from taskmill.adapters.memory.schedules import MemorySchedules
from taskmill.domain import firing
from taskmill.domain.catching_up import MOST, CatchUp
from taskmill.domain.coming import Dst, Fold, Gap
from taskmill.domain.errors import ScheduleBroken
from taskmill.domain.firing import LOOK_AGAIN_MS, MOST_SELDOM_MS
from taskmill.domain.refusal import invalid
from taskmill.domain.retention import in_ms
from taskmill.domain.schedule import (
    OCTETS_AT_A_TIME,
    OPEN_TASKS,
    Definition,
    Draft,
    FireTally,
    Overlap,
)
from taskmill.domain.task import Millis
from taskmill.usecases import fire as fire_module
from taskmill.usecases.fire import BATCH, LEDGER_MAY_LAG_MS, LONGEST_CANCELLING, fire
from taskmill.usecases.keep_schedules import (
    Kept,
    NoSchedule,
    Restless,
    backfill,
    delete,
    make,
    pause,
    put,
    resume,
    trigger,
)
from taskmill.usecases.reading_schedules import Wanted
from tests.builders import a_fresh_envelope, started, succeeded
from tests.contracts.ledgers import batch_of

T = "default"
NOON = Millis(1_794_009_600_000)  # 2026-11-07 00:00 UTC
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


class Desk:
    """One schedule table, with a clock that stands still."""

    def __init__(self):
        self.now = NOON
        self.ledger = MemoryLedger()
        self.requests = MemoryRequests(self.clock)
        self.schedules = MemorySchedules(lambda: self.ledger, self.requests, self.clock)
        self.cancelled = []
        self.can_cancel = True
        self.cancelling_takes = timedelta()
        self.ran_for = timedelta()
        self.on_cancel = lambda: None

    def clock(self):
        return Millis(self.now)

    def make(self, name="n", **changes):
        return make(wanted(name, **changes), self.schedules, tenant=T, by="ada").schedule

    def put(self, name="n", **changes):
        return put(wanted(name, **changes), self.schedules, tenant=T, by="ada").schedule

    def seen(self, name="n"):
        return self.schedules.find(T, name)

    def fire(self, *, behind=0):
        self.now += behind
        return fire(self.schedules, cancel=self.cancel, now=self.running)

    def running(self):
        return self.ran_for

    def cancel(self, task_id):
        self.cancelled.append(task_id)
        self.ran_for += self.cancelling_takes
        self.on_cancel()
        return self.can_cancel

    def fired(self, name="n"):
        """Return how long after midnight each instant is that was asked for, in seconds."""
        keys = [json.loads(kept.row.request)["idempotency_key"] for kept in self.requests.kept]
        mine = [key.partition(f"schedule:{name}:")[2] for key in keys]
        told = [datetime.fromisoformat(one) for one in mine if one and "trigger" not in one]
        return [(in_ms(at - datetime(1970, 1, 1, tzinfo=UTC)) - NOON) // SECOND for at in told]

    def take(self):
        """Let the relay take what is enqueued; the ledger knows it at once."""
        with self.requests.held(most=1_000) as held:
            rows = held.rows
            held.mark_done(rows)
        tasks = [a_fresh_envelope(id=row.task_id) for row in rows]
        self.ledger.record(batch_of(*tasks, *map(started, tasks)))
        return tasks

    def end(self, *tasks):
        self.ledger.record(batch_of(*map(succeeded, tasks)))


@pytest.fixture
def desk():
    return Desk()


def wanted(name="n", *, enabled=None, revision=None, **changes):
    values = {"task": Raw(b'{"type":"echo"}'), "cron": "* * * * *"}
    definition = Definition(**values | changes)
    return Wanted(name=name, definition=definition, enabled=enabled, revision=revision)


def test_an_instant_fires_once_at_its_time_and_never_before(desk):
    desk.make()
    assert desk.fire(behind=MINUTE - 1) == 0
    assert desk.fire(behind=1) == 1
    assert desk.fire() == 0
    assert desk.fire(behind=MINUTE - 1) == 0
    assert desk.fire(behind=1) == 1
    assert desk.fired() == [60, 120]
    seen = desk.seen()
    assert (seen.tally, seen.next_at_ms) == (FireTally(fired=2), NOON + 3 * MINUTE)
    assert (seen.last.nominal_ms, seen.last.at_ms) == (NOON + 2 * MINUTE, NOON + 2 * MINUTE)


def test_seconds_and_periods_fire_too(desk):
    desk.make("six", cron="* * * * * */20")
    desk.make("every", cron=None, every_seconds=30)
    for _ in range(60):
        desk.fire(behind=SECOND)
    assert desk.fired("six") == [20, 40, 60]
    assert desk.fired("every") == [30, 60]


@pytest.mark.parametrize(
    ("catch_up", "fired", "missed"),
    [
        (CatchUp.NONE, [], 3),
        (CatchUp.ONE, [180], 2),
        (CatchUp.ALL, [60, 120, 180], 0),
    ],
)
def test_after_three_instants_without_a_scheduler_the_policy_says_what_fires(
    desk, catch_up, fired, missed
):
    desk.make(catch_up=catch_up)
    desk.fire(behind=3 * MINUTE + 45 * SECOND)
    assert desk.fired() == fired
    assert desk.seen().tally == FireTally(fired=len(fired), missed=missed)
    assert desk.seen().next_at_ms == NOON + 4 * MINUTE
    desk.fire(behind=15 * SECOND)
    assert desk.fired()[-1] == 240


def test_of_a_long_downtime_so_many_are_made_up_for_and_no_more(desk):
    desk.make(catch_up=CatchUp.ALL)
    desk.fire(behind=10 * HOUR)
    assert desk.fired() == [60 * n for n in range(600 - MOST + 1, 601)]
    assert desk.seen().tally == FireTally(fired=MOST, missed=600 - MOST)
    desk.make("windowed", catch_up=CatchUp.ALL, catch_up_window_seconds=600)
    desk.fire(behind=HOUR)
    assert len(desk.fired("windowed")) == 10


def test_a_busy_scheduler_is_no_downtime(desk):
    desk.make(cron="* * * * * *", catch_up=CatchUp.NONE)
    desk.fire(behind=20 * SECOND)
    assert desk.fired() == list(range(1, 21))


@pytest.mark.parametrize("gap", Gap)
def test_what_clocks_leave_out_fires_as_the_policy_says(desk, gap):
    desk.now = Millis(1_806_195_600_000)  # 2027-03-28 01:00 in Berlin: an hour before the gap
    dst = Dst(gap=gap, fold=Fold.FIRST)
    desk.make(cron="30 2 * * *", timezone="Europe/Berlin", dst=dst)
    for _ in range(24):
        desk.fire(behind=HOUR // 4)
    assert len(desk.fired()) == (gap is Gap.SHIFT)


@pytest.mark.parametrize("fold", Fold)
def test_what_clocks_show_twice_fires_as_the_policy_says(desk, fold):
    desk.now = Millis(1_824_940_800_000)  # 2027-10-31 02:00 in Berlin, for the first time
    dst = Dst(gap=Gap.SKIP, fold=fold)
    desk.make(cron="30 2 * * *", timezone="Europe/Berlin", dst=dst)
    for _ in range(24):
        desk.fire(behind=HOUR // 4)
    assert len(desk.fired()) == (2 if fold is Fold.BOTH else 1)


def test_two_schedulers_that_saw_the_same_fire_it_once(desk):
    desk.make()
    desk.now += MINUTE
    advance = desk.schedules.advance

    def another_was_faster(steps):
        desk.schedules.advance = advance
        assert desk.fire() == 1
        return advance(steps)

    desk.schedules.advance = another_was_faster
    assert fire(desk.schedules, cancel=desk.cancel, now=desk.running) == 0
    assert desk.fired() == [60]


class Forgetful(MemorySchedules):
    """Takes whatever it is told, whether it is as it was seen or not."""

    def advance(self, steps):
        return super().advance([replace(step, seen=self._now(step.seen)) for step in steps])

    def _now(self, seen):
        return self.find(seen.tenant, seen.name)


def test_without_the_comparison_an_instant_would_be_asked_for_twice(desk):
    """What the one before shows would not show otherwise."""
    desk.schedules = Forgetful(lambda: desk.ledger, desk.requests, desk.clock)
    desk.make()
    desk.now += MINUTE
    advance = desk.schedules.advance

    def another_was_faster(steps):
        desk.schedules.advance = advance
        assert desk.fire() == 1
        return advance(steps)

    desk.schedules.advance = another_was_faster
    assert fire(desk.schedules, cancel=desk.cancel, now=desk.running) == 1
    assert desk.fired() == [60, 60]


def test_more_than_a_batch_is_fired_in_one_turn_those_first_that_wait_longest(desk):
    for number in range(2 * BATCH + 1):
        desk.make(f"n{number}")
    assert desk.fire(behind=MINUTE) == 2 * BATCH + 1
    assert len({kept.row.task_id for kept in desk.requests.kept}) == 2 * BATCH + 1


def test_what_is_too_large_for_one_statement_is_fired_in_several(desk):
    """In their order, in one turn, and each once."""
    told, advance = [], desk.schedules.advance

    def measured(steps):
        told.append(sum(len(fire.request.request) for step in steps for fire in step.fires))
        return advance(steps)

    desk.schedules.advance = measured
    large = Raw(b'{"type":"echo","payload":{"say":"' + b"x" * 250_000 + b'"}}')
    for name in ("one", "other"):
        desk.make(name, catch_up=CatchUp.ALL, task=large)
    desk.make("small")
    assert desk.fire(behind=99 * MINUTE) == 199
    assert 6 <= len(told) <= 9
    assert max(told) <= OCTETS_AT_A_TIME
    for name in ("one", "other"):
        assert desk.fired(name) == [60 * n for n in range(1, 100)]
        assert desk.seen(name).held == []
        assert desk.seen(name).next_at_ms == NOON + 100 * MINUTE
    assert desk.fired("small") == [5_940]


# Overlaps


def test_overlapping_fires_are_allowed_unless_something_else_is_said(desk):
    desk.make()
    for _ in range(OPEN_TASKS + 3):
        desk.fire(behind=MINUTE)
    assert len(desk.fired()) == OPEN_TASKS + 3
    assert len(desk.seen().open_tasks) == OPEN_TASKS


def test_a_fire_is_skipped_while_the_task_before_has_not_ended(desk):
    desk.make(overlap=Overlap.SKIP)
    desk.fire(behind=MINUTE)
    desk.fire(behind=MINUTE)  # it is still enqueued
    tasks = desk.take()
    desk.fire(behind=MINUTE)  # it runs
    desk.end(*tasks)
    desk.fire(behind=MINUTE)
    assert desk.fired() == [60, 240]
    assert desk.seen().tally == FireTally(fired=2, skipped=2)


def test_a_task_that_was_refused_is_in_nobodys_way(desk):
    desk.make(overlap=Overlap.SKIP)
    desk.fire(behind=MINUTE)
    with desk.requests.held(most=1) as held:
        held.park(held.rows[0], invalid("invalid_payload", "it does not fit", "/payload"))
    desk.fire(behind=MINUTE)
    assert desk.fired() == [60, 120]


def test_a_task_that_the_ledger_does_not_know_yet_is_waited_for_but_not_for_ever(desk):
    desk.make(overlap=Overlap.SKIP, catch_up=CatchUp.NONE)
    desk.fire(behind=MINUTE)
    with desk.requests.held(most=1) as held:
        held.mark_done(held.rows)
    desk.fire(behind=MINUTE)
    assert desk.fired() == [60]
    desk.fire(behind=LEDGER_MAY_LAG_MS)
    assert len(desk.fired()) == 2


def test_of_many_that_are_made_up_for_one_does_not_overlap(desk):
    desk.make(overlap=Overlap.SKIP, catch_up=CatchUp.ALL)
    desk.fire(behind=5 * MINUTE)
    assert desk.fired() == [60]
    assert desk.seen().tally == FireTally(fired=1, skipped=4)


def test_one_fire_waits_for_the_task_before_and_those_behind_it_are_skipped(desk):
    desk.make(overlap=Overlap.QUEUE_ONE)
    desk.fire(behind=MINUTE)
    tasks = desk.take()
    desk.fire(behind=MINUTE)
    assert (desk.seen().held, desk.seen().next_at_ms) == ([NOON + 2 * MINUTE], NOON + 2 * MINUTE)
    assert desk.schedules.due(most=9).schedules == []
    for _ in range(5):
        desk.fire(behind=30 * SECOND)
    assert desk.fired() == [60]
    desk.end(*tasks)
    assert desk.fire(behind=MOST_SELDOM_MS) == 1
    assert desk.fired() == [60, 120]
    assert desk.seen().held == []
    assert desk.seen().tally == FireTally(fired=2, skipped=2)
    assert desk.seen().next_at_ms == NOON + 5 * MINUTE


def test_of_two_that_are_made_up_for_the_second_waits(desk):
    desk.make(overlap=Overlap.QUEUE_ONE, catch_up=CatchUp.ALL)
    desk.fire(behind=4 * MINUTE)
    assert desk.fired() == [60]
    assert (desk.seen().held, desk.seen().next_at_ms) == ([NOON + 2 * MINUTE], NOON + 2 * MINUTE)
    desk.end(*desk.take())
    desk.fire(behind=LOOK_AGAIN_MS)
    assert desk.fired() == [60, 120]
    assert desk.seen().tally == FireTally(fired=2, skipped=2)


def test_the_task_before_is_cancelled_when_the_next_one_is_to_begin(desk):
    desk.make(overlap=Overlap.CANCEL_RUNNING)
    desk.fire(behind=MINUTE)
    (first,) = desk.take()
    desk.fire(behind=MINUTE)
    assert desk.cancelled == [first.id]
    assert desk.fired() == [60, 120]
    assert desk.seen().tally == FireTally(fired=2)


def test_what_is_not_in_the_log_yet_cannot_be_cancelled_and_the_latest_fire_waits(desk):
    desk.make(overlap=Overlap.CANCEL_RUNNING)
    desk.fire(behind=MINUTE)
    desk.fire(behind=MINUTE)
    assert (desk.cancelled, desk.seen().held) == ([], [NOON + 2 * MINUTE])
    desk.fire(behind=MINUTE)
    assert desk.seen().next_at_ms == NOON + 3 * MINUTE
    (first,) = desk.take()
    desk.fire(behind=LOOK_AGAIN_MS)
    assert desk.cancelled == [first.id]
    assert desk.fired() == [60, 180]
    assert desk.seen().tally == FireTally(fired=2, skipped=1)


def test_a_fire_waits_until_it_is_known_that_the_task_before_is_cancelled(desk):
    desk.make(overlap=Overlap.CANCEL_RUNNING)
    desk.make("other")
    desk.fire(behind=MINUTE)
    desk.take()
    desk.can_cancel = False
    desk.fire(behind=MINUTE)
    assert (desk.fired(), desk.fired("other")) == ([60], [60, 120])
    desk.can_cancel = True
    desk.fire(behind=LOOK_AGAIN_MS)
    assert desk.fired() == [60, 120]


def test_a_store_that_hangs_while_one_is_cancelled_delays_no_other(desk):
    """All others have fired before, those of later batches, too."""
    desk.make("first", overlap=Overlap.CANCEL_RUNNING)
    for number in range(BATCH):
        desk.make(f"n{number}")
    desk.fire(behind=MINUTE)
    desk.take()
    seen = []
    desk.on_cancel = lambda: seen.append(len(desk.requests.kept))
    desk.fire(behind=MINUTE)
    assert seen == [BATCH + 1 + BATCH]
    assert desk.fired("first") == [60, 120]


def test_cancelling_ends_with_its_time_and_goes_on_in_another_turn(desk):
    desk.cancelling_takes = LONGEST_CANCELLING
    for number in range(5):
        desk.make(f"n{number}", overlap=Overlap.CANCEL_RUNNING)
    desk.fire(behind=MINUTE)
    desk.take()
    told = [desk.fire(behind=MINUTE), *(desk.fire(behind=SECOND) for _ in range(3))]
    assert told == [2, 2, 1, 0]
    assert len(desk.cancelled) == 5
    for number in range(5):
        assert desk.fired(f"n{number}") == [60, 120]
        assert desk.seen(f"n{number}").tally == FireTally(fired=2)


def test_a_scheduler_that_dies_while_it_cancels_leaves_the_fire_to_the_next(desk):
    desk.make(overlap=Overlap.CANCEL_RUNNING)
    desk.fire(behind=MINUTE)
    tasks = desk.take()

    def die():
        raise KeyboardInterrupt

    desk.on_cancel = die
    with pytest.raises(KeyboardInterrupt):
        desk.fire(behind=MINUTE)
    desk.on_cancel = lambda: None
    desk.end(*tasks)
    desk.fire(behind=LOOK_AGAIN_MS)
    assert desk.fired() == [60, 120]
    assert desk.seen().tally == FireTally(fired=2)


# Edits


def test_an_edit_counts_at_once(desk):
    desk.make(cron="0 * * * *")
    desk.now += 10 * MINUTE
    desk.put(cron="*/5 * * * *")
    desk.fire(behind=5 * MINUTE)
    assert desk.fired() == [900]


@pytest.mark.parametrize("cron", ["0 * * * *", "*/5 * * * *", "7 * * * *"])
def test_an_instant_that_has_come_fires_once_with_the_new_task(desk, cron):
    desk.make(cron="0 * * * *")
    desk.now += HOUR + 300
    desk.put(cron=cron, task=Raw(b'{"type":"echo","payload":{"say":"new"}}'))
    desk.fire(behind=200)
    desk.fire(behind=200)
    assert desk.fired() == [3_600]
    assert b"new" in desk.requests.kept[0].row.request
    desk.fire(behind=HOUR)
    assert desk.fired().count(3_600) == 1
    assert len(desk.fired()) >= 2


@pytest.mark.parametrize("cron", ["0 * * * *", "*/5 * * * *"])
def test_an_edit_behind_the_fire_does_not_fire_it_again(desk, cron):
    desk.make(cron="0 * * * *")
    desk.fire(behind=HOUR)
    desk.put(cron=cron)
    desk.fire(behind=200)
    assert desk.fired() == [3_600]


def test_what_a_scheduler_made_of_it_before_an_edit_does_not_happen(desk):
    desk.make()
    desk.now += MINUTE
    advance = desk.schedules.advance

    def edited_meanwhile(steps):
        desk.schedules.advance = advance
        desk.put(task=Raw(b'{"type":"echo","payload":{"say":"new"}}'))
        return advance(steps)

    desk.schedules.advance = edited_meanwhile
    assert fire(desk.schedules, cancel=desk.cancel, now=desk.running) == 0
    assert desk.fire() == 1
    assert b"new" in desk.requests.kept[0].row.request
    assert len(desk.requests.kept) == 1


@pytest.mark.parametrize(("catch_up", "fired"), [(CatchUp.NONE, []), (CatchUp.ONE, [3_600])])
def test_what_was_missed_before_an_edit_is_made_up_for_as_the_policy_says(desk, catch_up, fired):
    desk.make(cron="0 * * * *", catch_up=catch_up)
    desk.now += HOUR + 10 * MINUTE
    desk.put(cron="30 * * * *", catch_up=catch_up)
    desk.fire()
    assert desk.fired() == fired


@pytest.mark.parametrize(
    ("catch_up", "fired", "missed"),
    [
        (CatchUp.NONE, [], 1),
        (CatchUp.ONE, [3_600], 0),
        (CatchUp.ALL, [3_600], 0),
    ],
)
def test_instants_of_a_new_rule_that_lie_before_the_edit_do_not_fire(desk, catch_up, fired, missed):
    desk.make(cron="0 * * * *", catch_up=catch_up)
    desk.now += HOUR + 11 * MINUTE
    desk.put(cron="*/5 * * * *", catch_up=catch_up)
    desk.fire()
    assert desk.fired() == fired
    assert desk.seen().tally == FireTally(fired=len(fired), missed=missed)
    desk.fire(behind=4 * MINUTE)
    assert desk.fired() == [*fired, 4_500]


def test_all_that_has_come_of_the_rule_before_fires_once_however_often_it_is_edited(desk):
    desk.make(cron="0 * * * *", catch_up=CatchUp.ALL)
    desk.now += 3 * HOUR + 11 * MINUTE
    for minutes in (5, 7, 5):
        desk.put(cron=f"*/{minutes} * * * *", catch_up=CatchUp.ALL)
        desk.now += 15 * MINUTE
    desk.fire()
    hours, fives, sevens = [60, 120, 180], [195, 200, 205], [208, 215]
    told = [60 * minutes for minutes in (*hours, *fives, *sevens, 225, 230, 235)]
    assert desk.fired() == told
    assert desk.seen().tally == FireTally(fired=len(told))


@pytest.mark.parametrize(
    ("overlap", "fired"),
    [(Overlap.SKIP, [3_600]), (Overlap.QUEUE_ONE, [3_600]), (Overlap.CANCEL_RUNNING, [11_400])],
)
def test_of_what_has_come_before_an_edit_and_overlaps_one_fires(desk, overlap, fired):
    desk.make(cron="0 * * * *", catch_up=CatchUp.ALL)
    desk.now += 3 * HOUR + 9 * MINUTE
    desk.put(cron="*/10 * * * *", catch_up=CatchUp.ALL, overlap=overlap)
    desk.fire(behind=MINUTE)
    assert desk.fired() == fired
    assert desk.seen().tally == FireTally(fired=1, skipped=3)


def test_what_waits_with_others_of_a_rule_before_waits_on_and_they_are_skipped(desk):
    desk.make(cron="0 * * * *", catch_up=CatchUp.ALL)
    trigger("n", desk.schedules, tenant=T)
    desk.now += 3 * HOUR + 9 * MINUTE
    desk.put(cron="0 0 * * *", overlap=Overlap.QUEUE_ONE)
    desk.fire()
    desk.fire(behind=MINUTE)
    assert (desk.fired(), desk.seen().held) == ([], [NOON + n * HOUR for n in (1, 2, 3)])
    desk.end(*desk.take())
    desk.fire(behind=MINUTE)
    assert desk.fired() == [3_600]
    assert desk.seen().tally == FireTally(fired=2, skipped=2)


def test_of_too_many_that_are_held_the_latest_fire(desk):
    desk.make(catch_up=CatchUp.ALL)
    desk.now += 80 * MINUTE
    desk.put(cron="* * * * * 0", catch_up=CatchUp.ALL)
    desk.fire(behind=80 * MINUTE)
    assert desk.fired() == [60 * n for n in range(160 - MOST + 1, 161)]
    assert desk.seen().tally == FireTally(fired=MOST, missed=160 - MOST)


def test_what_had_come_when_it_was_paused_is_missed(desk):
    desk.make(catch_up=CatchUp.ALL)
    desk.now += 3 * MINUTE
    pause("n", desk.schedules, tenant=T, by="ada")
    pause("n", desk.schedules, tenant=T, by="ada")
    resume("n", desk.schedules, tenant=T)
    desk.put("n", enabled=False)
    desk.now += MINUTE
    assert desk.seen().tally == FireTally(missed=3)
    desk.put("other", overlap=Overlap.QUEUE_ONE)
    desk.fire(behind=MINUTE)
    desk.fire(behind=MINUTE)
    desk.put("other", enabled=False, overlap=Overlap.QUEUE_ONE)
    assert desk.seen("other").tally == FireTally(fired=1, missed=1)


def test_what_waits_goes_on_waiting_through_an_edit(desk):
    desk.make(overlap=Overlap.QUEUE_ONE)
    desk.fire(behind=MINUTE)
    desk.fire(behind=MINUTE)
    desk.put(overlap=Overlap.QUEUE_ONE, cron="0 0 * * *")
    desk.end(*desk.take())
    desk.fire(behind=LOOK_AGAIN_MS)
    assert desk.fired() == [60, 120]


def test_a_pause_ends_what_was_to_fire_and_a_resume_makes_up_for_nothing(desk):
    desk.make(catch_up=CatchUp.ALL)
    desk.now += MINUTE
    pause("n", desk.schedules, tenant=T, by="ada")
    desk.fire(behind=5 * MINUTE)
    resume("n", desk.schedules, tenant=T)
    desk.fire(behind=MINUTE)
    assert desk.fired() == [420]
    assert desk.seen().tally == FireTally(fired=1, missed=1)


def test_what_is_deleted_fires_no_more(desk):
    desk.make()
    desk.now += MINUTE
    delete("n", desk.schedules, tenant=T)
    assert desk.fire() == 0


def test_a_trigger_is_waited_for_like_a_fire(desk):
    desk.make(overlap=Overlap.SKIP)
    trigger("n", desk.schedules, tenant=T)
    desk.fire(behind=MINUTE)
    assert desk.seen().tally == FireTally(fired=1, skipped=1)


def test_a_backfilled_instant_that_fired_is_the_same_request(desk):
    desk.make()
    desk.fire(behind=MINUTE)
    backfill("n", NOON, Millis(NOON + MINUTE), desk.schedules, tenant=T)
    first, *_, last = (kept.row for kept in desk.requests.kept)
    assert (first.task_id, first.submission, first.request) == (
        last.task_id,
        last.submission,
        last.request,
    )
    assert desk.fired() == [60, 0, 60]


# What else may happen


def test_jitter_begins_each_instant_later_by_as_much_as_ever(desk):
    desk.make(jitter_seconds=30)
    desk.fire(behind=MINUTE)
    run_at = datetime.fromisoformat(json.loads(desk.requests.kept[0].row.request)["run_at"])
    late = in_ms(run_at - datetime(1970, 1, 1, tzinfo=UTC)) - NOON - MINUTE
    assert 0 <= late < 30 * SECOND
    backfill("n", Millis(NOON + 1), Millis(NOON + MINUTE), desk.schedules, tenant=T)
    first, again = (kept.row.request for kept in desk.requests.kept)
    assert first == again


@pytest.fixture
def lose_a_zone(monkeypatch):
    calendar_of = firing.calendar_of

    def lost(definition):
        if definition.timezone != "UTC":
            raise ScheduleBroken("there is no such zone")
        return calendar_of(definition)

    return lambda: monkeypatch.setattr(firing, "calendar_of", lost)


def test_what_was_foreseen_by_a_rule_that_is_broken_fires_behind_the_edit(desk, lose_a_zone):
    desk.make(timezone="Europe/Berlin")
    desk.make("early", timezone="Europe/Berlin")
    desk.now += MINUTE
    lose_a_zone()
    desk.put(cron="0 * * * *")
    desk.fire()
    assert desk.fired() == [60]
    pause("early", desk.schedules, tenant=T, by="ada")
    assert desk.seen("early").tally == FireTally(missed=1)


def test_a_schedule_whose_zone_is_gone_stops_no_other(desk, monkeypatch, lose_a_zone):
    desk.make("broken", timezone="Europe/Berlin")
    desk.make("sound")
    lose_a_zone()
    assert desk.fire(behind=MINUTE) == 1
    assert desk.schedules.due(most=9).schedules == []
    monkeypatch.undo()
    assert desk.fire(behind=MINUTE) == 2
    assert len(desk.fired("broken")) == 1


def test_where_one_scheduler_lacks_a_zone_another_still_fires_in_time(
    desk, monkeypatch, lose_a_zone
):
    desk.make(timezone="Europe/Berlin", catch_up=CatchUp.NONE)
    lose_a_zone()
    assert desk.fire(behind=MINUTE) == 0
    monkeypatch.undo()
    assert desk.fire(behind=15 * SECOND) == 1


def test_rules_of_a_zone_that_changed_count_from_then_on(desk):
    """What was foreseen before is neither fired nor lost."""
    desk.make("early", cron="30 * * * *")
    desk.make("late", cron="30 * * * *")
    for name, foreseen in (("early", 20), ("late", 40)):
        seen = desk.seen(name)
        desk.schedules.change(seen, replace(as_it_is(seen), next_at_ms=NOON + foreseen * MINUTE))
    for _ in range(45):
        desk.fire(behind=MINUTE)
    assert desk.fired("early") == desk.fired("late") == [30 * 60]
    assert desk.seen("late").next_at_ms == NOON + 90 * MINUTE


def as_it_is(seen):
    names = {*Draft.__struct_fields__} - {"skipped", "missed"}
    return Draft(**{name: getattr(seen, name) for name in names})


def test_what_waits_for_long_is_looked_at_more_seldom(desk):
    desk.make(overlap=Overlap.QUEUE_ONE, cron="0 0 * * *")
    trigger("n", desk.schedules, tenant=T)
    desk.fire(behind=24 * HOUR)
    looks = 0
    due = desk.schedules.due

    def looked(*, most):
        nonlocal looks
        told = due(most=most)
        looks += len(told.schedules)
        return told

    desk.schedules.due = looked
    for _ in range(HOUR // 1_000):
        desk.fire(behind=1_000)
    assert 300 < looks < 500


def test_a_clock_that_goes_back_fires_nothing_twice(desk):
    desk.make()
    desk.fire(behind=MINUTE)
    desk.fire(behind=-HOUR)
    desk.fire(behind=HOUR)
    assert desk.fired() == [60]


def test_what_changes_all_the_time_is_given_up(desk, monkeypatch):
    desk.make()
    monkeypatch.setattr(desk.schedules, "change", lambda *_: False)
    monkeypatch.setattr(desk.schedules, "trigger", lambda *_: False)
    monkeypatch.setattr(desk.schedules, "delete", lambda *_: False)
    answers = [
        pause("n", desk.schedules, tenant=T, by="ada"),
        put(wanted(), desk.schedules, tenant=T, by="ada"),
        trigger("n", desk.schedules, tenant=T),
        delete("n", desk.schedules, tenant=T),
    ]
    assert answers == [Restless()] * 4


def test_what_is_not_there_is_told(desk):
    assert pause("n", desk.schedules, tenant=T, by="ada") == NoSchedule()
    assert isinstance(put(wanted(), desk.schedules, tenant=T, by="ada"), Kept)
    assert fire_module.fire(desk.schedules, cancel=desk.cancel, now=desk.running) == 0


def test_a_rule_that_comes_no_more_is_looked_at_no_more(desk, monkeypatch):
    desk.make()
    due = firing.due
    no_more = lambda *given, **named: replace(due(*given, **named), next_at=None)  # noqa: E731 - once
    monkeypatch.setattr(firing, "due", no_more)
    desk.fire(behind=MINUTE)
    assert desk.seen().next_at_ms is None
    assert desk.fire(behind=int(timedelta(days=1) / timedelta(milliseconds=1))) == 0
