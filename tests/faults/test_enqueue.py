"""What is committed in the caller's own transaction becomes a task, and nothing else (P2, P3)."""

import random
import time
from statistics import quantiles
from threading import Event, Thread

import pytest
from confluent_kafka import Consumer, TopicPartition

from taskmill.domain import topics, wire
from tests.faults.callers import (
    book,
    connect,
    open_the_shop,
    place_order,
)
from tests.faults.log import ends
from tests.waiting import eventually

PROMPT_MS = 300
TRANSACTIONS = 1_000
CALLERS = 8


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
    committed_ms = {}
    with connect(stack) as connection, Watch(stack, run.name) as watch:
        for number in range(200):
            label = place_order(connection, run, number)
            connection.commit()
            committed_ms[label] = time.time() * 1000
            time.sleep(random.uniform(0, 0.03))  # so that they fall anywhere between two looks
        eventually(
            lambda: len(watch.seen_ms) == len(committed_ms), within=60, reason="all are published"
        )
    book(run)
    run.await_ends()
    assert run.complaints() == []
    late = [watch.seen_ms[label] - at_ms for label, at_ms in committed_ms.items()]
    *_, p99 = quantiles(late, n=100)
    figures.tell(
        "enqueue",
        f"from commit to log: {quantiles(late, n=2)[0]:.0f} ms (p50), {p99:.0f} ms (p99),"
        f" {PROMPT_MS} are meant",
    )
    assert p99 < 10 * PROMPT_MS
