"""Edits of a schedule neither repeat nor lose an instant."""

import pytest
from msgspec import Raw

from taskmill.core.task import Millis
from taskmill.schedules.catch_up import MOST, CatchUp
from taskmill.schedules.fire_step import LOOK_AGAIN_MS
from taskmill.schedules.manage import backfill, delete, pause, resume, trigger
from taskmill.schedules.schedule import FireTally, Overlap
from tests.unit.schedules.scheduling import HOUR, MINUTE, NOON, T
from tests.unit.world import Instead


def test_an_edit_counts_at_once(scheduling):
    scheduling.make(cron="0 * * * *")
    scheduling.now += 10 * MINUTE
    scheduling.put(cron="*/5 * * * *")
    scheduling.fire(behind=5 * MINUTE)
    assert scheduling.fired() == [900]


@pytest.mark.parametrize("cron", ["0 * * * *", "*/5 * * * *", "7 * * * *"])
def test_an_instant_that_has_come_fires_once_with_the_new_task(scheduling, cron):
    scheduling.make(cron="0 * * * *")
    scheduling.now += HOUR + 300
    scheduling.put(cron=cron, task=Raw(b'{"type":"echo","payload":{"say":"new"}}'))
    scheduling.fire(behind=200)
    scheduling.fire(behind=200)
    assert scheduling.fired() == [3_600]
    assert b"new" in scheduling.requests.kept[0].row.request
    scheduling.fire(behind=HOUR)
    assert scheduling.fired().count(3_600) == 1
    assert len(scheduling.fired()) >= 2


@pytest.mark.parametrize("cron", ["0 * * * *", "*/5 * * * *"])
def test_an_edit_behind_the_fire_does_not_fire_it_again(scheduling, cron):
    scheduling.make(cron="0 * * * *")
    scheduling.fire(behind=HOUR)
    scheduling.put(cron=cron)
    scheduling.fire(behind=200)
    assert scheduling.fired() == [3_600]


def test_what_a_scheduler_made_of_it_before_an_edit_does_not_happen(scheduling):
    scheduling.make()
    scheduling.now += MINUTE
    schedules = scheduling.schedules

    def edited_meanwhile(steps):
        scheduling.schedules = schedules
        scheduling.put(task=Raw(b'{"type":"echo","payload":{"say":"new"}}'))
        return schedules.advance(steps)

    scheduling.schedules = Instead(schedules, advance=edited_meanwhile)
    assert scheduling.fire() == 0
    assert scheduling.fire() == 1
    assert b"new" in scheduling.requests.kept[0].row.request
    assert len(scheduling.requests.kept) == 1


@pytest.mark.parametrize(("catch_up", "fired"), [(CatchUp.NONE, []), (CatchUp.ONE, [3_600])])
def test_what_was_missed_before_an_edit_is_made_up_for_as_the_policy_says(
    scheduling, catch_up, fired
):
    scheduling.make(cron="0 * * * *", catch_up=catch_up)
    scheduling.now += HOUR + 10 * MINUTE
    scheduling.put(cron="30 * * * *", catch_up=catch_up)
    scheduling.fire()
    assert scheduling.fired() == fired


@pytest.mark.parametrize(
    ("catch_up", "fired", "missed"),
    [
        (CatchUp.NONE, [], 1),
        (CatchUp.ONE, [3_600], 0),
        (CatchUp.ALL, [3_600], 0),
    ],
)
def test_instants_of_a_new_rule_that_lie_before_the_edit_do_not_fire(
    scheduling, catch_up, fired, missed
):
    scheduling.make(cron="0 * * * *", catch_up=catch_up)
    scheduling.now += HOUR + 11 * MINUTE
    scheduling.put(cron="*/5 * * * *", catch_up=catch_up)
    scheduling.fire()
    assert scheduling.fired() == fired
    assert scheduling.seen().tally == FireTally(fired=len(fired), missed=missed)
    scheduling.fire(behind=4 * MINUTE)
    assert scheduling.fired() == [*fired, 4_500]


def test_all_that_has_come_of_the_rule_before_fires_once_however_often_it_is_edited(scheduling):
    scheduling.make(cron="0 * * * *", catch_up=CatchUp.ALL)
    scheduling.now += 3 * HOUR + 11 * MINUTE
    for minutes in (5, 7, 5):
        scheduling.put(cron=f"*/{minutes} * * * *", catch_up=CatchUp.ALL)
        scheduling.now += 15 * MINUTE
    scheduling.fire()
    hours, fives, sevens = [60, 120, 180], [195, 200, 205], [208, 215]
    answer = [60 * minutes for minutes in (*hours, *fives, *sevens, 225, 230, 235)]
    assert scheduling.fired() == answer
    assert scheduling.seen().tally == FireTally(fired=len(answer))


@pytest.mark.parametrize(
    ("overlap", "fired"),
    [(Overlap.SKIP, [3_600]), (Overlap.QUEUE_ONE, [3_600]), (Overlap.CANCEL_RUNNING, [11_400])],
)
def test_of_what_has_come_before_an_edit_and_overlaps_one_fires(scheduling, overlap, fired):
    scheduling.make(cron="0 * * * *", catch_up=CatchUp.ALL)
    scheduling.now += 3 * HOUR + 9 * MINUTE
    scheduling.put(cron="*/10 * * * *", catch_up=CatchUp.ALL, overlap=overlap)
    scheduling.fire(behind=MINUTE)
    assert scheduling.fired() == fired
    assert scheduling.seen().tally == FireTally(fired=1, skipped=3)


def test_what_waits_with_others_of_a_rule_before_waits_on_and_they_are_skipped(scheduling):
    scheduling.make(cron="0 * * * *", catch_up=CatchUp.ALL)
    trigger("n", scheduling.schedules, tenant=T)
    scheduling.now += 3 * HOUR + 9 * MINUTE
    scheduling.put(cron="0 0 * * *", overlap=Overlap.QUEUE_ONE)
    scheduling.fire()
    scheduling.fire(behind=MINUTE)
    assert (scheduling.fired(), scheduling.seen().held) == (
        [],
        [NOON + n * HOUR for n in (1, 2, 3)],
    )
    scheduling.end(*scheduling.take())
    scheduling.fire(behind=MINUTE)
    assert scheduling.fired() == [3_600]
    assert scheduling.seen().tally == FireTally(fired=2, skipped=2)


def test_of_too_many_that_are_held_the_latest_fire(scheduling):
    scheduling.make(catch_up=CatchUp.ALL)
    scheduling.now += 80 * MINUTE
    scheduling.put(cron="* * * * * 0", catch_up=CatchUp.ALL)
    scheduling.fire(behind=80 * MINUTE)
    assert scheduling.fired() == [60 * n for n in range(160 - MOST + 1, 161)]
    assert scheduling.seen().tally == FireTally(fired=MOST, missed=160 - MOST)


def test_what_had_come_when_it_was_paused_is_missed(scheduling):
    scheduling.make(catch_up=CatchUp.ALL)
    scheduling.now += 3 * MINUTE
    pause("n", scheduling.schedules, tenant=T, by="ada")
    pause("n", scheduling.schedules, tenant=T, by="ada")
    resume("n", scheduling.schedules, tenant=T)
    scheduling.put("n", enabled=False)
    scheduling.now += MINUTE
    assert scheduling.seen().tally == FireTally(missed=3)
    scheduling.put("other", overlap=Overlap.QUEUE_ONE)
    scheduling.fire(behind=MINUTE)
    scheduling.fire(behind=MINUTE)
    scheduling.put("other", enabled=False, overlap=Overlap.QUEUE_ONE)
    assert scheduling.seen("other").tally == FireTally(fired=1, missed=1)


def test_what_waits_goes_on_waiting_through_an_edit(scheduling):
    scheduling.make(overlap=Overlap.QUEUE_ONE)
    scheduling.fire(behind=MINUTE)
    scheduling.fire(behind=MINUTE)
    scheduling.put(overlap=Overlap.QUEUE_ONE, cron="0 0 * * *")
    scheduling.end(*scheduling.take())
    scheduling.fire(behind=LOOK_AGAIN_MS)
    assert scheduling.fired() == [60, 120]


def test_a_pause_ends_what_was_to_fire_and_a_resume_makes_up_for_nothing(scheduling):
    scheduling.make(catch_up=CatchUp.ALL)
    scheduling.now += MINUTE
    pause("n", scheduling.schedules, tenant=T, by="ada")
    scheduling.fire(behind=5 * MINUTE)
    resume("n", scheduling.schedules, tenant=T)
    scheduling.fire(behind=MINUTE)
    assert scheduling.fired() == [420]
    assert scheduling.seen().tally == FireTally(fired=1, missed=1)


def test_what_is_deleted_fires_no_more(scheduling):
    scheduling.make()
    scheduling.now += MINUTE
    delete("n", scheduling.schedules, tenant=T)
    assert scheduling.fire() == 0


def test_a_trigger_is_waited_for_like_a_fire(scheduling):
    scheduling.make(overlap=Overlap.SKIP)
    trigger("n", scheduling.schedules, tenant=T)
    scheduling.fire(behind=MINUTE)
    assert scheduling.seen().tally == FireTally(fired=1, skipped=1)


def test_a_backfilled_instant_that_fired_is_the_same_request(scheduling):
    scheduling.make()
    scheduling.fire(behind=MINUTE)
    backfill("n", NOON, Millis(NOON + MINUTE), scheduling.schedules, tenant=T)
    first, *_, last = (kept.row for kept in scheduling.requests.kept)
    assert (first.task_id, first.submission, first.request) == (
        last.task_id,
        last.submission,
        last.request,
    )
    assert scheduling.fired() == [60, 0, 60]
