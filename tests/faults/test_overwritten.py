"""Another client overwrites keys of the queue in Redis: only their tasks are delayed."""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from taskmill.core.owed import Cold
from taskmill.stores.redis.keys import shard_keys
from taskmill_local.settings import SHARDS
from tests.faults.run import a_seed
from tests.waiting import eventually

TASKS = 2_000
OVERWRITTEN = 40


def records(ids):
    return [shard_keys(one, SHARDS).record(one) for one in ids]


def due_sets(ids):
    return [shard_keys(one, SHARDS).due for one in ids[:1]]


@pytest.mark.parametrize("choose", [records, due_sets], ids=lambda it: it.__name__)
def test_keys_that_were_overwritten_lose_no_task(stack, run, figures, choose):
    """Some of the tasks have ended by then: their keys are used again all the same."""
    seed = a_seed()
    chance = random.Random(seed)
    requests = [run.request(n, sleep_seconds=0.02, keeps=n % 10 == 0) for n in range(TASKS)]
    with ThreadPoolExecutor(1) as others:
        load = others.submit(run.submit_many, requests, batch=50, seconds=6)
        eventually(lambda: len(run.ids) >= TASKS / 2, within=60, reason="half is taken")
        began = time.monotonic()
        ids = chance.sample(list(run.ids.values()), OVERWRITTEN)
        stack.overwrite(choose(ids))
        load.result()
    first = dict(run.ids)
    again = [one for one in requests if first[one["idempotency_key"]] in ids]
    answers = [run.insist(request) for request in again]
    assert {answer.body["id"] for answer in answers} == set(ids)
    run.await_ends()
    eventually(lambda: Cold() not in stack.records(ids), within=60, reason="they are mended")
    mended = time.monotonic() - began
    run.verify()
    figures.tell(
        "P15",
        f"{TASKS:,} tasks, {len(choose(ids))} {choose.__name__.replace('_', ' ')} overwritten in "
        f"Redis: all ended and mended after {mended:.1f} s (seed {seed})",
    )
    assert run.to_be_mended() == []
