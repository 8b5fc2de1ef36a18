"""Mixes every fault for a while, under a seed that it prints: `make soak MINUTES=30`."""

import argparse
import asyncio
import random
import signal
import sys
import time

from tests.acceptance.system import a_folder, log_tails, remove
from tests.faults.nemesis import Nemesis, cut, freeze, kill, slow, swallow
from tests.faults.run import Run, a_seed, last_end_ms
from tests.faults.stack import WORKER, Stack

FUNCTIONS = ("Gateway", "Dispatcher", "Recorder", "Scheduler", WORKER)
TASKS_A_ROUND = 1_500
SECONDS_A_ROUND = 15
PATIENCE = 180


def blows_on(stack):
    """Return what may be done to a system, the gentler things more often."""
    yield from (kill(stack, name) for name in FUNCTIONS)
    yield from (kill(stack, name, number=signal.SIGTERM) for name in (WORKER, "Gateway"))
    yield from (freeze(stack, 6, name) for name in (WORKER, "Recorder", "Dispatcher"))
    for store in stack.ground.proxies:
        yield from (cut(stack, store), slow(stack, store, 3), swallow(stack, store, 2))


def a_round(stack, chance, number):
    """Do harm while tasks come in, then let everything end; return a line about it."""
    run = Run(stack, patience=PATIENCE)
    requests = [
        run.request(
            n,
            sleep_seconds=chance.uniform(0, 0.05),
            keeps=n % 10 == 0,
            **({"ill": "raise", "ill_runs": 1} if n % 50 == 0 else {}),
        )
        for n in range(TASKS_A_ROUND)
    ]
    seed = chance.randrange(10**6)
    with Nemesis(blows_on(stack), seed=seed, between=(1, 4)).at_work() as nemesis:
        run.submit_many(requests, seconds=SECONDS_A_ROUND)
        if chance.random() < 0.3:
            restart(stack, chance)
    run.await_ends(within=PATIENCE)
    history = run.verify()
    after = max(0, last_end_ms(history) - nemesis.last_ms) / 1000
    losses = sum(row.losses for row in history.rows)
    blows = ", ".join(nemesis.strikes)
    return f"round {number}: {losses} losses, the last end {after:.1f} s after the last of: {blows}"


def restart(stack, chance):
    how = chance.choice((signal.SIGINT, signal.SIGQUIT, signal.SIGKILL))
    stack.ground.end("PostgreSQL", how)
    stack.ground.revive("PostgreSQL")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=None)
    asked = parser.parse_args()
    seed = a_seed() if asked.seed is None else asked.seed
    chance, folder = random.Random(seed), a_folder()
    until, number = time.monotonic() + asked.minutes * 60, 0
    with asyncio.Runner() as runner:
        stack = Stack(folder, runner)
        try:
            stack.start()
            while time.monotonic() < until:
                number += 1
                say(a_round(stack, chance, number))
        except AssertionError:
            say(log_tails(folder))
            say(f"broken in round {number}: --seed {seed}")
            raise
        finally:
            stack.stop()
            remove(folder)
    say(f"{number} rounds without a complaint (seed {seed})")


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
