"""Something else writes to the queue's keys in Redis: it costs those tasks a while, nobody else."""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from taskmill.stores.redis.keys import ShardKeys, shard_keys
from taskmill_local.settings import SHARDS
from tests.faults.run import a_seed
from tests.waiting import eventually

TASKS = 2_000
OVERWRITTEN = 40


def records(chance, ids):
    return [shard_keys(one, SHARDS).record(one) for one in chance.sample(ids, OVERWRITTEN)]


def a_due_set(chance, _ids):
    return [ShardKeys(chance.randrange(SHARDS), SHARDS).due]


@pytest.mark.parametrize("choose", [records, a_due_set], ids=lambda it: it.__name__)
def test_keys_that_were_overwritten_lose_no_task(stack, run, figures, choose):
    seed = a_seed()
    chance = random.Random(seed)
    requests = [run.request(n, sleep_seconds=0.02, keeps=n % 10 == 0) for n in range(TASKS)]
    with ThreadPoolExecutor(1) as others:
        load = others.submit(run.submit_many, requests, batch=50, seconds=6)
        eventually(lambda: len(run.ids) >= TASKS / 2, within=60, reason="half is taken")
        began = time.monotonic()
        stack.overwrite(choose(chance, list(run.ids.values())))
        load.result()
    run.await_ends()
    ended = time.monotonic() - began
    run.verify()
    for request in chance.sample(requests, 100):
        answer = run.insist(request)
        assert answer.body["id"] == run.ids[request["metadata"]["label"]]
    figures.tell(
        "P15",
        f"{TASKS:,} tasks, {choose.__name__.replace('_', ' ')} overwritten in Redis: all ended "
        f"after {ended:.1f} s (seed {seed})",
    )
    assert run.to_be_mended() == []
