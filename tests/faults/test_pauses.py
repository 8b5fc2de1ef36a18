"""A paused worker cannot overwrite its successor (P10)."""

import os
import signal

from taskmill.adapters.redis.keys import shard_keys
from taskmill.adapters.redis.session import Session
from taskmill.domain import topics
from taskmill.domain.task import TaskType
from taskmill_local.settings import SHARDS
from tests.faults.log import append_everywhere, ends, values_since
from tests.faults.run import now_ms, starts
from tests.faults.stack import WORKER
from tests.waiting import eventually

IN_FLIGHT = 50
TOPIC = topics.worker(TaskType("probe"))


def test_a_paused_worker_cannot_overwrite_its_successor(stack, run, figures):
    stale = stales(stack)
    begins = ends(stack, TOPIC)
    run.submit([run.request(n, ill="linger", ill_runs=1, keeps=True) for n in range(IN_FLIGHT)])
    eventually(lambda: len(begun(stack, run)) == IN_FLIGHT, within=30, reason="all are in flight")
    paused = {line["pid"] for line in stack.left(set(run.ids))}
    assert len(paused) == 1, "one parcel goes to one process"
    with stopped(paused):
        eventually(lambda: has_lapsed(stack, run), within=30, reason="their leases have lapsed")
        for value in values_since(stack, TOPIC, begins):
            append_everywhere(stack, TOPIC, value)  # the partition of the paused one waits for it
        run.await_ends()
    eventually(
        lambda: stales(stack) - stale >= IN_FLIGHT, within=60, reason="each stale end is logged"
    )
    history = run.verify(kills=1, in_flight=IN_FLIGHT)
    overtaken = sum(row.losses for row in history.rows)
    figures.tell(
        "P10",
        f"{IN_FLIGHT} paused for longer than a lease, {overtaken} taken over: "
        f"{stales(stack) - stale} stale ends, 0 accepted",
    )
    assert overtaken == IN_FLIGHT


def test_a_worker_that_slept_through_a_rebuild_cannot_overwrite_its_successor(stack, run, figures):
    stale = stales(stack)
    begins = ends(stack, TOPIC)
    run.submit([run.request(n, ill="linger", ill_runs=1, keeps=True) for n in range(IN_FLIGHT)])
    eventually(lambda: len(begun(stack, run)) == IN_FLIGHT, within=30, reason="all are in flight")
    paused = {line["pid"] for line in stack.left(set(run.ids))}
    with stopped(paused):
        stack.forget_redis()
        stack.await_rebuild()
        eventually(lambda: has_lapsed(stack, run), within=30, reason="their leases have lapsed")
        for value in values_since(stack, TOPIC, begins):
            append_everywhere(stack, TOPIC, value)  # the partition of the paused one waits for it
        run.await_ends()
    eventually(
        lambda: stales(stack) - stale >= IN_FLIGHT, within=60, reason="each stale end is logged"
    )
    assert run.complaints(kills=1, in_flight=IN_FLIGHT) == []
    figures.tell(
        "P10",
        f"{IN_FLIGHT} paused while Redis was emptied and rebuilt: {stales(stack) - stale} stale "
        f"ends, 0 accepted",
    )


def begun(stack, run):
    return starts(stack, set(run.ids))


def stales(stack):
    """Return how many attempts were told, and logged, that they are another's."""
    return stack.log(WORKER).count("stale settle")


class stopped:  # noqa: N801 - it reads as one
    """Let processes stand still for a while."""

    def __init__(self, pids):
        self._pids = pids

    def __enter__(self):
        for pid in self._pids:
            os.kill(pid, signal.SIGSTOP)

    def __exit__(self, *_):
        for pid in self._pids:
            os.kill(pid, signal.SIGCONT)


def has_lapsed(stack, run):
    session = Session(stack.ground.own_redis_url)
    try:
        ids = list(run.ids.values())
        keys = [shard_keys(task_id, SHARDS).record(task_id) for task_id in ids]
        until = [session.command("HGET", key, "lease_until") for key in keys]
    finally:
        session.close()
    return all(moment is not None and int(moment) < now_ms() for moment in until)
