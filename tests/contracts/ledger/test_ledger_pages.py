"""Lists of tasks: filters, newest first, and paging that visits each task once."""

import pytest
from msgspec import Raw

from taskmill.core.task import Millis, Status
from taskmill.ledger.listing import TaskFilter
from taskmill.ledger.projection import Applied, LedgerBatch
from tests.builders import (
    NOW,
    a_fresh_envelope,
    a_new_id,
    an_envelope,
    died,
    now_ms,
    succeeded,
)
from tests.contracts.ledgers import batch_of
from tests.waiting import eventually

HOUR_MS = 3_600_000


def a_filter(**changes):
    everything = dict.fromkeys(["type", "status", "created_after_ms", "created_before_ms", "after"])
    return TaskFilter(**everything | {"tenant": "default", "metadata": {}, "limit": 50} | changes)


def tasks_of(page):
    return [view.id for view in page.tasks]


@pytest.fixture
def told(ledger):
    """Return the tasks of a ledger, each by its name."""
    tasks = {
        "old": an_envelope(id=a_new_id(), created_at_ms=Millis(NOW - 1000)),
        "other type": an_envelope(id=a_new_id(), type="other", created_at_ms=Millis(NOW + 1)),
        "tagged": an_envelope(
            id=a_new_id(), metadata={"a": "1", "b": "2"}, created_at_ms=Millis(NOW + 2)
        ),
        "dead": an_envelope(id=a_new_id(), created_at_ms=Millis(NOW + 3)),
        "done": an_envelope(id=a_new_id(), created_at_ms=Millis(NOW + 4)),
        "foreign": an_envelope(id=a_new_id(), tenant="other", created_at_ms=Millis(NOW + 5)),
    }
    ends = [died(tasks["dead"]), succeeded(tasks["done"], result=Raw(b"1"))]
    ledger.ledger.record(batch_of(*tasks.values(), *ends))
    ledger.ledger.record(batch_of(succeeded(an_envelope(id=a_new_id()))))  # it has no body yet
    return tasks


CASES = [
    ({}, ["done", "dead", "tagged", "other type", "old"]),
    ({"type": "other"}, ["other type"]),
    ({"type": "none"}, []),
    ({"status": Status.DEAD}, ["dead"]),
    ({"status": Status.QUEUED}, ["tagged", "other type", "old"]),
    ({"metadata": {"a": "1"}}, ["tagged"]),
    ({"metadata": {"a": "1", "b": "2"}}, ["tagged"]),
    ({"metadata": {"a": "2"}}, []),
    ({"created_after_ms": NOW + 2}, ["done", "dead"]),
    ({"created_before_ms": NOW + 1}, ["old"]),
    ({"tenant": "other"}, ["foreign"]),
    ({"limit": 2}, ["done", "dead"]),
]


@pytest.mark.parametrize(("wanted", "expected"), CASES, ids=[str(wanted) for wanted, _ in CASES])
def test_a_page_holds_what_fits_newest_first(ledger, told, wanted, expected):
    page = ledger.rows.page(a_filter(**wanted))
    assert tasks_of(page) == [told[word].id for word in expected]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
def test_a_walk_sees_each_task_once_even_those_of_one_moment(ledger, size):
    tasks = [an_envelope(id=a_new_id(), created_at_ms=Millis(NOW + n // 3)) for n in range(7)]
    ledger.ledger.record(batch_of(*tasks))
    seen, after = [], None
    while True:
        page = ledger.rows.page(a_filter(limit=size, after=after))
        seen += tasks_of(page)
        after = page.next
        if after is None:
            break
    expected = sorted(tasks, key=lambda task: (task.created_at_ms, task.id), reverse=True)
    assert seen == [task.id for task in expected]


def test_a_list_is_as_of_the_partition_that_is_furthest_behind(ledger):
    assert ledger.rows.page(a_filter()).as_of_ms is None
    runs = [
        Applied(topic="tasks.events", partition=n, first=0, next=1, as_of_ms=Millis(NOW + n))
        for n in range(3)
    ]
    dlq = Applied(topic="tasks.dlq", partition=0, first=0, next=1, as_of_ms=Millis(NOW - 9))
    ledger.ledger.record(LedgerBatch(applied=[*runs, dlq]))
    assert ledger.rows.page(a_filter()).as_of_ms == NOW
    assert ledger.rows.dead(a_filter()).as_of_ms == NOW
    assert ledger.rows.history_of(a_new_id(), most=1).as_of_ms == NOW


def shown_up_to(ledger, moment_ms):
    run = Applied(topic="tasks.pending", partition=0, first=0, next=1, as_of_ms=Millis(moment_ms))
    ledger.ledger.record(LedgerBatch(applied=[run]))


def test_a_list_is_not_as_of_later_than_what_waits_in_the_outbox(ledger):
    assert ledger.outbox.waits_since() is None
    ledger.outbox.add([a_fresh_envelope()])
    assert ledger.rows.page(a_filter()).as_of_ms is None, "the ledger shows nothing yet"
    accepted_ms = now_ms()
    shown_up_to(ledger, accepted_ms + HOUR_MS)
    since = ledger.outbox.waits_since()
    assert accepted_ms - HOUR_MS < since <= accepted_ms
    assert ledger.rows.page(a_filter()).as_of_ms == since
    assert ledger.rows.dead(a_filter()).as_of_ms == since
    assert ledger.figures().figures().as_of_ms == since
    relay(ledger.outbox)
    assert ledger.rows.page(a_filter()).as_of_ms == accepted_ms + HOUR_MS


def test_what_was_relayed_since_is_missing_as_if_it_waited_still(ledger):
    ledger.outbox.add([a_fresh_envelope()])
    since = ledger.outbox.waits_since()
    shown_ms = now_ms() + 2
    eventually(lambda: now_ms() > shown_ms, within=5, reason="time passes")
    relay(ledger.outbox)
    shown_up_to(ledger, shown_ms)
    assert ledger.outbox.waits_since() is None
    assert ledger.rows.page(a_filter()).as_of_ms == since


def test_what_was_relayed_is_marked_when_it_stands_in_the_log(ledger):
    """The transaction began before: by its own time the ledger would show it already."""
    ledger.outbox.add([a_fresh_envelope()])
    since = ledger.outbox.waits_since()
    with ledger.outbox.held(most=10) as held:
        shown_ms = now_ms() + 2
        eventually(lambda: now_ms() > shown_ms, within=5, reason="it is being published")
        held.mark_published(held.rows)
    shown_up_to(ledger, shown_ms)
    assert ledger.rows.page(a_filter()).as_of_ms == since


def relay(outbox):
    with outbox.held(most=10) as held:
        held.mark_published(held.rows)
