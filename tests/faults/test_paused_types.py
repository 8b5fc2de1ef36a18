"""A pause outlasts the loss of Redis, and one made without Redis holds once Redis is back."""

import signal

import pytest

from taskmill.core.owed import Cold
from taskmill.core.task import TaskType
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.redis.lanes import RedisLanes
from taskmill.stores.redis.session import Session
from tests.faults.run import starts
from tests.waiting import eventually

PROBE = TaskType("probe")
PATH = "/v1/pauses"
TASKS = 20
PATIENCE = 90


@pytest.fixture
def paused(stack):
    """Pause the type; afterwards it is resumed."""

    def pause():
        answer = stack.client.post(PATH, {"type": PROBE})
        assert answer.status == 201, answer
        return answer.body

    yield pause
    stack.client.ask("DELETE", f"{PATH}/type:{PROBE}")


def resume(stack):
    answer = stack.client.ask("DELETE", f"{PATH}/type:{PROBE}")
    assert answer.status == 200, answer


def await_waiting(stack, count):
    """Wait until the lane is open, paused, and has that many tasks."""

    def counted():
        session = Session(stack.ground.own_redis_url)
        try:
            (answer,) = RedisLanes(session, AssembledCatalogue()).count([PROBE])
        finally:
            session.close()
        return None if isinstance(answer, Cold) else answer

    def is_full():
        answer = counted()
        return answer and sum(one.waiting for one in answer.classes.values()) == count

    eventually(is_full, within=PATIENCE, reason=f"{count} tasks wait")
    assert counted().paused_until_ms == 0


def test_a_lane_that_was_lost_stays_paused(stack, run, paused):
    paused()
    requests = [run.request(number) for number in range(TASKS)]
    run.submit(requests)
    await_waiting(stack, TASKS)
    stack.forget_redis()
    stack.await_rebuild()
    await_waiting(stack, TASKS)
    assert starts(stack, set(run.ids)) == {}
    resume(stack)
    run.await_ends()
    run.verify()


def test_a_pause_that_was_made_without_redis_holds_once_redis_is_back(stack, run, paused):
    stack.ground.end("Valkey", signal.SIGKILL)
    try:
        assert paused()["lanes"] == "deferred"
        run.submit([run.request(number) for number in range(TASKS)])
    finally:
        stack.ground.revive("Valkey")
    stack.await_rebuild()
    await_waiting(stack, TASKS)
    assert starts(stack, set(run.ids)) == {}
    resume(stack)
    run.await_ends()
    run.verify()
