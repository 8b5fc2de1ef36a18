"""The record of a task on a shelf ends, but for what its key needs, and is made again."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core.task import Status
from taskmill.core.view import Absent
from taskmill.dispatch.waiting import Unshelved, UnshelveOrder
from taskmill.execution.lease import Claimed
from taskmill.lanes.lane import member_of
from taskmill.stores.redis.keys import shard_keys
from taskmill.stores.redis.session import Session
from taskmill.submission.admission import AdmittedBefore, Conflict, Replayed
from tests.builders import a_claim, a_request
from tests.contracts.hot import SHARDS, InValkey, admitted, claimed

HOUR = timedelta(hours=1)
NOW = timedelta()


def a_task(hot, key=None):
    return admitted(hot.admission(), a_request(key))


def shelve(hot, task, *, stays=NOW):
    hot.shelved_records().shelve([member_of(task)], stays=stays)
    hot.due().forget_expired(most=10)


def unshelve(hot, task, *, token=0, losses=0):
    order = UnshelveOrder(envelope=task, token=token, losses=losses)
    (answer,) = hot.shelved_records().unshelve([order])
    return answer


def reading(hot, task):
    (found,) = hot.records().read([task.id])
    return found


def test_a_record_ends_at_its_time(hot):
    task = a_task(hot)
    shelve(hot, task, stays=HOUR)
    assert reading(hot, task).status is Status.QUEUED
    assert 0 < hot.life_left_ms(task) <= 3_600_000
    shelve(hot, task)
    assert isinstance(reading(hot, task), Absent)


def test_a_key_goes_on_naming_its_task(hot):
    task = a_task(hot, "k")
    shelve(hot, task)
    assert isinstance(reading(hot, task), Absent)
    again = a_request("k", submission="s2")
    other = replace(again, submission="s3", fingerprint="other")
    first, second = hot.admission().admit([again, other])
    assert isinstance(first, Replayed)
    assert isinstance(second, Conflict)


def test_a_submission_that_the_log_delivers_again_finds_its_task(hot):
    request = replace(a_request(), deferred=True)
    (first,) = hot.admission().admit([request])
    shelve(hot, replace(request, generation=first.generation))
    (second,) = hot.admission().admit([request])
    assert isinstance(second, AdmittedBefore)
    assert second.generation == first.generation


@pytest.mark.parametrize("key", [None, "k"])
def test_a_record_is_made_again(hot, key):
    task = a_task(hot, key)
    before = reading(hot, task)
    shelve(hot, task)
    assert unshelve(hot, task, token=5) is Unshelved.QUEUED
    assert reading(hot, task) == before
    assert claimed(hot.leases(), task).token > 5


@pytest.mark.parametrize("key", [None, "k"])
def test_a_record_that_is_there_stays(hot, key):
    task = a_task(hot, key)
    shelve(hot, task, stays=HOUR)
    assert unshelve(hot, task) is Unshelved.QUEUED
    hot.due().forget_expired(most=10)
    assert reading(hot, task).status is Status.QUEUED


@pytest.mark.parametrize("key", [None, "k"])
def test_who_shelves_late_ends_nothing_that_was_brought_in(hot, key):
    task = a_task(hot, key)
    unshelve(hot, task)
    shelve(hot, task)
    assert reading(hot, task).status is Status.QUEUED


def test_a_running_task_keeps_its_record_and_must_be_in_its_lane(hot):
    task = a_task(hot)
    claimed(hot.leases(), task)
    shelve(hot, task)
    assert unshelve(hot, task) is Unshelved.QUEUED
    assert reading(hot, task).status is Status.RUNNING


def test_another_generation_is_left_alone(hot):
    task = a_task(hot)
    shelve(hot, replace(task, generation=task.generation - 1))
    assert unshelve(hot, replace(task, generation=task.generation - 1)) is Unshelved.OVER
    assert reading(hot, task).generation == task.generation
    newer = replace(task, generation=task.generation + 1)
    assert unshelve(hot, newer) is Unshelved.QUEUED
    assert reading(hot, task).generation == newer.generation


def test_losses_and_tokens_only_grow(hot):
    task = a_task(hot)
    shelve(hot, task)
    unshelve(hot, task, token=7, losses=1)
    (answer,) = hot.leases().claim([a_claim(task, alone=True)])
    assert isinstance(answer, Claimed)
    assert (answer.losses, answer.token > 7) == (1, True)


def test_a_cold_shard_answers_so_and_loses_nothing(hot):
    task = a_task(hot)
    hot.become_another_server()
    shelve(hot, task)
    assert unshelve(hot, task) is Unshelved.COLD
    hot.open()
    assert reading(hot, task).status is Status.QUEUED


def test_what_a_shelved_task_costs_in_redis(valkey):
    """A task with a key costs what its key needs, one without a key nothing."""
    hot = InValkey(Session(valkey))
    try:
        sizes = {key: _sizes(hot, key) for key in (None, "k")}
    finally:
        hot.session.close()
    for key, (before, after) in sizes.items():
        kind = "with" if key else "without"
        print(f"a record {kind} a key: {before} bytes, shelved {after}")  # noqa: T201 - the cost
    assert sizes[None][1] == 0
    before, after = sizes["k"]
    assert 0 < after < before


def _sizes(hot, key):
    """Return the bytes of a task's record before and after it is shelved."""
    task = a_task(hot, key)
    record = shard_keys(task.id, SHARDS).record(task.id)
    before = hot.session.command("MEMORY", "USAGE", record)
    shelve(hot, task)
    return before, hot.session.command("MEMORY", "USAGE", record) or 0
