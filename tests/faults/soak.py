"""Mixes every fault for a while, with a seed that it prints: `make soak MINUTES=30`."""

import argparse
import asyncio
import random
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.acceptance.system import a_folder, log_tails, remove
from tests.faults.nemesis import Nemesis, cut, freeze, kill, slow, swallow
from tests.faults.run import Run, a_seed, last_end_ms, now_ms
from tests.faults.stack import WORKER, Stack

FUNCTIONS = ("Gateway", "Inbox", "Dispatcher", "Recorder", "Scheduler", WORKER)
TASKS_A_ROUND = 1_500
SECONDS_A_ROUND = 15
PATIENCE = 180
BOUND_MS = 90_000
"""When both schedulers died, the next minute's rule starts one."""

LONG_SECONDS = 300
"""So long waits what is cancelled meanwhile."""


def blows_on(stack, *, spares_workers):
    """Return the possible faults of a system, the milder ones more often."""
    doomed = [name for name in FUNCTIONS if not (spares_workers and name == WORKER)]
    yield from (kill(stack, name) for name in doomed)
    yield from (kill(stack, name, number=signal.SIGTERM) for name in (WORKER, "Gateway"))
    frozen = ("Recorder", "Dispatcher", "Scheduler", "Gateway")
    yield from (freeze(stack, 6, name) for name in frozen)
    if not spares_workers:
        yield freeze(stack, 6, WORKER)
    for store in stack.ground.proxies:
        yield from (cut(stack, store), slow(stack, store, 3), swallow(stack, store, 2))


# What happens to a store, once a round


def nothing(_stack, _chance):
    return "no store"


def redis_emptied(stack, _chance):
    stack.forget_redis()
    return "Redis emptied"


def redis_killed(stack, chance):
    stack.ground.end("Valkey", signal.SIGKILL)
    is_lost = chance.random() < 0.5
    if is_lost:
        shutil.rmtree(stack.ground.servers["Valkey"].folder)
    stack.ground.revive("Valkey")
    return f"Redis killed{' and its file lost' if is_lost else ''}"


def kafka_away(stack, chance):
    stack.ground.end("Kafka", signal.SIGKILL)
    time.sleep(chance.uniform(1, 8))
    stack.ground.revive("Kafka")
    return "Kafka away"


def postgresql_restarted(stack, chance):
    how = chance.choice((signal.SIGINT, signal.SIGQUIT, signal.SIGKILL))
    stack.ground.end("PostgreSQL", how)
    stack.ground.revive("PostgreSQL")
    return f"PostgreSQL stopped by {how.name}"


HARMS = (nothing, redis_emptied, redis_killed, kafka_away, postgresql_restarted)


@dataclass
class Load:
    """Tasks of all kinds, by what is done with them."""

    submitted: list = field(default_factory=list)
    left: list = field(default_factory=list)
    cancelled: list = field(default_factory=list)
    redriven: list = field(default_factory=list)


def a_load(run, chance, *, is_poisoned):
    load = Load()
    for n in range(TASKS_A_ROUND):
        usual = {"sleep_seconds": chance.uniform(0, 0.05), "keeps": n % 10 == 0}
        match n % 50:
            case 0:
                load.submitted.append(run.request(n, ill="raise", ill_runs=1, **usual))
            case 1:
                delay = {"delay_seconds": chance.randint(1, 8)}
                load.submitted.append(run.request(n, fields=delay, **usual))
            case 2:
                load.cancelled.append(run.request(n, fields={"delay_seconds": LONG_SECONDS}))
            case 3:
                once = {"max_attempts": 1}
                load.redriven.append(run.request(n, fields=once, ill="raise", ill_runs=1))
            case 4 | 5:
                load.left.append(run.request(n, **usual))
            case _:
                load.submitted.append(run.request(n, **usual))
    run.expected_dead |= {one["idempotency_key"] for one in load.redriven}
    if is_poisoned:
        load.submitted.append(run.request("poison", ill="kill"))
        run.expected_dead.add(run.label("poison"))
    return load


def order(run, verb, requests):
    """Submit these, then cancel or redrive each, which waits until it is dead."""
    run.submit(requests)
    for one in requests:
        run.order(verb, run.ids[one["idempotency_key"]])


def a_round(stack, chance, number):
    """Inject faults while tasks arrive, then let everything end; return a line about it.

    With a poison task nobody else kills workers: with both, a healthy task may lose three attempts,
    which is a known limit.
    """
    run, is_poisoned = Run(stack, patience=PATIENCE), chance.random() < 0.3
    load, harm = a_load(run, chance, is_poisoned=is_poisoned), chance.choice(HARMS)
    seed = chance.randrange(10**6)
    blows = blows_on(stack, spares_workers=is_poisoned)
    with (
        ThreadPoolExecutor(4) as others,
        Nemesis(blows, seed=seed, between=(1, 4)).at_work() as nemesis,
    ):
        doors = {"submitted": None, "left": run.entrust}
        work = [
            others.submit(run.submit_many, getattr(load, kind), seconds=SECONDS_A_ROUND, door=door)
            for kind, door in doors.items()
        ]
        work += [
            others.submit(order, run, "cancel", load.cancelled),
            others.submit(order, run, "redrive", load.redriven),
        ]
        time.sleep(chance.uniform(0, SECONDS_A_ROUND / 2))
        done = harm(stack, chance)
        for one in work:
            one.result()
    quiet_ms = now_ms()
    run.await_ends(within=PATIENCE)
    history = run.verify(faults_end_ms=quiet_ms, bound_ms=BOUND_MS)
    after = max(0, last_end_ms(history) - quiet_ms) / 1000
    losses = sum(row.losses for row in history.rows)
    answer = ", ".join([done, *(["a poison"] if is_poisoned else []), *nemesis.strikes])
    return (
        f"round {number}: {losses} losses, the last end {after:.1f} s after the last of: {answer}"
    )


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
