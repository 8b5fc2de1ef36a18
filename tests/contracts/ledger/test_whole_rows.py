"""Complete rows are read unchanged, and those for the hot state are found."""

from datetime import timedelta
from threading import Thread

import psycopg
import pytest
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core.backoff import RetryPolicy
from taskmill.core.pointers import Pointer
from taskmill.core.task import Priority, Timing
from taskmill.lanes.lane import place_of
from taskmill.ledger.projection import merged, row_of
from tests.builders import (
    a_fresh_envelope,
    a_new_id,
    a_request,
    cancel_requested,
    changed,
    deferred,
    died,
    now_ms,
    started,
    succeeded,
)
from tests.contracts.ledgers import PostgresTables, batch_of

DAY_MS = 86_400_000
POINTER = Pointer(url="s3://bucket/payloads/echo/default/x", size=3_000_000, sha256="0" * 64)


def test_a_row_is_read_as_it_was_told(ledger):
    task = a_fresh_envelope(
        payload=Raw(b'{"b": 1,  "a": [1.10]}'),
        metadata={"a": "b"},
        retry=RetryPolicy(first_seconds=7, factor=3, cap_seconds=70),
        idempotency_key="k1",
    )
    ordered = replace(task, priority=Priority.LOW, fairness_key="a customer", index=999)
    moved = replace(
        ordered, turn=2, priority=Priority.HIGH, timing=Timing(run_at_ms=now_ms(), turn=2)
    )
    pointing = replace(task, payload=Raw(b"null"), payload_ref=POINTER)
    answer = [
        [task],
        [task, started(task, losses=1), cancel_requested(task)],
        [task, started(task, token=5), deferred(task, token=5)],
        [task, started(task, token=5), deferred(task, token=5), succeeded(task, token=9)],
        [task, died(task)],
        [ordered],
        [ordered, deferred(ordered, reason="snoozed")],
        [ordered, deferred(ordered, reason="snoozed"), started(replace(ordered, turn=2))],
        [ordered, changed(replace(moved, order_ms=now_ms())), started(moved)],
        [ordered, changed(moved)],
        [pointing],
        [pointing, succeeded(pointing, result=Raw(b"null"), result_ref=POINTER)],
    ]
    for events in answer:
        ledger.empty()
        ledger.ledger.record(batch_of(*events))
        expected = row_of(events[0])
        for event in events[1:]:
            expected = merged(expected, row_of(event))
        assert ledger.whole().of([task.id, a_new_id()]) == [expected]


def test_a_row_without_its_submission_is_not_read(ledger):
    task = a_fresh_envelope()
    ledger.ledger.record(batch_of(succeeded(task)))
    assert ledger.whole().of([task.id]) == []
    assert found(ledger.whole()) == set()


def found(rows):
    return {
        row.id
        for finished in (True, False)
        for page in rows.restorable(finished=finished)
        for row in page
    }


def test_finished_and_unfinished_rows_come_apart(ledger):
    waiting, done = a_fresh_envelope(), a_fresh_envelope()
    ledger.ledger.record(batch_of(waiting, done, succeeded(done)))
    rows = ledger.whole()
    assert [row.id for page in rows.restorable(finished=False) for row in page] == [waiting.id]
    assert [row.id for page in rows.restorable(finished=True) for row in page] == [done.id]


def unfinished(rows, *types):
    return {row.id for page in rows.unfinished(types) for row in page}


def test_who_reads_a_page_may_write_before_the_next(ledger):
    """As a rebuild does with what finds no room in its line."""
    task = a_fresh_envelope()
    ledger.ledger.record(batch_of(task))
    place = place_of(task)
    pages = iter(ledger.whole().unfinished(["echo"]))
    assert [row.id for row in next(pages)] == [task.id]
    writer = Thread(target=ledger.shelf().keep, args=[[place]], daemon=True)
    writer.start()
    writer.join(timeout=20)
    is_done = not writer.is_alive()
    pages.close()
    assert is_done
    assert ledger.shelf().last(after="", most=1) == [place]


def test_the_unfinished_tasks_of_some_types_are_found(ledger):
    waiting, done, other = (a_fresh_envelope(type=one) for one in ("echo", "echo", "sleep"))
    ledger.ledger.record(batch_of(waiting, done, succeeded(done), other))
    rows = ledger.whole()
    assert unfinished(rows, "echo", "unused") == {waiting.id}
    assert unfinished(rows, "echo", "sleep") == {waiting.id, other.id}
    assert list(rows.unfinished(["unused"])) == []


@pytest.fixture
def tables(database):
    """Return the ledger in PostgreSQL, and a connection as its owner."""
    owner, app = database
    tables = PostgresTables(app, owner)
    with psycopg.connect(owner, autocommit=True) as connection:
        yield tables, connection
    tables.close()


def days_ago(days, key=None):
    at_ms = now_ms() - int(days * DAY_MS)
    return a_request(key, generation=at_ms, created_at_ms=at_ms)


def test_what_redis_no_longer_holds_is_not_restored(tables):
    ledger, _ = tables
    young, old, keyed, old_key = days_ago(0), days_ago(1), days_ago(1, "a"), days_ago(4, "b")
    answer = [fact for task in (young, old, keyed, old_key) for fact in (task, succeeded(task))]
    ledger.ledger.record(batch_of(*answer))
    assert found(ledger.whole()) == {young.id, keyed.id}


def test_what_has_ended_and_is_not_restored_has_unlisted_its_record(tables):
    ledger, _ = tables
    young, old, keyed, old_key = days_ago(0), days_ago(1), days_ago(1, "a"), days_ago(4, "b")
    answer = [fact for task in (young, old, keyed, old_key) for fact in (task, ended(task))]
    waiting, unreported = days_ago(5), days_ago(1)
    ledger.ledger.record(batch_of(*answer, waiting, ended(unreported)))
    rows = ledger.whole()
    tasks = (young, old, keyed, old_key, waiting, unreported)
    unlisted = {row.id for row in rows.unlisted([task.id for task in tasks])}
    assert unlisted == {old.id, old_key.id}
    assert not unlisted & found(rows)
    assert rows.unlisted([young.id, a_new_id()]) == []


def ended(task):
    """Return the end of a task that took no time."""
    return succeeded(task, at_ms=task.created_at_ms)


def test_what_is_unfinished_is_restored_however_old_it_is(tables):
    ledger, _ = tables
    task = days_ago(10)
    ledger.ledger.record(batch_of(task))
    assert found(ledger.whole()) == {task.id}
    assert unfinished(ledger.whole(), "echo") == {task.id}


def test_what_is_unfinished_stays_so_when_the_window_has_passed(tables):
    ledger, owner = tables
    task = days_ago(0)
    ledger.ledger.record(batch_of(task))
    owner.execute("UPDATE windows SET until = now() - interval '1 second'")
    with ledger.task_versions(behind=timedelta(0)).next_step() as step:
        assert [one.id for page in step.pages() for one in page] == [task.id]
    assert unfinished(ledger.whole(), "echo") == {task.id}


def test_many_rows_come_in_pages(tables):
    ledger, _ = tables
    tasks = [a_fresh_envelope() for _ in range(1_200)]
    ledger.ledger.record(batch_of(*tasks))
    pages = [len(page) for page in ledger.whole().restorable(finished=False)]
    assert sum(pages) == 1_200
    assert max(pages) <= 500
