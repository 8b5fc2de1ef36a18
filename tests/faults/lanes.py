"""What the lanes of the shared system hold, and what operators and disasters do to them."""

from contextlib import contextmanager
from datetime import timedelta

from taskmill.core.owed import Cold
from taskmill.core.task import TaskType
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.redis.keys import lane_keys
from taskmill.stores.redis.lanes import RedisLanes
from taskmill.stores.redis.session import Session
from tests.waiting import eventually

PATH = "/v1/pauses"
UNATTENDED_MS = 2_000
PATIENCE = timedelta(seconds=20)


@contextmanager
def redis_of(stack):
    """Yield a connection of the test's own, past the proxy."""
    session = Session(stack.ground.own_redis_url, patience=PATIENCE)
    try:
        yield session
    finally:
        session.close()


def count_of(stack, kind="probe"):
    """Return what the lane of a type holds; None while it is cold."""
    with redis_of(stack) as session:
        (answer,) = RedisLanes(session, AssembledCatalogue()).count([TaskType(kind)])
    return None if isinstance(answer, Cold) else answer


def waiting_in(stack, kind="probe"):
    answer = count_of(stack, kind)
    return answer and answer.alone.waiting + sum(one.waiting for one in answer.classes.values())


def await_waiting(stack, count, kind="probe", within=90):
    """Wait until so many wait in the lane, or on shelves."""

    def all_wait():
        in_lane = waiting_in(stack, kind)
        return in_lane is not None and in_lane + shelved(stack) == count

    eventually(all_wait, within=within, reason=f"{count} of {kind} wait")


def shelved(stack):
    """Return how many tasks wait on shelves."""
    ((count,),) = stack.ask("SELECT count(*) FROM shelved_tasks")
    return count


def await_empty(stack, kind="probe", within=30):
    """Wait until nothing waits in a lane, and nothing is in flight: no place has leaked."""

    def is_empty():
        answer = count_of(stack, kind)
        return answer and (waiting_in(stack, kind), answer.in_flight) == (0, 0)

    eventually(is_empty, within=within, reason=f"the lane of {kind} is empty")


def await_no_scheduler(stack, kind="probe", within=10):
    """Wait until workers know that no scheduler is there, as they do after two seconds."""

    def is_unattended():
        with redis_of(stack) as session:
            ticked = session.command("HGET", lane_keys(kind).state, "ticked")
            seconds, _ = session.command("TIME")
        return int(seconds) * 1000 - int(ticked or 0) > UNATTENDED_MS

    eventually(is_unattended, within=within, reason=f"no scheduler looks at the lane of {kind}")


@contextmanager
def paused(stack, kind="probe"):
    """Pause a type meanwhile."""
    assert stack.client.post(PATH, {"type": kind}).status == 201
    try:
        yield
    finally:
        assert stack.client.ask("DELETE", f"{PATH}/type:{kind}").status == 200


def lose_lane(stack, kind="probe"):
    """Delete every key of a lane; its records live on."""
    with redis_of(stack) as session:
        session.command("UNLINK", *lane_keys(kind).every)


def lose_shard(stack, shard):
    """Delete every key of a shard; the lanes live on. Return how many keys there were."""
    with redis_of(stack) as session:
        keys = session.command("KEYS", f"tm:{{*.{shard}}}:*")
        return session.command("UNLINK", *keys) if keys else 0
