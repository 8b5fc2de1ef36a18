"""Records as the version before wrote them: their source was a place in the log."""

from datetime import timedelta

import pytest

from taskmill.execution.lease import Beat, HeldLease, Settled
from taskmill.lanes.lane import TurnIsFree, TurnLives, member_of
from taskmill.stores.redis.keys import shard_keys
from taskmill.stores.redis.session import Session
from tests.builders import a_claim, a_lease, a_request, a_success
from tests.contracts.hot import SHARDS, InValkey, admitted, claimed

BEFORE = (
    "source",
    "tasks.worker.echo|3|71|0",
    "process",
    "p1",
    "dropped",
    " tasks.worker.echo|3|9|0",
)
LONG = timedelta(minutes=1)


@pytest.fixture
def redis(valkey):
    session = Session(valkey)
    yield InValkey(session)
    session.close()


def record_of(task):
    return shard_keys(task.id, SHARDS).record(task.id)


def claimed_before(redis, *, lease):
    """Return a task that a worker of the version before has claimed, and its token."""
    task = admitted(redis.admission(), a_request())
    token = claimed(redis.leases(lease=lease), task).token
    redis.session.command("HSET", record_of(task), *BEFORE)
    return task, token


def test_its_worker_keeps_its_lease_and_ends_its_turn(redis):
    task, token = claimed_before(redis, lease=LONG)
    assert redis.leases().claim([a_claim(task)]) == [HeldLease()]
    assert isinstance(redis.turns().look([member_of(task)])[0], TurnLives)
    assert redis.leases().extend([a_lease(task, token)]) == [Beat.HELD]
    end = a_success(task, token)
    assert redis.leases().settle([end]) == [Settled(end.facts)]


def test_the_death_of_its_worker_is_a_loss(redis):
    task, token = claimed_before(redis, lease=timedelta())
    assert redis.turns().look([member_of(task)]) == [TurnIsFree()]
    answer = claimed(redis.leases(), task)
    assert [loss.token for loss in answer.unreported] == [token]


def test_an_end_removes_what_nobody_reads_any_more(redis):
    task, token = claimed_before(redis, lease=LONG)
    redis.leases().settle([a_success(task, token)])
    assert redis.session.command("HMGET", record_of(task), *BEFORE[::2]) == [None, None, None]
