"""A task without a worker is owed to the dispatcher again while a worker may still come."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core import codec
from taskmill.core.owed import OwedKind
from taskmill.dispatch.waiting import ParkAnswer
from tests.builders import a_fresh_envelope, a_request, now_ms
from tests.contracts.hot import admitted, claimed, finished, next_turn
from tests.waiting import eventually

SOON = timedelta(milliseconds=50)
LONG = timedelta(minutes=1)
NEWER = b',"only_newer":{"x": 1.10}}'


def raw_envelope(task):
    return codec.as_raw(codec.encode(task)[:-1] + NEWER)


def in_line(hot):
    """Admit a task and clear its entry, as if it was in the log."""
    due = hot.due(hold=timedelta())
    task = admitted(hot.admission(hold=timedelta()), a_request())
    due.clear([name for name, _ in due.take(most=10)])
    return task


def parked(hot, task, **spans):
    (answer,) = hot.parking(**spans).park([raw_envelope(task)])
    return answer


def what_is_owed(hot, task):
    (snapshot,) = hot.control().see([task.id])
    return snapshot.owed


def taken(hot):
    found = []
    eventually(lambda: found.extend(hot.due().take(most=10)) or found, within=10, reason="due")
    return found


def test_what_is_parked_is_due_after_a_while_and_says_until_when_it_waits(hot):
    task = in_line(hot)
    before = now_ms()
    assert parked(hot, task, patience=LONG, again_after=SOON) is ParkAnswer.PARKED
    ((name, owed),) = taken(hot)
    assert (name.id, name.generation, name.turn, name.kind) == (
        task.id,
        task.generation,
        1,
        OwedKind.PARKED,
    )
    until = owed.task.parked_until_ms
    assert before + 60_000 <= until <= now_ms() + 60_000
    assert owed.task == replace(task, parked_until_ms=until)


def test_what_waits_again_keeps_its_end(hot):
    task = replace(in_line(hot), parked_until_ms=now_ms() + 30_000)
    assert parked(hot, task, patience=LONG, again_after=SOON) is ParkAnswer.PARKED
    ((_, owed),) = taken(hot)
    assert owed.task == task


def test_what_has_waited_long_enough_is_over(hot):
    task = replace(in_line(hot), parked_until_ms=now_ms() - 1)
    assert parked(hot, task) is ParkAnswer.OVER
    assert hot.due().take(most=10) == []


def test_copies_that_wait_at_the_same_time_are_one(hot):
    task = in_line(hot)
    for _ in range(5):
        assert parked(hot, task, again_after=timedelta(seconds=2)) is ParkAnswer.PARKED
    first = {name for name, _ in taken(hot)}
    assert len(first) == 1, "two fall due at two times"


def test_what_is_cleared_does_not_take_the_next_waiting_away(hot):
    task = in_line(hot)
    parked(hot, task, again_after=SOON)
    first = taken(hot)
    parked(hot, task, again_after=SOON)
    hot.due().clear([name for name, _ in first])
    ((again, _),) = taken(hot)
    assert again.kind is OwedKind.PARKED
    assert again != first[0][0]


def test_who_looks_at_a_task_sees_that_it_is_parked_until_its_entry_is_cleared(hot):
    task = in_line(hot)
    parked(hot, task, patience=LONG, again_after=SOON)
    for _ in range(2):
        ((name, owed),) = taken(hot)
        assert what_is_owed(hot, task) == {OwedKind.PARKED: owed}
        hot.due().clear([name])
        assert what_is_owed(hot, task) == {}
        parked(hot, task, patience=LONG, again_after=SOON)


@pytest.mark.parametrize("what", ["finished", "running", "another turn", "another generation"])
def test_what_goes_on_elsewhere_is_over(hot, what):
    task = in_line(hot)
    if what == "finished":
        finished(hot, task)
    elif what == "running":
        claimed(hot.leases(), task)
    elif what == "another turn":
        lease = claimed(hot.leases(), task)
        hot.leases().settle([next_turn(task, lease.token, due_at_ms=now_ms() + 60_000)])
    else:
        claimed(hot.leases(), replace(task, generation=task.generation + 1))
    assert parked(hot, task) is ParkAnswer.OVER


def test_a_task_that_redis_does_not_know_waits_too(hot):
    assert parked(hot, a_fresh_envelope(), again_after=SOON) is ParkAnswer.PARKED
    assert len(taken(hot)) == 1


def test_nothing_is_parked_in_a_cold_shard(hot):
    task = in_line(hot)
    hot.become_another_server()
    assert parked(hot, task) is ParkAnswer.COLD
    hot.open()
    assert hot.due().take(most=10) == []


@pytest.mark.parametrize("hot", ["valkey"], indirect=True)
def test_an_entry_keeps_what_only_a_newer_version_knows(hot):
    parked(hot, in_line(hot), again_after=SOON)
    ((name, _),) = taken(hot)
    assert NEWER[1:] in name.task
