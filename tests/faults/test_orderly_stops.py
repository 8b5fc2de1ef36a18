"""Workers that are stopped give back what they hold: nothing is lost, and no attempt is spent."""

import random
import signal

from tests.faults.lanes import await_empty
from tests.faults.nemesis import Nemesis, kill
from tests.faults.run import a_seed
from tests.faults.scale import scaled
from tests.faults.stack import PLACES, WORKER
from tests.waiting import eventually

TASKS = scaled(1_500, 10_000)
LONGEST_SECONDS = 2.5
STOPS = scaled(10, 100)


def test_workers_that_are_stopped_under_load_lose_nothing(stack, run, figures):
    seed = a_seed()
    chance = random.Random(seed)
    requests = [
        run.request(n, sleep_seconds=chance.uniform(0, LONGEST_SECONDS)) for n in range(TASKS)
    ]
    stop = kill(stack, WORKER, number=signal.SIGTERM)
    with Nemesis([stop], seed=seed, between=(0.5, 1.5)).at_work() as nemesis:
        run.submit_many(requests)
        eventually(lambda: len(nemesis.strikes) >= STOPS, within=30 * STOPS, reason="so many stops")
    run.await_ends()
    history = run.verify(kills=len(nemesis.strikes), in_flight=PLACES)
    stopped = sum(fact.reason == "stopped" for fact in history.facts)
    figures.tell(
        "orderly stops",
        f"{len(nemesis.strikes)} stops amid {TASKS:,} tasks: {stopped} turns given back, no loss",
    )
    ends = {(row.status, row.attempt, row.losses) for row in history.rows}
    assert ends == {("succeeded", 1, 0)}
    assert stopped > 0
    await_empty(stack)
