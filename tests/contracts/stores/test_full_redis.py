"""A Redis without memory lets the backlog drain, and takes nothing new."""

from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from taskmill.core.errors import StoreUnavailable
from taskmill.core.owed import Cleared
from taskmill.core.task import Status, Timing
from taskmill.core.view import Ending, TaskView
from taskmill.dispatch.waiting import DelayOrder
from taskmill.execution.lease import Beat, Settled
from taskmill.lanes.lane import TurnIsOver, TurnLives, member_of
from taskmill.orders.control import CancelOrder, Ordered, RedriveOrder
from taskmill.stores.redis.session import Session
from tests.builders import a_lease, a_request, a_success, cancelled, died, now_ms
from tests.contracts.hot import InValkey, admitted, claimed, finished, next_turn

FULL = r"Redis.*memory is full.*maxmemory is raised"
MINUTE_MS = 60_000


@pytest.fixture
def redis(valkey):
    session = Session(valkey)
    yield InValkey(session)
    session.close()


@contextmanager
def no_memory_left(redis):
    redis.session.command("CONFIG", "SET", "maxmemory", 1)
    try:
        yield
    finally:
        redis.session.command("CONFIG", "SET", "maxmemory", 0)


def snapshot(redis, task):
    (seen,) = redis.control().see([task.id])
    return seen


def test_what_was_admitted_is_claimed_run_and_ended(redis):
    task = admitted(redis.admission(), a_request())
    following = admitted(redis.admission(), a_request())
    with no_memory_left(redis):
        token = claimed(redis.leases(), task).token
        assert isinstance(redis.turns().look([member_of(task)])[0], TurnLives)
        assert redis.leases().extend([a_lease(task, token)]) == [Beat.HELD]
        end = a_success(task, token)
        assert redis.leases().settle([end]) == [Settled(end.facts)]
        assert redis.turns().look([member_of(task)]) == [TurnIsOver(end.facts)]
        retry = next_turn(following, claimed(redis.leases(), following).token, due_at_ms=1)
        assert redis.leases().settle([retry]) == [Settled(retry.facts)]
        ((name, _),) = redis.due().take(most=10)
        assert redis.due().clear([name]) == [Cleared.DONE]


def test_what_waits_is_read_and_cancelled(redis):
    task = admitted(redis.admission(), a_request())
    with no_memory_left(redis):
        (view,) = redis.records().read([task.id])
        assert isinstance(view, TaskView)
        order = CancelOrder(
            id=task.id,
            seen=snapshot(redis, task).moment,
            facts=(cancelled(task, started_at_ms=None),),
            ending=Ending(finished_at_ms=now_ms()),
        )
        assert redis.control().cancel([order]) == [Ordered()]


def test_what_is_new_is_refused_with_the_reason(redis):
    waiting = admitted(redis.admission(), a_request(timing=Timing(delay_ms=MINUTE_MS)))
    ended = admitted(redis.admission(), a_request())
    finished(redis, ended)
    redrive = RedriveOrder(
        seen=snapshot(redis, ended).moment, envelope=ended, facts=(died(ended),), token=0
    )
    delay = DelayOrder(envelope=replace(waiting, turn=2), due_at_ms=now_ms() + MINUTE_MS)
    with no_memory_left(redis):
        for call in (
            lambda: redis.admission().admit([a_request()]),
            lambda: redis.delays().delay([delay]),
            lambda: redis.control().redrive([redrive]),
        ):
            with pytest.raises(StoreUnavailable, match=FULL):
                call()
    assert snapshot(redis, ended).task.status is Status.SUCCEEDED
    assert redis.admission().admit([a_request()])
