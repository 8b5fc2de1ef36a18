"""A 202 survives the death of any function process (P1)."""

import random

from tests.faults.nemesis import Nemesis, kill
from tests.faults.run import a_seed, last_end_ms

TASKS = 10_000
SECONDS = 25
BOUND_MS = 15_000
IN_FLIGHT = 50


def test_a_202_survives_the_death_of_any_function_process(stack, run, figures):
    seed = a_seed()
    chance = random.Random(seed)
    requests = [
        run.request(number, sleep_seconds=chance.uniform(0.005, 0.05), keeps=number % 10 == 0)
        for number in range(TASKS)
    ]
    names = ["Gateway", "Dispatcher", "Recorder", "Scheduler", "ProbeWorker"]
    blows = [kill(stack, name) for name in names]
    with Nemesis(blows, seed=seed).at_work() as nemesis:
        run.submit_many(requests, seconds=SECONDS)
    run.await_ends()
    history = run.verify(
        faults_end_ms=nemesis.last_ms,
        bound_ms=BOUND_MS,
        kills=len(nemesis.strikes),
        in_flight=IN_FLIGHT,
    )
    after = max(0, last_end_ms(history) - nemesis.last_ms) / 1000
    assert after <= BOUND_MS / 1000
    figures.tell(
        "P1",
        f"{TASKS:,} tasks, {len(nemesis.strikes)} kills, the last end {after:.1f} s after the last "
        f"kill, {sum(row.losses for row in history.rows)} losses (seed {seed})",
    )
