"""Each store, and each pair, unavailable: what continues, what waits, and quick recovery.

By its name it runs before those that fill the ledger: how long a rebuild takes depends on that.
"""

import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.faults.run import Run, a_seed, now_ms, starts
from tests.waiting import eventually

SECONDS_AWAY = 10
BOUND_SECONDS = 20
LONGEST_CALL_MS = 12_000
LOAD = 200
STORES = ("Kafka", "Valkey", "PostgreSQL")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What everybody does while these stores are away."""

    away: tuple
    takes: bool = True
    is_deferred: bool = False
    runs: bool = False
    ended: object = "succeeded"
    """The result of reading an ended task: its status, or that of the response."""

    waiting: object = "retrying"
    """The result of reading a task that waits for its next attempt."""

    lists: int = 200


CELLS = [
    Cell(away=("Valkey",), is_deferred=True, waiting=503),
    Cell(away=("Kafka",)),
    Cell(away=("PostgreSQL",), runs=True, lists=503),
    Cell(away=("Valkey", "Kafka"), is_deferred=True, waiting=503),
    Cell(away=("Kafka", "PostgreSQL"), takes=False, lists=503),
    Cell(away=("Valkey", "PostgreSQL"), is_deferred=True, ended=503, waiting=503, lists=503),
]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: " and ".join(cell.away))
def test_what_is_away_stops_only_those_who_need_it(stack, run, figures, cell):
    ended, waiting = a_task_that_ended(run), a_task_that_waits(run)
    for name in cell.away:
        stack.ground.end(name, signal.SIGKILL)
    try:
        until, meanwhile, answers = time.monotonic() + SECONDS_AWAY, [], []
        while time.monotonic() < until:
            meanwhile.append(a_request(run, len(meanwhile)))
            answers.append(run.ask(meanwhile[-1]))
            time.sleep(0.2)  # a load over a span of time: nothing is waited for
        holds_at_the_door(answers, cell)
        assert (told_of(stack, ended), told_of(stack, waiting)) == (cell.ended, cell.waiting)
        assert stack.client.get("/v1/tasks").status == cell.lists
        labels = {request["idempotency_key"] for request in meanwhile}
        if cell.runs:
            eventually(lambda: len(effects(stack, labels)) == len(labels), within=20, reason="ran")
        else:
            assert starts(stack, labels) == {}
    finally:
        stack.ground.revive(*cell.away)
    back_ms = now_ms()
    seconds = seconds_until_normal(stack)
    run.change(waiting, delay_seconds=0)
    run.submit(request for request in meanwhile if request["idempotency_key"] not in run.ids)
    run.await_ends()
    stack.await_rebuild()
    bounds = {"bound_ms": BOUND_SECONDS * 1000, "longest_call_ms": LONGEST_CALL_MS}
    assert run.complaints(faults_end_ms=back_ms, **bounds) == []
    figures.tell("stores away", f"{' and '.join(cell.away)}: normal again after {seconds:.1f} s")
    assert seconds <= BOUND_SECONDS


def test_all_stores_restarted_in_any_order_come_up_without_help(stack, run, figures):
    seed = a_seed()
    chance = random.Random(seed)
    came_up = []
    with ThreadPoolExecutor(1) as others:
        for begin in (0, LOAD):
            requests = [a_request(run, number) for number in range(begin, begin + LOAD)]
            load = others.submit(run.submit_many, requests, batch=5, callers=2, seconds=5)
            eventually(lambda: len(run.ids) > begin, within=60, reason="load has begun")  # noqa: B023 - it is asked at once
            order = restart_all(stack, chance)
            came_up.append((", ".join(order), seconds_until_normal(stack)))
            load.result()
    run.await_ends()
    assert run.complaints() == []
    reply = "; ".join(f"{order}: {seconds:.1f} s" for order, seconds in came_up)
    figures.tell("stores away", f"all restarted, up in the order {reply} (seed {seed})")


def restart_all(stack, chance):
    """Stop all stores in any order and any way; return the order in which they came up again."""
    for name in chance.sample(STORES, 3):
        stack.ground.end(name, chance.choice([signal.SIGTERM, signal.SIGKILL]))
    order = chance.sample(STORES, 3)
    for name in order:
        stack.ground.revive(name)
    return order


def a_request(run, number):
    """Let every fifth task fail once: its next attempt is due at a time."""
    return run.request(number, **({"ill": "raise", "ill_runs": 1} if number % 5 == 0 else {}))


def a_task_that_ended(run):
    request = run.request("ended")
    run.submit([request])
    run.await_ends()
    return run.ids[request["idempotency_key"]]


def a_task_that_waits(run):
    """Give one that would still wait for longer than any store is away."""
    later = {"retry": {"first_seconds": 120}}
    request = run.request("waiting", fields=later, ill="raise", ill_runs=1)
    run.submit([request])
    task_id = run.ids[request["idempotency_key"]]
    eventually(
        lambda: [row.status for row in run.rows() if row.id == task_id] == ["retrying"],
        within=30,
        reason="it failed once",
    )
    return task_id


def told_of(stack, task_id):
    answer = stack.client.get(f"/v1/tasks/{task_id}")
    return answer.body["status"] if answer.status == 200 else answer.status


def holds_at_the_door(answers, cell):
    if cell.takes:
        assert {answer.status for answer in answers} == {202}
        reply = {answer.body.get("dedupe") for answer in answers}
        assert reply == {"deferred" if cell.is_deferred else None}
    else:
        assert {answer.status for answer in answers} == {503}
        assert min(int(answer.headers["retry-after"]) for answer in answers) >= 1


def effects(stack, labels):
    return {line["label"] for line in stack.left(labels) if line["kind"] == "effect"}


def seconds_until_normal(stack):
    """Wait until a keyed task is accepted, runs, and is read and listed as ended."""
    began = time.monotonic()
    later = Run(stack)
    numbers = iter(range(1_000_000))

    def is_taken():
        answer = later.ask(later.request(next(numbers)))
        return answer is not None and answer.status == 202 and "dedupe" not in answer.body

    eventually(is_taken, within=60, reason="tasks are taken as usual")
    later.await_ends(within=60)
    assert stack.client.get("/v1/tasks").status == 200
    return time.monotonic() - began
