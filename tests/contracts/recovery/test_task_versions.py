"""Task versions are listed by age, by id, and for long unfinished tasks."""

import time
from datetime import timedelta

import psycopg
import pytest

from taskmill.core.lifetimes import LATE, WINDOW_BEHIND
from taskmill.core.task import Status
from taskmill.core.time import in_ms
from tests.builders import a_fresh_envelope, a_new_id, deferred, now_ms, succeeded
from tests.contracts.ledgers import PostgresTables, batch_of

AT_ONCE = timedelta(0)
BEHIND = timedelta(milliseconds=-100)


def ids(pages):
    return {task_version.id for page in pages for task_version in page}


def passed(task_versions):
    """Move the window by a step; return the tasks in it."""
    with task_versions.next_step() as step:
        return ids(step.pages()) if step else set()


def pass_and_die(task_versions):
    with task_versions.next_step() as step:
        for page in step.pages():
            step.note([one.id for one in page])
        raise KeyError("dies")


def unfinished(task_versions):
    return {task_version.id for task_version in task_versions.unfinished(after=None, most=100)}


def test_a_standing_tells_how_far_a_task_is(ledger):
    task = a_fresh_envelope()
    fact = deferred(task)
    ledger.ledger.record(batch_of(task, fact))
    (answer,) = ledger.task_versions().of([task.id, a_new_id()])
    assert (answer.id, answer.type, answer.status) == (task.id, task.type, Status.RETRYING)
    assert (answer.generation, answer.turn, answer.due_at_ms) == (
        task.generation,
        1,
        fact.due_at_ms,
    )
    assert answer.position == (task.generation, False, 2)


def test_the_window_passes_each_task_once_and_notes_what_is_unfinished(ledger):
    waiting, done = a_fresh_envelope(), a_fresh_envelope()
    ledger.ledger.record(batch_of(waiting, done, succeeded(done)))
    task_versions = ledger.task_versions(behind=BEHIND)
    assert passed(task_versions) == {waiting.id, done.id}
    assert passed(task_versions) == set()
    assert unfinished(task_versions) == {waiting.id}


def test_a_step_whose_taker_died_on_the_way_is_there_for_the_next(ledger):
    waiting, done = a_fresh_envelope(), a_fresh_envelope()
    ledger.ledger.record(batch_of(waiting, done, succeeded(done)))
    task_versions = ledger.task_versions(behind=BEHIND)
    with pytest.raises(KeyError, match="dies"):
        pass_and_die(task_versions)
    assert unfinished(task_versions) == set()
    assert passed(task_versions) == {waiting.id, done.id}


def test_who_is_noted_is_looked_at_again_though_it_ended(ledger):
    done, other = a_fresh_envelope(), a_fresh_envelope()
    ledger.ledger.record(batch_of(done, succeeded(done), other, succeeded(other)))
    task_versions = ledger.task_versions(behind=BEHIND)
    with task_versions.next_step() as step:
        for page in step.pages():
            step.note([one.id for one in page if one.id == done.id])
    assert unfinished(task_versions) == {done.id}


def test_the_window_follows_at_its_distance(ledger):
    ledger.ledger.record(batch_of(a_fresh_envelope()))
    task_versions = ledger.task_versions()
    assert passed(task_versions) == set()
    assert unfinished(task_versions) == set()


def test_what_is_unfinished_comes_in_the_order_of_its_ids(ledger):
    tasks = sorted((a_fresh_envelope() for _ in range(5)), key=lambda task: task.id)
    ledger.ledger.record(batch_of(*tasks))
    task_versions = ledger.task_versions(behind=BEHIND)
    passed(task_versions)
    first = task_versions.unfinished(after=None, most=3)
    rest = task_versions.unfinished(after=first[-1].id, most=3)
    assert [one.id for one in [*first, *rest]] == [task.id for task in tasks]


def test_who_leaves_is_not_unfinished_any_more(ledger):
    stays, leaves = a_fresh_envelope(), a_fresh_envelope()
    ledger.ledger.record(batch_of(stays, leaves))
    task_versions = ledger.task_versions(behind=BEHIND)
    passed(task_versions)
    task_versions.leave([leaves.id])
    assert unfinished(task_versions) == {stays.id}


def test_who_has_facts_and_no_submission_is_named_when_it_is_old(ledger):
    hour = timedelta(hours=1)
    old, known = (a_fresh_envelope(generation=now_ms() - in_ms(hour) - 1) for _ in range(2))
    facts = [succeeded(old), deferred(known), succeeded(a_fresh_envelope())]
    ledger.ledger.record(batch_of(*facts, known))
    task_versions = ledger.task_versions()
    assert task_versions.unsubmitted(age=hour, most=10) == [old.id]
    assert task_versions.unsubmitted(age=hour, most=0) == []
    ledger.ledger.record(batch_of(old))
    assert task_versions.unsubmitted(age=hour, most=10) == []


def test_the_young_are_told_by_their_age(ledger):
    old, young = a_fresh_envelope(created_at_ms=now_ms() - 60_000), a_fresh_envelope()
    ledger.ledger.record(batch_of(old, young))
    assert ids(ledger.task_versions().young(since_ms=now_ms() - 30_000)) == {young.id}


@pytest.fixture
def tables(database):
    owner, app = database
    tables = PostgresTables(app, owner)
    with psycopg.connect(owner, autocommit=True) as connection:
        yield tables, connection
    tables.close()


def test_what_comes_late_is_noted_at_once(tables):
    ledger, _ = tables
    late = a_fresh_envelope(created_at_ms=now_ms() - in_ms(LATE) - 1)
    ledger.ledger.record(batch_of(late, a_fresh_envelope()))
    assert unfinished(ledger.task_versions()) == {late.id}


def test_what_comes_late_is_noted_by_a_recorder_whose_clock_is_behind(tables, monkeypatch):
    ledger, _ = tables
    hour, honest = 3600, time.time
    late = a_fresh_envelope(created_at_ms=now_ms() - in_ms(LATE) - 1)
    monkeypatch.setattr(time, "time", lambda: honest() - hour)
    ledger.ledger.record(batch_of(late))
    assert unfinished(ledger.task_versions()) == {late.id}


def test_nobody_slips_between_the_late_ones_and_the_window():
    assert LATE * 2 < WINDOW_BEHIND


def test_a_window_that_stood_still_is_moved_on_in_steps(tables):
    ledger, owner = tables
    owner.execute("UPDATE windows SET until = now() - '20 minutes'::interval")
    at_ms = now_ms() - 600_000
    task = a_fresh_envelope(created_at_ms=at_ms)
    ledger.ledger.record(batch_of(task))
    task_versions = ledger.task_versions()
    met = [passed(task_versions) for _ in range(200)]
    assert {task.id} in met
    assert sum(map(len, met)) == 1


def test_a_step_is_nobody_elses_while_it_is_held(tables):
    ledger, _ = tables
    task = a_fresh_envelope()
    ledger.ledger.record(batch_of(task))
    others = PostgresTables(ledger.dsn)
    one, other = ledger.task_versions(behind=BEHIND), others.task_versions(behind=BEHIND)
    with one.next_step() as held, other.next_step() as missed:
        assert missed is None
        assert ids(held.pages()) == {task.id}
    others.close()


def test_the_status_of_a_row_changes_where_it_stands(tables):
    """An index on what changes would move each row to another page."""
    ledger, owner = tables
    tasks = [a_fresh_envelope() for _ in range(50)]
    ledger.ledger.record(batch_of(*tasks))
    pages = "SELECT id, (ctid::text::point)[0] FROM tasks ORDER BY id"
    before = owner.execute(pages).fetchall()
    for task in tasks:
        ledger.ledger.record(batch_of(succeeded(task)))
    assert owner.execute(pages).fetchall() == before
