"""What has come fires once and what is past does not, however a schedule is edited."""

import pytest
from msgspec import Raw

from taskmill.core.task import Millis
from taskmill.schedules.catch_up import MOST, CatchUp
from taskmill.schedules.firing import LOOK_AGAIN_MS
from taskmill.schedules.manage import backfill, delete, pause, resume, trigger
from taskmill.schedules.schedule import FireTally, Overlap
from tests.unit.schedules.desk import HOUR, MINUTE, NOON, T
from tests.unit.world import Instead


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
    schedules = desk.schedules

    def edited_meanwhile(steps):
        desk.schedules = schedules
        desk.put(task=Raw(b'{"type":"echo","payload":{"say":"new"}}'))
        return schedules.advance(steps)

    desk.schedules = Instead(schedules, advance=edited_meanwhile)
    assert desk.fire() == 0
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
