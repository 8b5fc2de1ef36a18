"""The ledger finds far tasks that come near, and those that keys still name."""

from datetime import timedelta

import pytest
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core.facts import TaskChanged
from taskmill.core.task import Status, Timing
from tests.builders import a_fresh_envelope, a_new_id, cancelled, now_ms, started, succeeded
from tests.contracts.ledgers import batch_of

HOUR = 3_600_000
WITHIN = timedelta(minutes=10)


def far(due_ms=HOUR, key=None, **changes):
    return a_fresh_envelope(
        id=a_new_id(), idempotency_key=key, timing=Timing(delay_ms=due_ms), **changes
    )


def record(ledger, *answer):
    ledger.ledger.record(batch_of(*answer))


def coming(ledger, within=WITHIN, **how):
    return [row for rows in ledger.far(**how).coming(within=within) for row in rows]


def ids(rows):
    return [row.id for row in rows]


def changed(task, *, at_ms=None, turn=2, **changes):
    """Record that *task* got another time, as a delay from *at_ms* on, or other metadata."""
    at_ms = at_ms or now_ms()
    due = at_ms + changes.pop("delay_ms", HOUR)
    timing = Timing(run_at_ms=due, said_ms=at_ms, turn=turn)
    envelope = replace(task, turn=turn, timing=timing, **changes)
    return TaskChanged(
        id=task.id,
        generation=task.generation,
        turn=turn,
        at_ms=at_ms,
        type=task.type,
        tenant=task.tenant,
        envelope=envelope,
    )


def test_what_waits_far_ahead_comes_when_its_time_is_near(ledger):
    later, sooner = far(2 * HOUR), far()
    record(ledger, later, sooner)
    assert coming(ledger) == []
    assert ids(coming(ledger, timedelta(hours=1, minutes=1))) == [sooner.id]
    assert ids(coming(ledger, timedelta(hours=3))) == [sooner.id, later.id]


def test_a_row_that_comes_is_whole(ledger):
    task = far(key="k", payload=Raw(b'{"say":"later"}'), metadata={"a": "b"})
    record(ledger, task)
    (row,) = coming(ledger, timedelta(days=1))
    assert (row.status, row.due_at_ms) == (Status.SCHEDULED, task.generation + HOUR)
    assert bytes(row.spec.payload) == b'{"say":"later"}'
    assert (row.spec.timing, row.spec.metadata) == (task.timing, {"a": "b"})


def test_what_is_near_from_the_start_is_not_kept_alone(ledger):
    record(ledger, far(60_000), a_fresh_envelope(id=a_new_id()))
    assert coming(ledger, timedelta(days=1)) == []


def test_many_come_page_by_page(ledger):
    how = {} if type(ledger).__name__ == "MemoryTables" else {"rows_at_a_time": 3}
    tasks = [far(HOUR + number // 2) for number in range(8)]
    record(ledger, *tasks)
    assert set(ids(coming(ledger, timedelta(days=1), **how))) == {task.id for task in tasks}


def test_what_was_brought_near_does_not_come_again_and_is_unfinished(ledger):
    task = far()
    record(ledger, task)
    task_versions = ledger.task_versions(behind=timedelta(0))
    assert task_versions.unfinished(after=None, most=10) == []
    ledger.far().leave(coming(ledger, timedelta(days=1)))
    assert coming(ledger, timedelta(days=1)) == []
    assert ids(task_versions.unfinished(after=None, most=10)) == [task.id]


def test_the_window_over_ages_does_not_note_what_is_far(ledger):
    task_versions = ledger.task_versions(behind=timedelta(0))
    task, near = far(), a_fresh_envelope(id=a_new_id())
    record(ledger, task, near)
    with task_versions.next_step():
        pass
    assert ids(task_versions.unfinished(after=None, most=10)) == [near.id]


def test_a_cancelled_one_comes_no_more(ledger):
    task = far()
    record(ledger, task)
    record(ledger, cancelled(task, token=0, started_at_ms=None))
    assert coming(ledger, timedelta(days=1)) == []


def test_what_is_further_in_life_is_not_kept_alone_by_what_is_told_late(ledger):
    task = far()
    record(ledger, started(task))
    record(ledger, task)
    assert coming(ledger, timedelta(days=1)) == []


def test_a_change_moves_its_time(ledger):
    task = far()
    record(ledger, task)
    record(ledger, changed(task, delay_ms=3 * HOUR))
    assert coming(ledger, timedelta(hours=2)) == []
    (row,) = coming(ledger, timedelta(hours=4))
    assert (row.turn, row.status) == (2, Status.SCHEDULED)


def test_a_change_to_a_near_time_takes_it_away(ledger):
    task = far()
    record(ledger, task)
    record(ledger, changed(task, delay_ms=1_000))
    assert coming(ledger, timedelta(days=1)) == []
    assert ledger.rows.find(task.id).status is Status.SCHEDULED


def test_a_change_that_comes_while_it_is_brought_near_stays(ledger):
    task = far()
    record(ledger, task)
    rows = coming(ledger, timedelta(days=1))
    record(ledger, changed(task, delay_ms=3 * HOUR))
    ledger.far().leave(rows)
    assert len(coming(ledger, timedelta(days=1))) == 1


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2), (2, 0, 3, 1)], ids=str)
def test_the_latest_change_decides_in_whatever_order_it_is_told(ledger, order):
    task = a_fresh_envelope(id=a_new_id(), metadata={"n": "1"})
    at_ms = now_ms()
    story = [
        task,
        changed(task, at_ms=at_ms, turn=2, metadata={"n": "2"}),
        changed(task, at_ms=at_ms, turn=3, metadata={"n": "3"}, delay_ms=1_000),
        succeeded(replace(task, turn=3)),
    ]
    for index in order:
        record(ledger, story[index])
    seen = ledger.rows.find(task.id)
    assert (seen.status, seen.spec.metadata) == (Status.SUCCEEDED, {"n": "3"})
    assert seen.run_at_ms == at_ms + 1_000


def test_keys_of_what_is_far_are_told_and_nothing_else(ledger):
    keyed, other, near = far(key="k"), far(), far(60_000, key="n")
    record(ledger, keyed, other, near)
    whole = ledger.whole()
    assert ids(row for rows in whole.far() for row in rows) == [keyed.id]
    assert ids(row for rows in whole.restorable(finished=False) for row in rows) == [near.id]
    assert ids(row for rows in whole.unfinished(["echo"]) for row in rows) == [near.id]
    assert ids(whole.unlisted([keyed.id, other.id, near.id])) == [other.id]


def test_depths_count_what_is_far(ledger):
    record(ledger, far(), far(60_000))
    (depth,) = ledger.figures().figures().depths
    assert (depth.status, depth.tasks) == (Status.SCHEDULED, 2)
