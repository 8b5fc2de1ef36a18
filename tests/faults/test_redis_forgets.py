"""Redis loses all or its latest data: no task is lost, keys hold (P15, P16)."""

import random
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from taskmill.core import topics
from tests.faults import log
from tests.faults.replica import Replica
from tests.faults.run import a_seed
from tests.waiting import eventually

TASKS = 5_000
SAMPLE = 50
SECONDS_BEHIND = 2
TOPIC = topics.PENDING


def emptied(stack):
    stack.forget_redis()


def killed_without_persistence(stack):
    stack.ground.end("Valkey", signal.SIGKILL)
    shutil.rmtree(stack.ground.servers["Valkey"].folder)
    stack.ground.revive("Valkey")


@pytest.mark.parametrize("harm", [emptied, killed_without_persistence], ids=lambda it: it.__name__)
def test_losing_all_of_redis_loses_no_task(stack, run, figures, harm):
    seed = a_seed()
    requests = mixed(run, random.Random(seed), TASKS)
    begins = log.ends(stack, TOPIC)
    with ThreadPoolExecutor(1) as others:
        load = others.submit(run.submit_many, requests, batch=50, seconds=6)
        eventually(lambda: len(run.ids) >= TASKS / 2, within=60, reason="half is taken")
        began = time.monotonic()
        with a_ledger_that_is_behind(stack):
            harm(stack)
        stack.await_rebuild()
        opened = time.monotonic() - began
        load.result()
    run.await_ends()
    ended = time.monotonic() - began
    log.append_all(stack, [(TOPIC, value) for value in log.values_since(stack, TOPIC, begins)])
    history = run.verify()
    first = dict(run.ids)
    for request in random.Random(seed).sample(requests, SAMPLE):
        answer = run.insist(request)
        assert (answer.status, answer.body["id"]) == (200, first[request["idempotency_key"]])
        other = request | {"payload": request["payload"] | {"sleep_seconds": 0.5}}
        assert run.insist(other).status == 422
    again = begun_after_success(stack, run, history)
    figures.tell(
        "P15",
        f"{TASKS:,} mixed tasks, all told twice, Redis {harm.__name__.replace('_', ' ')}: shards "
        f"open after {opened:.1f} s, all ended after {ended:.1f} s, "
        f"{again} ran again (seed {seed})",
    )
    assert again == 0, f"seed {seed}"
    assert run.to_be_mended() == []


@contextmanager
def a_ledger_that_is_behind(stack):
    """Pause the recorder for a while: successes are then only in the log."""
    stack.signal(signal.SIGSTOP, "Recorder")
    try:
        yield
        time.sleep(SECONDS_BEHIND)  # the very fault
    finally:
        stack.signal(signal.SIGCONT, "Recorder")


def mixed(run, chance, count):
    """Short and longer ones, some with effects that we own, some that fail at first."""
    ills = [{"ill": "raise", "ill_runs": 1} if chance.random() < 0.05 else {} for _ in range(count)]
    return [
        run.request(n, sleep_seconds=chance.uniform(0.001, 0.02), keeps=n % 10 == 0, **ill)
        for n, ill in enumerate(ills)
    ]


def begun_after_success(stack, run, history):
    """Count starts of what had succeeded before."""
    succeeded = {fact.id: fact.at_ms for fact in history.facts if fact.kind == "TaskSucceeded"}
    by_label = {label: succeeded.get(task_id) for label, task_id in run.ids.items()}
    return sum(
        line["at_ms"] > (by_label[line["label"]] or line["at_ms"])
        for line in stack.left(set(run.ids))
        if line["kind"] == "start"
    )


def test_a_failover_that_forgets_the_last_second_is_repaired(stack, run, figures, replica):
    seed = a_seed()
    requests = mixed(run, random.Random(seed), TASKS // 2)
    with ThreadPoolExecutor(1) as others:
        load = others.submit(run.submit_many, requests, batch=25, seconds=5)
        eventually(lambda: len(run.ids) >= len(requests) / 3, within=60, reason="a third is taken")
        lacked = replica.cut_off(seconds=1)
        stack.ground.end("Valkey", signal.SIGKILL)
        replica.take_over()
        stack.ground.proxies["Valkey"].upstream = replica.port
        began = time.monotonic()
        stack.await_rebuild()
        opened = time.monotonic() - began
        load.result()
    run.await_ends()
    assert run.complaints() == []
    figures.tell(
        "P16",
        f"{len(requests):,} tasks, a replica that lacked the last {lacked:,} bytes was promoted: "
        f"shards open after {opened:.1f} s (seed {seed})",
    )
    assert lacked > 0, f"the replica had everything (seed {seed})"
    assert run.to_be_mended() == []


@pytest.fixture
def replica(stack):
    """Give a replica of the stack's Redis; afterwards the first one is back as it was."""
    replica = Replica(stack.folder / "replica", stack.ground.own_redis_url)
    try:
        yield replica.start()
    finally:
        replica.stop()
        stack.ground.end("Valkey", signal.SIGKILL)
        stack.ground.revive("Valkey")
        stack.await_rebuild()
