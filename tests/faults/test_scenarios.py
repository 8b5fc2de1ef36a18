"""Known failures of other queues, each as a statement that holds here."""

import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from uuid import uuid4

import pytest
from msgspec import Raw

from taskmill.core import topics
from taskmill.core.lifetimes import HOLD
from taskmill.core.task import Millis, TaskType
from taskmill.core.time import in_ms
from tests.faults.history import Read
from tests.faults.log import append_everywhere
from tests.faults.nemesis import Nemesis, kill
from tests.faults.run import a_seed, now_ms, starts
from tests.faults.stack import WORKER
from tests.waiting import eventually

QUICK = {"first_seconds": 0.2, "factor": 1, "cap_seconds": 0.2}
LONGER_THAN_A_LEASE = 9.0
MOST_LOSSES = 2


def runs(stack, run):
    return starts(stack, set(run.ids))


def ended(run):
    """Return the state of each task, by its label."""
    run.await_ends()
    return {row.label: row for row in run.rows()}


def statuses(run):
    return {row.status for row in run.rows()}


def test_a_stop_signal_gives_back_what_cannot_end_in_time(stack, run):
    """It runs again at once, as the same attempt, and nobody counts a loss."""
    run.submit([run.request(n, sleep_seconds=5) for n in range(20)])
    eventually(lambda: len(runs(stack, run)) == 20, within=30, reason="all of them run")
    assert stack.signal(signal.SIGTERM, WORKER) > 0
    ends = ended(run).values()
    assert run.complaints() == []
    assert {(row.status, row.attempt, row.losses) for row in ends} == {("succeeded", 1, 0)}
    assert set(runs(stack, run).values()) == {2}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_waits_for_its_next_attempt_runs_though_everything_is_stopped(stack, run, number):
    """Of the two schedulers that run at a time one stays: the next would come within a minute."""
    waits = {"retry": {"first_seconds": 12}}
    run.submit([run.request(n, fields=waits, ill="raise", ill_runs=1) for n in range(20)])
    eventually(
        lambda: sum(fact[1] == "TaskDeferred" for fact in run.facts()) == 20,
        within=30,
        reason="all of them have failed, and wait",
    )
    functions = stack.functions()
    stopped = [pid for name in functions for pid in functions[name]["pids"]]
    for pid in set(stopped) - set(functions["Scheduler"]["pids"][-1:]):
        os.kill(pid, number)
    ends = ended(run).values()
    assert run.complaints() == []
    assert {(row.status, row.attempt) for row in ends} == {("succeeded", 2)}
    assert set(runs(stack, run).values()) == {2}


def test_a_request_that_was_stored_and_not_published_runs_once_when_it_is_repeated(stack, run):
    order = stack.arm("Gateway", "gateway after admit", 1)
    request = run.request(1)
    run.submit([request])  # its first answer is the death of the gateway
    assert not order.exists()
    again = stack.client.post("/v1/tasks", request)
    assert (again.status, again.body["id"]) == (200, run.ids[run.label(1)])
    run.await_ends()
    assert run.complaints() == []
    assert runs(stack, run) == {run.label(1): 1}


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("unknown_type", {"type": TaskType("nobodys"), "parked_until_ms": Millis(1)}),
        ("invalid_payload", {"payload": Raw(b'{"nobody":"asked"}')}),
    ],
)
def test_what_is_rejected_after_its_acceptance_is_over(stack, run, reason, changes):
    run.owe([1], each=1, **changes)
    run.expected_dead.add(run.label(1))
    ends = ended(run)
    assert run.complaints() == []
    assert [(row.status, row.reason) for row in ends.values()] == [("dead", reason)]
    assert stack.client.task(run.ids[run.label(1)])["status"] == "dead"


def test_a_task_longer_than_a_lease_on_a_healthy_worker_runs_once(stack, run):
    run.submit([run.request(n, sleep_seconds=LONGER_THAN_A_LEASE) for n in range(10)])
    ends = ended(run).values()
    assert run.complaints() == []
    assert {(row.status, row.losses) for row in ends} == {("succeeded", 0)}
    assert set(runs(stack, run).values()) == {1}


def test_a_task_that_kills_its_worker_every_time_is_dead_lettered(stack, run):
    run.submit([run.request(0, ill="kill")])
    run.expected_dead.add(run.label(0))
    (end,) = ended(run).values()
    assert run.complaints() == []
    assert (end.status, end.reason, end.losses) == ("dead", "poison", 3)
    assert runs(stack, run) == {run.label(0): 3}
    page = stack.client.get(f"/v1/tasks?status=dead&metadata.run={run.name}").body
    (letter,) = page["tasks"]
    assert (letter["id"], letter["reason"]) == (run.ids[run.label(0)], "poison")


def test_a_task_cancelled_before_its_start_stays_cancelled_past_the_recovery_time(stack, run):
    run.submit([run.request(8)])
    run.await_ends()  # so that a dispatcher exists and is paused before the next batch
    with stack.standing_still("Dispatcher"):
        run.submit([run.request(n) for n in range(5)])
        cancelled = {run.label(n): run.ids[run.label(n)] for n in range(5)}
        for task in cancelled.values():
            assert stack.client.post(f"/v1/tasks/{task}/cancel", {}).body["status"] == "cancelled"
    run.submit([run.request(9, sleep_seconds=LONGER_THAN_A_LEASE)])
    ends = ended(run)
    assert run.complaints() == []
    assert {ends[label].status for label in cancelled} == {"cancelled"}
    assert runs(stack, run) == {run.label(8): 1, run.label(9): 1}
    seen = {stack.client.task(task)["status"] for task in cancelled.values()}
    assert seen == {"cancelled"}


def test_of_two_schedulers_at_once_one_dies_and_nothing_is_twice_or_late(
    stack, run, scheduler, figures
):
    stack.signal(signal.SIGSTOP, "Scheduler")
    try:
        dying, _living = scheduler(), scheduler()
        due = run.owe(
            range(400), each=10, apart=timedelta(milliseconds=150), first=timedelta(seconds=5)
        )
        half = sorted(due.values())[200]
        eventually(lambda: now_ms() >= half, within=60, reason="half of them are due")
        dying.kill()
        run.await_ends()
    finally:
        stack.signal(signal.SIGCONT, "Scheduler")
    assert run.complaints() == []
    begun = {
        line["label"]: line["at_ms"] for line in stack.left(set(run.ids)) if line["kind"] == "start"
    }
    late = sorted(begun[label] - moment for label, moment in due.items())
    figures.tell(
        "scenario 8",
        f"400 due, one of two schedulers killed: 0 ran twice, late by {late[200] / 1000:.2f} s "
        f"in the middle and {late[-1] / 1000:.2f} s at most",
    )
    assert set(runs(stack, run).values()) == {1}
    assert late[-1] <= in_ms(HOLD) + 5_000, "what the dead one held is taken when its hold ends"


def test_corrupt_records_at_the_head_of_every_line_keep_nobody_from_running(stack, run):
    corrupt = b'{"v":1,"tasks":[{' + uuid4().hex.encode()
    lines = (topics.PENDING, topics.worker(TaskType("probe")), topics.EVENTS)
    written = sum(append_everywhere(stack, line, corrupt) for line in lines)
    run.submit([run.request(n) for n in range(50)])
    ends = ended(run).values()
    assert run.complaints() == []
    assert {row.status for row in ends} == {"succeeded"}
    eventually(
        lambda: (
            stack.ask("SELECT count(*) FROM quarantine WHERE value = %s", corrupt) == [(written,)]
        ),
        within=60,
        reason="each is kept as it was",
    )


def test_a_retry_limit_of_a_tasks_own_is_honoured(stack, run):
    limits = {1: 1, 2: 2, 3: 7}
    run.submit(
        run.request(n, fields={"max_attempts": most, "retry": QUICK}, ill="raise")
        for n, most in limits.items()
    )
    run.expected_dead.update(run.ids)
    ends = ended(run)
    assert run.complaints() == []
    assert runs(stack, run) == {run.label(n): most for n, most in limits.items()}
    assert {(row.status, row.reason) for row in ends.values()} == {("dead", "failed")}


class Sampler:
    """Submits the same tasks over HTTP repeatedly, like several clients."""

    def __init__(self, stack, ids, readers):
        self._stack = stack
        self._ids = ids
        self._readers = readers
        self._is_over = Event()
        self._pool = ThreadPoolExecutor(readers)
        self._at_work = []
        self.reads = []

    def __enter__(self):
        self._at_work = [self._pool.submit(self._look, number) for number in range(self._readers)]
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._pool.shutdown()
        for one in self._at_work:
            self.reads += one.result()

    def _look(self, number):
        reads, at = [], number
        while not self._is_over.is_set():
            task = self._ids[at % len(self._ids)]
            answer = self._stack.client.get(f"/v1/tasks/{task}")
            if answer.status == 200:
                reply = {key: answer.body[key] for key in ("status", "generation", "attempt")}
                reads.append(Read(reader=f"client {number}", id=task, **reply))
            at += 1
        return reads


def test_a_status_that_is_sampled_all_the_time_never_goes_backwards(stack, run, figures):
    seed = a_seed()
    chance = random.Random(seed)
    run.submit(
        run.request(
            n,
            fields={"retry": {"first_seconds": 2}},
            sleep_seconds=chance.uniform(0, 3),
            ill="raise",
            ill_runs=n % 3,
        )
        for n in range(30)
    )
    with Sampler(stack, list(run.ids.values()), readers=3) as sampler:
        with Nemesis([kill(stack, WORKER)], seed=seed, between=(1, 2)).at_work() as nemesis:
            eventually(
                lambda: "succeeded" in statuses(run) or len(nemesis.strikes) >= MOST_LOSSES,
                within=60,
                reason="some have ended, or one more death would be a poison's",
            )
        run.await_ends()
    history = run.verify(reads=sampler.reads)
    figures.tell("scenario 14", f"{len(history.reads):,} samples over HTTP: none went back")
    assert {read.status for read in history.reads} >= {"running", "retrying", "succeeded"}
