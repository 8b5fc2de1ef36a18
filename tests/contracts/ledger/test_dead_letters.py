"""The list of dead tasks is current despite late, repeated and redriven facts."""

import pytest
from msgspec.structs import replace

from taskmill.core.task import Millis, Status
from tests.builders import NOW, a_new_id, an_envelope, deferred, died, lost, started, succeeded
from tests.contracts.ledger.test_ledger_pages import a_filter
from tests.contracts.ledgers import batch_of


def a_task(**changes):
    return an_envelope(**{"id": a_new_id()} | changes)


def listed(ledger, **wanted):
    page = ledger.rows.dead(a_filter(**{"status": Status.DEAD} | wanted))
    return [letter.task.id for letter in page.letters]


def test_a_dead_task_is_listed_with_all_that_is_known_of_it(ledger):
    task = a_task()
    first = deferred(task, at_ms=Millis(NOW + 100))
    last = died(replace(task, turn=2, attempt=2), at_ms=Millis(NOW + 900), losses=1)
    ledger.ledger.record(batch_of(task, first, last))
    (letter,) = ledger.rows.dead(a_filter(status=Status.DEAD)).letters
    assert letter.first_failed_at_ms == NOW + 100
    assert letter.task == ledger.rows.find(task.id)
    assert (letter.task.attempt, letter.task.losses) == (2, 1)
    assert letter.task.ending.finished_at_ms == NOW + 900


def test_a_failure_that_is_told_late_is_still_the_first(ledger):
    task = a_task()
    ledger.ledger.record(batch_of(task, died(replace(task, turn=3), at_ms=Millis(NOW + 900))))
    ledger.ledger.record(batch_of(deferred(task, reason="snoozed", at_ms=Millis(NOW + 10))))
    ledger.ledger.record(batch_of(deferred(replace(task, turn=2), at_ms=Millis(NOW + 200))))
    ledger.ledger.record(batch_of(lost(task, at_ms=Millis(NOW + 100))))
    (letter,) = ledger.rows.dead(a_filter(status=Status.DEAD)).letters
    assert letter.first_failed_at_ms == NOW + 100


@pytest.mark.parametrize("reason", ["snoozed", "stopped"])
def test_what_was_put_off_by_intent_is_no_failure(ledger, reason):
    task = a_task()
    ledger.ledger.record(batch_of(task, deferred(task, reason=reason, at_ms=Millis(NOW + 10))))
    ledger.ledger.record(batch_of(died(replace(task, turn=2), at_ms=Millis(NOW + 900))))
    (letter,) = ledger.rows.dead(a_filter(status=Status.DEAD)).letters
    assert letter.first_failed_at_ms == NOW + 900


def test_a_death_that_is_told_before_its_submission_waits_for_it(ledger):
    task = a_task()
    ledger.ledger.record(batch_of(died(task)))
    assert listed(ledger) == []
    ledger.ledger.record(batch_of(task))
    assert listed(ledger) == [task.id]


def test_who_did_not_die_is_not_listed(ledger):
    done, waiting, running = a_task(), a_task(), a_task()
    facts = [succeeded(done), deferred(waiting), started(running)]
    ledger.ledger.record(batch_of(done, waiting, running, *facts))
    assert listed(ledger) == []


def test_a_redriven_task_is_not_listed_until_it_dies_again(ledger):
    task = a_task()
    again = replace(task, generation=task.generation + 5_000, submitted=task.generation)
    ledger.ledger.record(batch_of(task, died(task)))
    ledger.ledger.record(batch_of(again))
    assert listed(ledger) == []
    ledger.ledger.record(batch_of(died(again, at_ms=Millis(NOW + 9_000), reason="timeout")))
    (letter,) = ledger.rows.dead(a_filter(status=Status.DEAD)).letters
    assert letter.task.ending.reason == "timeout"
    assert letter.first_failed_at_ms == NOW + 9_000
    assert listed(ledger, reason="failed") == []


def test_a_key_that_is_used_again_leaves_the_dead_behind(ledger):
    task = a_task(idempotency_key="k1")
    again = replace(task, generation=task.generation + 5_000, submission="a second request")
    ledger.ledger.record(batch_of(task, died(task)))
    ledger.ledger.record(batch_of(again))
    assert listed(ledger) == []


def test_a_death_of_a_generation_before_changes_nothing(ledger):
    task = a_task()
    again = replace(task, generation=task.generation + 5_000, submitted=task.generation)
    ledger.ledger.record(batch_of(again, succeeded(again)))
    ledger.ledger.record(batch_of(died(task)))
    assert listed(ledger) == []


@pytest.fixture
def told(ledger):
    tasks = {
        "failed": a_task(),
        "timeout": a_task(type="other"),
        "poison": a_task(metadata={"who": "me"}, created_at_ms=Millis(NOW + 500)),
        "foreign": a_task(tenant="other"),
    }
    deaths = [
        died(tasks["failed"], at_ms=Millis(NOW + 1_000), error_class="KeyError"),
        died(tasks["timeout"], at_ms=Millis(NOW + 2_000), reason="timeout", error_class="TimedOut"),
        died(tasks["poison"], at_ms=Millis(NOW + 3_000), reason="poison", error_class="Poisoned"),
        died(tasks["foreign"], at_ms=Millis(NOW + 4_000)),
    ]
    ledger.ledger.record(batch_of(*tasks.values(), *deaths))
    return tasks


CASES = [
    ({}, ["poison", "timeout", "failed"]),
    ({"type": "other"}, ["timeout"]),
    ({"reason": "poison"}, ["poison"]),
    ({"error_class": "KeyError"}, ["failed"]),
    ({"error_class": "KeyError", "reason": "poison"}, []),
    ({"dead_after_ms": NOW + 1_000}, ["poison", "timeout"]),
    ({"dead_before_ms": NOW + 3_000}, ["timeout", "failed"]),
    ({"created_after_ms": NOW}, ["poison"]),
    ({"created_before_ms": NOW + 500}, ["timeout", "failed"]),
    ({"metadata": {"who": "me"}}, ["poison"]),
    ({"tenant": "other"}, ["foreign"]),
    ({"limit": 1}, ["poison"]),
]


@pytest.mark.parametrize(("wanted", "expected"), CASES, ids=[str(wanted) for wanted, _ in CASES])
def test_the_latest_death_that_fits_comes_first(ledger, told, wanted, expected):
    assert listed(ledger, **wanted) == [told[word].id for word in expected]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
def test_a_walk_sees_each_of_the_dead_once_even_those_of_one_moment(ledger, size):
    tasks = [a_task() for _ in range(7)]
    deaths = [died(task, at_ms=Millis(NOW + n // 3)) for n, task in enumerate(tasks)]
    ledger.ledger.record(batch_of(*tasks, *deaths))
    seen, after = [], None
    while True:
        page = ledger.rows.dead(a_filter(status=Status.DEAD, limit=size, after=after))
        seen += [letter.task.id for letter in page.letters]
        after = page.next
        if after is None:
            break
    expected = sorted(deaths, key=lambda death: (death.at_ms, death.id), reverse=True)
    assert seen == [death.id for death in expected]
