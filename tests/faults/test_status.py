"""A status never goes back: for a constant reader, and in a ledger with repeated facts (P9)."""

import math
import random
import time
from threading import Event, Thread

from taskmill.core import codec, topics
from taskmill.core.view import TaskView
from taskmill.stores.redis.records import RedisRecords
from taskmill.stores.redis.session import Session
from taskmill_local.settings import SHARDS
from tests.faults.history import Read
from tests.faults.log import append_all, ends, values_since
from tests.faults.nemesis import Nemesis, kill
from tests.faults.run import a_seed
from tests.faults.stack import WORKER

TASKS = 2_000
WATCHED = 100
LEAST_TOLD_AGAIN = 20_000

_OPEN = {topics.PENDING: codec.open_tasks, topics.EVENTS: codec.open_facts}
"""A submission is a fact as well, in its envelope."""


class Watcher:
    """Reads the same tasks over and over, each as often as it can."""

    def __init__(self, stack, ids):
        self._session = Session(stack.ground.own_redis_url)
        self._records = RedisRecords(self._session, shards=SHARDS)
        self._ids = ids
        self._is_over = Event()
        self._thread = Thread(target=self._work)
        self.reads = []
        self.looks = 0
        self.seconds = 0.0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()
        self._session.close()

    def _work(self):
        began, last = time.monotonic(), {}
        while not self._is_over.wait(0.01):
            for view in self._records.read(self._ids):
                if isinstance(view, TaskView):
                    self.looks += 1
                    read = Read(
                        reader="watcher",
                        id=view.id,
                        status=str(view.status),
                        generation=view.generation,
                        attempt=view.attempt,
                        losses=view.losses,
                    )
                    if last.get(view.id) != read:
                        last[view.id] = read
                        self.reads.append(read)
        self.seconds = time.monotonic() - began


def test_a_status_never_goes_back(stack, run, figures):
    seed = a_seed()
    logs = {name: ends(stack, name) for name in (topics.PENDING, topics.EVENTS)}
    requests = [run.request(n, sleep_seconds=0.02) for n in range(TASKS)]
    run.submit(requests[:WATCHED])
    watched = list(run.ids.values())
    with Watcher(stack, watched) as watcher:
        with Nemesis([kill(stack, WORKER)], seed=seed, between=(1, 3)).at_work():
            run.submit_many(requests[WATCHED:], seconds=6)
        run.await_ends()
    stack.come_to_rest()
    rows, facts = sorted(run.rows(), key=str), run.facts()
    told_again = tell_again(stack, logs, random.Random(seed))
    stack.come_to_rest()
    history = run.verify(reads=watcher.reads)
    rate = watcher.looks / watcher.seconds
    figures.tell(
        "P9",
        f"{watcher.looks:,} looks at {rate:,.0f} a second, {told_again:,} facts told again in "
        f"another order: nothing went back (seed {seed})",
    )
    assert sorted(history.rows, key=str) == rows
    assert run.facts() == facts
    assert rate >= 1_000
    assert told_again >= LEAST_TOLD_AGAIN


def tell_again(stack, logs, chance):
    """Append all facts since then several times in another order; return their number."""
    answer = [(name, value) for name, at in logs.items() for value in values_since(stack, name, at)]
    facts = sum(len(_OPEN[name](value)) for name, value in answer)
    times = math.ceil(LEAST_TOLD_AGAIN / facts)
    answer *= times
    chance.shuffle(answer)
    append_all(stack, answer)
    return facts * times
