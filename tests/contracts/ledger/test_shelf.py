"""Tasks whose lines are full wait on shelves in the ledger, in order, until they are brought in."""

from msgspec.structs import replace

from taskmill.core.task import Priority, TaskType
from taskmill.lanes.lane import ClassCount, place_of
from taskmill.lanes.order import order_of
from tests.builders import (
    a_fresh_envelope,
    a_new_id,
    cancelled,
    now_ms,
    shelved,
    started,
    succeeded,
)
from tests.contracts.ledgers import batch_of


def a_task(**changes):
    return a_fresh_envelope(id=a_new_id(), **changes)


def in_order(count, **changes):
    return [a_task(index=number, generation=now_ms(), **changes) for number in range(count)]


def record(ledger, *events):
    ledger.ledger.record(batch_of(*events))


def put(ledger, *tasks):
    """Record tasks, and that they were shelved."""
    record(ledger, *tasks, *map(shelved, tasks))


def line(task):
    return place_of(task).line


def first(ledger, task, most=100):
    return ledger.shelf().first(line(task), most=most)


def ids(tasks):
    return [one.place.member.id for one in tasks]


def test_tasks_come_in_the_order_of_their_line(ledger):
    tasks = in_order(5)
    put(ledger, *reversed(tasks))
    assert ids(first(ledger, tasks[0])) == [one.id for one in tasks]
    assert ids(first(ledger, tasks[0], most=2)) == [one.id for one in tasks[:2]]


def test_a_task_comes_whole(ledger):
    task = a_task(idempotency_key="k", metadata={"a": "b"}, fairness_key="Ä b", tenant="t")
    put(ledger, task)
    (found,) = first(ledger, task)
    assert found.place == place_of(task)
    assert (found.row.id, found.row.spec.metadata) == (task.id, {"a": "b"})
    assert order_of(task) == found.place.order


def test_each_line_has_its_own_shelf(ledger):
    tasks = [a_task(), a_task(priority=Priority.HIGH), a_task(type=TaskType("email"))]
    put(ledger, *tasks)
    for task in tasks:
        assert ids(first(ledger, task)) == [task.id]


def test_a_repeated_fact_is_one_row(ledger):
    task = a_task()
    put(ledger, task)
    put(ledger, task)
    assert len(first(ledger, task)) == 1
    assert len(ledger.history()) == 2


def test_the_fact_changes_no_status(ledger):
    one, other = a_task(), a_task()
    record(ledger, one, started(one))
    record(ledger, shelved(one))
    put(ledger, other)
    assert (ledger.rows.find(one.id).status, ledger.rows.find(other.id).status) == (
        "running",
        "queued",
    )


def test_a_task_without_its_submission_waits_for_it(ledger):
    task = a_task()
    record(ledger, shelved(task))
    assert first(ledger, task) == []
    record(ledger, task)
    assert ids(first(ledger, task)) == [task.id]


def test_what_is_over_or_further_has_its_place_and_no_row(ledger):
    """The shelf of a line closes with the task that was shelved last, whatever became of it."""
    tasks = in_order(4)
    put(ledger, *tasks)
    ended, gone, anew, waiting = tasks
    record(ledger, started(ended), succeeded(ended))
    record(ledger, cancelled(gone))
    record(ledger, replace(anew, generation=anew.generation + 1))
    found = first(ledger, waiting)
    assert ids(found) == [one.id for one in tasks]
    assert [one.row is None for one in found] == [True, True, True, False]


def test_the_last_task_of_each_line(ledger):
    normal, high = in_order(3), in_order(2, priority=Priority.HIGH)
    put(ledger, *normal, *high)
    expected = sorted([place_of(normal[-1]), place_of(high[-1])], key=lambda one: one.line)
    shelf = ledger.shelf()
    assert list(shelf.last(after="", most=10)) == expected
    assert list(shelf.last(after="", most=1)) == expected[:1]
    assert list(shelf.last(after=expected[0].line, most=10)) == expected[1:]
    assert list(shelf.last(after=expected[1].line, most=10)) == []


def test_what_was_brought_in_leaves(ledger):
    one, other = in_order(2)
    put(ledger, one, other)
    ledger.shelf().leave([place_of(one)])
    assert ids(first(ledger, other)) == [other.id]


def test_a_rebuild_puts_tasks_here(ledger):
    task = a_task()
    record(ledger, task)
    ledger.shelf().keep([place_of(task)])
    ledger.shelf().keep([place_of(task)])
    assert ids(first(ledger, task)) == [task.id]


def test_records_are_ended_once(ledger):
    tasks = in_order(3)
    put(ledger, *tasks)
    shelf = ledger.shelf()
    members = shelf.with_records(most=2)
    assert len(members) == 2
    shelf.note_ended(members)
    (left,) = shelf.with_records(most=2)
    assert {one.id for one in (*members, left)} == {one.id for one in tasks}


def test_readers_ask_whether_a_task_is_here(ledger):
    task, other = a_task(), a_task()
    put(ledger, task)
    record(ledger, other)
    assert ledger.rows.is_shelved(task.id)
    assert not ledger.rows.is_shelved(other.id)
    assert [row.is_shelved for row in ledger.whole().of([task.id])] == [True]
    assert [row.is_shelved for row in ledger.whole().of([other.id])] == [False]
    record(ledger, replace(task, generation=task.generation + 1))
    assert not ledger.rows.is_shelved(task.id)


def test_redis_needs_of_a_shelved_task_only_its_key(ledger):
    plain, keyed, other = a_task(), a_task(idempotency_key="k"), a_task()
    put(ledger, plain, keyed)
    record(ledger, other)
    whole = ledger.whole()
    restorable = {row.id for page in whole.restorable(finished=False) for row in page}
    unfinished = {row.id for page in whole.unfinished([plain.type]) for row in page}
    assert restorable == unfinished == {other.id}
    assert {row.id for page in whole.far() for row in page} == {keyed.id}
    assert {row.id for row in whole.unlisted([plain.id, keyed.id, other.id])} == {plain.id}


def test_a_shelved_task_that_ended_is_restored_like_any_other(ledger):
    task = a_task(idempotency_key="k")
    put(ledger, task)
    record(ledger, cancelled(task))
    whole = ledger.whole()
    assert {row.id for page in whole.restorable(finished=True) for row in page} == {task.id}
    assert [row for page in whole.far() for row in page] == []


def test_unfinished_tasks_come_in_their_order(ledger):
    tasks = in_order(5)
    record(ledger, *reversed(tasks))
    pages = ledger.whole().unfinished([tasks[0].type])
    assert [row.id for page in pages for row in page] == [one.id for one in tasks]


def test_the_reconciler_sees_that_a_task_is_here(ledger):
    task, other = a_task(), a_task()
    put(ledger, task)
    record(ledger, other)
    versions = ledger.task_versions()
    assert [one.is_shelved for one in versions.of([task.id])] == [True]
    assert [one.is_shelved for one in versions.of([other.id])] == [False]
    young = [one for page in versions.young(since_ms=now_ms() - 60_000) for one in page]
    assert {one.id: one.is_shelved for one in young} == {task.id: True, other.id: False}


def test_what_is_here_is_counted_by_type_and_class_with_the_oldest(ledger):
    tasks = in_order(3)
    others = [a_task(fairness_key="k"), a_task(priority=Priority.CRITICAL)]
    mail = a_task(type=TaskType("email"), tenant="t")
    put(ledger, *tasks, *others, mail)
    shelf = ledger.shelf()
    assert shelf.count(most=6) == {
        tasks[0].type: {
            Priority.NORMAL: ClassCount(4, order_of(tasks[0])),
            Priority.CRITICAL: ClassCount(1, order_of(others[1])),
        },
        mail.type: {Priority.NORMAL: ClassCount(1, order_of(mail))},
    }
    counted = shelf.count(most=4)
    assert sum(one.waiting for each in counted.values() for one in each.values()) == 4
    shelf.leave([place_of(one) for one in (*tasks, *others, mail)])
    assert shelf.count(most=6) == {}
