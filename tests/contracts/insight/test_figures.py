"""Queue lengths and recent events: aggregates over the ledger in bounded time."""

import pytest
from msgspec.structs import replace

from taskmill.core.task import Priority, TaskType, Timing
from tests.builders import a_fresh_envelope, deferred, died, now_ms, started, succeeded
from tests.contracts.ledgers import batch_of

MAIL = TaskType("mail")


def a_task(**changes):
    return a_fresh_envelope(**changes)


def depths(tables, **how):
    """Return the figures of the tasks of each type and status; all have the same priority."""
    found = tables.figures(**how).figures().depths
    by_status = {
        (one.type, one.status): (one.tasks, one.in_line, one.waits_since_ms) for one in found
    }
    assert len(by_status) == len(found)
    return by_status


def test_an_empty_ledger_has_nothing_waiting(ledger):
    figures = ledger.figures().figures()
    assert (figures.depths, figures.facts_of_last_minute) == ([], {})
    assert (figures.is_complete, figures.as_of_ms) == (True, None)


def test_what_is_unfinished_is_counted_by_type_and_status(ledger):
    queued = [a_task() for _ in range(3)]
    running, waiting, mail, done, dead = a_task(), a_task(), a_task(type=MAIL), a_task(), a_task()
    answer = [*queued, running, waiting, mail, done, dead]
    later = now_ms() + 60_000
    facts = [started(running), deferred(waiting, due_at_ms=later), succeeded(done), died(dead)]
    ledger.ledger.record(batch_of(*answer, *facts))
    assert depths(ledger) == {
        ("echo", "queued"): (3, 3, min(one.generation for one in queued)),
        ("echo", "running"): (1, 0, None),
        ("echo", "retrying"): (1, 0, None),
        ("mail", "queued"): (1, 1, mail.generation),
    }


def test_priorities_are_counted_by_themselves(ledger):
    urgent = [a_task(priority=Priority.CRITICAL) for _ in range(2)]
    low, normal = a_task(priority=Priority.LOW), a_task()
    ledger.ledger.record(batch_of(*urgent, low, normal, started(urgent[0])))
    found = ledger.figures().figures().depths
    assert {(one.priority, one.status): one.tasks for one in found} == {
        (Priority.CRITICAL, "running"): 1,
        (Priority.CRITICAL, "queued"): 1,
        (Priority.LOW, "queued"): 1,
        (Priority.NORMAL, "queued"): 1,
    }


def test_what_is_due_stands_in_line_since_then(ledger):
    now = now_ms()
    later, due, eldest = a_task(), a_task(), a_task()
    begun, before = a_task(), now - 60_000
    delayed = a_task(created_at_ms=before, generation=before, timing=Timing(run_at_ms=now - 7_000))
    facts = [
        deferred(later, due_at_ms=now + 60_000),
        deferred(due, due_at_ms=now - 2_000),
        deferred(eldest, due_at_ms=now - 5_000),
        deferred(begun, due_at_ms=now - 9_000),
        started(replace(begun, turn=2, attempt=2)),
    ]
    ledger.ledger.record(batch_of(later, due, eldest, delayed, begun, *facts))
    assert depths(ledger) == {
        ("echo", "retrying"): (3, 2, now - 5_000),
        ("echo", "scheduled"): (1, 1, now - 7_000),
        ("echo", "running"): (1, 0, None),
    }


def test_an_old_task_that_is_unfinished_is_counted_once(ledger):
    day = 86_400_000
    old = a_task(created_at_ms=now_ms() - day, generation=now_ms() - day)
    ledger.ledger.record(batch_of(old))
    ledger.ledger.record(batch_of(old))
    assert depths(ledger) == {("echo", "queued"): (1, 1, old.generation)}
    ledger.ledger.record(batch_of(succeeded(old)))
    assert depths(ledger) == {}


def test_what_happened_in_the_last_minute_is_counted_by_type_and_kind(ledger):
    now = now_ms()
    one, two = a_task(), a_task()
    late = a_task(created_at_ms=now - 61_000)
    retried = deferred(two, at_ms=now)
    again = succeeded(replace(two, turn=2, attempt=2), at_ms=now)
    ledger.ledger.record(batch_of(one, two, late, retried, again, succeeded(one, at_ms=now)))
    mail = a_task(type=MAIL)
    ledger.ledger.record(batch_of(one, mail, died(mail, at_ms=now)))
    assert ledger.figures().figures().facts_of_last_minute == {
        ("echo", "TaskSubmitted"): 2,
        ("echo", "TaskDeferred"): 1,
        ("echo", "TaskSucceeded"): 2,
        ("mail", "TaskSubmitted"): 1,
        ("mail", "TaskDied"): 1,
    }


@pytest.mark.parametrize("age_ms", [0, 3_600_000])
def test_no_more_is_looked_at_than_allowed_and_that_is_said(ledger, age_ms):
    created = now_ms() - age_ms
    tasks = [a_task(created_at_ms=created, generation=created) for _ in range(5)]
    ledger.ledger.record(batch_of(*tasks))
    figures = ledger.figures(most=3).figures()
    assert [(one.status, one.tasks) for one in figures.depths] == [("queued", 3)]
    assert not figures.is_complete
    assert ledger.figures(most=6).figures().is_complete


@pytest.mark.parametrize(("age_ms", "is_complete"), [(0, False), (3_600_000, True)])
def test_what_ended_is_looked_at_only_while_it_is_young(ledger, age_ms, is_complete):
    created = now_ms() - age_ms
    tasks = [a_task(created_at_ms=created, generation=created) for _ in range(5)]
    ledger.ledger.record(batch_of(*tasks, *map(succeeded, tasks)))
    ledger.task_versions().leave([task.id for task in tasks])
    assert depths(ledger) == {}
    assert ledger.figures(most=5).figures().is_complete is is_complete
