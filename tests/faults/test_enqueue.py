"""What is committed in the caller's own transaction becomes a task, and nothing else (P2, P3)."""

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import quantiles
from threading import Event, Thread

import pytest
from confluent_kafka import Consumer, TopicPartition

from taskmill.adapters.crash import EXIT_CODE
from taskmill.domain import topics, wire
from taskmill.usecases.take_requests import ROWS_AT_A_TIME
from tests.faults.callers import (
    an_open_transaction,
    book,
    connect,
    open_the_shop,
    place_order,
    seeded,
    trade,
)
from tests.faults.log import ends, values_since
from tests.faults.nemesis import Nemesis
from tests.waiting import eventually

PROMPT_MS = 300
TRANSACTIONS = 1_000
CALLERS = 8
DEATHS = 20
ORDERS = ("enqueued after take before mark:1", "", "enqueued after admit:2", "")


@pytest.fixture(scope="module", autouse=True)
def shop(stack):
    open_the_shop(stack)


class Watch:
    """Notes when each task of a run comes into the log."""

    def __init__(self, stack, run_name):
        self.seen_ms = {}
        self._run_name = run_name
        self._is_over = Event()
        begins = ends(stack, topics.PENDING)
        self._consumer = Consumer(
            {
                "bootstrap.servers": stack.ground.settings["TASKMILL_KAFKA_BROKERS"],
                "group.id": "nobody",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 5,
            }
        )
        places = [TopicPartition(topics.PENDING, *place) for place in begins.items()]
        self._consumer.assign(places)
        self._thread = Thread(target=self._look)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()
        self._consumer.close()

    def _look(self):
        while not self._is_over.is_set():
            message = self._consumer.poll(0.1)
            if message is None or message.error():
                continue
            now_ms = time.time() * 1000
            for task in wire.open_tasks(message.value()):
                if task.metadata.get("run") == self._run_name:
                    self.seen_ms.setdefault(task.metadata["label"], now_ms)


def test_a_commit_is_in_the_log_soon_after(stack, run, figures):
    """Another transaction is open meanwhile, and was the first to write."""
    chance, committed_ms = seeded(run, 0), {}
    with (
        Watch(stack, run.name) as watch,
        an_open_transaction(stack, run, "open"),
        connect(stack) as connection,
    ):
        for number in range(200):
            label = place_order(connection, run, number)
            connection.commit()
            committed_ms[label] = time.time() * 1000
            time.sleep(chance.uniform(0, 0.03))  # so that they fall anywhere between two looks
        eventually(
            lambda: set(committed_ms) <= set(watch.seen_ms), within=60, reason="all are published"
        )
    assert len(book(run)) == len(committed_ms) + 1
    run.await_ends()
    assert run.complaints() == []
    late = [watch.seen_ms[label] - at_ms for label, at_ms in committed_ms.items()]
    *_, p99 = quantiles(late, n=100)
    figures.tell(
        "enqueue",
        f"from commit to log: {quantiles(late, n=2)[0]:.0f} ms (p50), {p99:.0f} ms (p99),"
        f" {PROMPT_MS} are meant",
    )
    assert p99 < 100 * PROMPT_MS


def test_what_is_committed_becomes_a_task_and_what_is_not_does_not(stack, run, figures):
    """Some callers roll back, some die in the middle, some never hear that they committed."""
    each = TRANSACTIONS // CALLERS
    with ThreadPoolExecutor(CALLERS) as pool:
        for one in [
            pool.submit(
                trade, stack, run, range(number * each, (number + 1) * each), seeded(run, number)
            )
            for number in range(CALLERS)
        ]:
            one.result()
    committed = book(run)
    run.await_ends()
    assert run.complaints() == []
    assert {row.label: row.id for row in run.rows()} == committed
    figures.tell("P2", f"{TRANSACTIONS:,} transactions, {len(committed)} committed: as many tasks")


def test_no_commit_is_passed_over_whoever_dies_while_taking_them(stack, run, scheduler, figures):
    """The system's own schedulers stand still meanwhile, perhaps while they hold rows."""
    before = ends(stack, topics.PENDING)
    order = iter(range(1_000))
    living, dead = [scheduler(), scheduler()], []

    def strike(chance):
        """Kill one, unless it died by its order; another one takes its place."""
        at = chance.randrange(len(living))
        living[at].kill()
        dead.append(living[at].wait())
        living[at] = scheduler(ORDERS[next(order) % len(ORDERS)])
        return "a scheduler killed"

    is_over = Event()
    with (
        an_open_transaction(stack, run, "open"),
        stack.standing_still("Scheduler"),
        ThreadPoolExecutor(CALLERS) as pool,
    ):
        writers = [pool.submit(write, stack, run, number, is_over) for number in range(CALLERS)]
        try:
            with Nemesis([strike], seed=run.name, between=(0.7, 1.1)).at_work():
                eventually(lambda: len(dead) >= DEATHS, within=180, reason="so many died")
        finally:
            is_over.set()
        for one in writers:
            one.result()
    committed = book(run)
    run.await_ends()
    assert run.complaints() == []
    assert {row.label: row.id for row in run.rows()} == committed
    told = published(stack, before, run.name)
    twice, by_order = len(told) - len(set(told)), dead.count(EXIT_CODE)
    figures.tell(
        "P3",
        f"{len(committed):,} commits of {CALLERS} callers, {len(dead)} schedulers killed,"
        f" {by_order} of them behind the take: 0 skipped, {twice} published twice",
    )
    assert twice <= (len(dead) + 2) * ROWS_AT_A_TIME


def write(stack, run, caller, is_over):
    """Order until it is over; what is written first is often committed last."""
    chance, number = seeded(run, caller), 0
    with connect(stack) as connection:
        while not is_over.is_set():
            for _ in range(chance.randint(1, 3)):
                place_order(connection, run, f"{caller}-{number}")
                number += 1
            is_over.wait(chance.uniform(0, 0.3))
            connection.commit()


def published(stack, begins, run_name):
    """Return the label of each of the run's envelopes that stand behind these places."""
    return [
        task.metadata["label"]
        for value in values_since(stack, topics.PENDING, begins)
        for task in wire.open_tasks(value)
        if task.metadata.get("run") == run_name
    ]
