"""Records that come twice, replies that never come: one run each (P4, P5)."""

import random
import time
from threading import Event, Thread

from confluent_kafka import Consumer

from tests.faults.proxy import ProduceReplies
from tests.faults.run import a_seed, starts

SHARE = 0.05
LONGEST_VISIT_SECONDS = 8
GROUP = "taskmill-worker-probe"
MOST_TASKS = 15_000
"""So many when nothing came again under fewer."""

AT_A_TIME = 1_000
TASKS = 5_000
TOPIC = "tasks.worker.probe"


def test_a_lost_produce_reply_makes_no_second_task(stack, run, figures):
    seed = a_seed()
    chance = random.Random(seed)
    proxy = stack.ground.proxies["Kafka"]
    cuts_before = proxy.cuts
    proxy.weather.cuts = ProduceReplies(lambda: chance.random() < SHARE)
    proxy.reset()
    try:
        requests = [run.request(number) for number in range(1_000)]
        run.submit_many(requests, batch=5, callers=4)
        run.await_ends()
    finally:
        proxy.weather.cuts = None
        proxy.reset()
    cuts = proxy.cuts - cuts_before
    assert run.complaints() == []
    begun = starts(stack, set(run.ids))
    again = sum(times - 1 for times in begun.values())
    figures.tell("P4", f"1,000 tasks, {cuts} produce replies lost: {again} second runs")
    assert cuts > 0, f"seed {seed}"
    assert set(begun) == set(run.ids)
    assert again == 0, f"seed {seed}"


class Intruder:
    """Joins the workers' group and leaves it, over and over: each time partitions move."""

    def __init__(self, brokers):
        self._settings = {
            "bootstrap.servers": brokers,
            "group.id": GROUP,
            "enable.auto.commit": False,
            "session.timeout.ms": 6_000,
            "partition.assignment.strategy": "cooperative-sticky",  # as the mappings do
        }
        self._is_over = Event()
        self._thread = Thread(target=self._work)
        self.visits = 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _work(self):
        while not self._is_over.is_set():
            consumer = Consumer(self._settings)
            given = []
            consumer.subscribe([TOPIC], on_assign=lambda _, places, to=given: to.extend(places))
            until = time.monotonic() + LONGEST_VISIT_SECONDS
            while not given and time.monotonic() < until:
                consumer.poll(0.1)  # what it reads it never commits
            consumer.poll(0.5)
            consumer.close()
            self.visits += bool(given)
            self._is_over.wait(2)


def test_rebalances_and_redeliveries_cause_no_second_effect(stack, run, figures):
    slow = 3.0  # longer than a partition that goes waits for its batch: these come again
    before, tasks = redeliveries(stack), 0
    with Intruder(stack.ground.settings["TASKMILL_KAFKA_BROKERS"]) as intruder:
        while tasks < TASKS or (redeliveries(stack) == before and tasks < MOST_TASKS):
            requests = [
                run.request(n, sleep_seconds=slow if n % 40 == 0 else 0.005, keeps=True)
                for n in range(tasks, tasks + AT_A_TIME)
            ]
            run.submit_many(requests, batch=25, callers=2, seconds=4)
            tasks += AT_A_TIME
    run.await_ends()
    assert run.complaints() == []
    came_again = redeliveries(stack) - before
    begun = starts(stack, set(run.ids))
    ((kept,),) = stack.ask("SELECT count(*) FROM receipts WHERE label LIKE %s", f"{run.name}-%")
    figures.tell(
        "P5",
        f"{tasks:,} tasks, {intruder.visits} rebalances, {came_again:.0f} claims of what came "
        f"again: {sum(begun.values()) - tasks} second runs, {kept:,} effects",
    )
    assert kept == tasks
    assert stack.counted("taskmill_claims_total", answer="claimed") >= tasks
    assert intruder.visits > 0
    assert came_again > 0


def redeliveries(stack):
    """Return how often a claim was answered with: somebody has it, or had it."""
    return sum(
        stack.counted("taskmill_claims_total", answer=answer) for answer in ("held", "refused")
    )
