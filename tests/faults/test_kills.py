"""A 202 survives the death of any function process (P1)."""

import random
from concurrent.futures import ThreadPoolExecutor

from tests.faults.nemesis import Nemesis, kill
from tests.faults.run import a_seed, last_end_ms
from tests.faults.stack import WORKER
from tests.waiting import eventually

TASKS = 10_000
SECONDS = 60
LEAST_STRIKES = 30
BOUND_MS = 15_000
IN_FLIGHT = 50
FUNCTIONS = ("Gateway", "Inbox", "Dispatcher", "Recorder", "Scheduler", WORKER)
THROUGH_THE_INBOX = 20
"""Each twentieth request is left there, and the others are submitted."""


def test_a_202_survives_the_death_of_any_function_process(stack, run, figures):
    seed = a_seed()
    chance = random.Random(seed)
    requests = [
        run.request(number, sleep_seconds=chance.uniform(0.005, 0.05), keeps=number % 10 == 0)
        for number in range(TASKS)
    ]
    left = requests[::THROUGH_THE_INBOX]
    del requests[::THROUGH_THE_INBOX]
    blows = [kill(stack, name) for name in FUNCTIONS]
    with Nemesis(blows, seed=seed).at_work() as nemesis, ThreadPoolExecutor(1) as others:
        producer = others.submit(run.submit_many, left, batch=5, seconds=SECONDS, door=run.entrust)
        run.submit_many(requests, seconds=SECONDS)
        producer.result()
        eventually(lambda: has_struck(nemesis), within=60, reason="so often, and each function")
    run.await_ends()
    history = run.verify(
        faults_end_ms=nemesis.last_ms,
        bound_ms=BOUND_MS,
        kills=sum(WORKER in strike for strike in nemesis.strikes),
        in_flight=IN_FLIGHT,
    )
    after = max(0, last_end_ms(history) - nemesis.last_ms) / 1000
    figures.tell(
        "P1",
        f"{TASKS:,} tasks, {len(nemesis.strikes)} kills, {history.kills} of them of workers, the "
        f"last end {after:.1f} s after the last kill, {sum(row.losses for row in history.rows)} "
        f"losses (seed {seed})",
    )
    assert after <= BOUND_MS / 1000
    assert run.to_be_mended() == []


def has_struck(nemesis):
    """Say whether there were enough strikes: a busy machine has fewer in the same time."""
    struck = {strike.split()[-1] for strike in nemesis.strikes}
    return len(nemesis.strikes) >= LEAST_STRIKES and struck == set(FUNCTIONS)
