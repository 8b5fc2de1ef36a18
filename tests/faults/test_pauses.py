"""A paused worker cannot overwrite its successor (P10)."""

import os
import signal
import time
from contextlib import suppress

import pytest

from taskmill.stores.redis.keys import shard_keys
from taskmill.stores.redis.session import Session
from taskmill_local.settings import SHARDS
from tests.faults.invariants import SETTLES
from tests.faults.run import starts
from tests.faults.stack import LEASE_SECONDS, WORKER
from tests.waiting import eventually

IN_FLIGHT = 50
LEASES = 3


def alone(_stack):
    """Nothing else."""


def emptied(stack):
    """Redis emptied and rebuilt meanwhile."""
    stack.forget_redis()
    stack.await_rebuild()


@pytest.mark.parametrize("harm", [alone, emptied], ids=lambda it: it.__name__)
def test_a_paused_worker_cannot_overwrite_its_successor(stack, run, figures, harm):
    run.submit([run.request(n, ill="linger", ill_runs=1, keeps=True) for n in range(IN_FLIGHT)])
    eventually(lambda: len(begun(stack, run)) == IN_FLIGHT, within=30, reason="all are in flight")
    paused = {line["pid"] for line in stack.left(set(run.ids))}
    assert len(paused) == 1, "one process takes them all"
    tokens = held(stack, run, "token")
    with stopped(paused):
        until = time.monotonic() + LEASES * LEASE_SECONDS
        harm(stack)
        run.await_ends()  # the tick finds the lapsed leases, and wakes another process
        time.sleep(max(0.0, until - time.monotonic()))  # the very fault
    eventually(
        lambda: stales(stack, run) >= IN_FLIGHT, within=60, reason="each stale end is logged"
    )
    history = run.verify(kills=1, in_flight=IN_FLIGHT)
    accepted = [
        fact for fact in history.facts if fact.kind in SETTLES and fact.token == tokens[fact.id]
    ]
    overtaken = {
        line["label"]
        for line in stack.left(set(run.ids))
        if line["kind"] == "start" and line["pid"] not in paused
    }
    figures.tell(
        "P10",
        f"{harm.__doc__} {IN_FLIGHT} paused for {LEASES} leases: {len(overtaken)} "
        f"taken over, {stales(stack, run)} stale ends, {len(accepted)} accepted",
    )
    assert overtaken == set(run.ids)
    assert accepted == []


def begun(stack, run):
    return starts(stack, set(run.ids))


def stales(stack, run):
    """Return how many of the run's attempts learned, and logged, that they lost their lease."""
    said = [line for line in stack.log(WORKER).splitlines() if "stale settle" in line]
    return sum(any(task_id in line for task_id in run.ids.values()) for line in said)


class stopped:  # noqa: N801 - it reads as one
    """Pause processes for a while."""

    def __init__(self, pids):
        self._pids = pids

    def __enter__(self):
        for pid in self._pids:
            os.kill(pid, signal.SIGSTOP)

    def __exit__(self, *_):
        for pid in self._pids:
            with suppress(ProcessLookupError):  # it was killed for its time
                os.kill(pid, signal.SIGCONT)


def held(stack, run, name):
    """Return a number of each task's record, by the task's id."""
    session = Session(stack.ground.own_redis_url)
    try:
        ids = list(run.ids.values())
        keys = [shard_keys(task_id, SHARDS).record(task_id) for task_id in ids]
        answer = [session.command("HGET", key, name) for key in keys]
    finally:
        session.close()
    return {task_id: one and int(one) for task_id, one in zip(ids, answer, strict=True)}
