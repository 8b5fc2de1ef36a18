"""Records are delivered twice and replies are lost: every task runs once (P4, P5)."""

import random
import time
from itertools import count
from threading import Event, Thread

from confluent_kafka import Consumer

from taskmill.stores.redis import scripts
from tests.faults.proxy import ProduceReplies, ScriptReplies
from tests.faults.run import a_seed, starts

SHARE = 0.05
EVERY = 20
FEWEST_TASKS = 500
LEAST_CUTS = 3
"""A busy machine claims and settles more of them at a time: then there have to be more."""

LONGEST_VISIT_SECONDS = 8
SECONDS_BETWEEN_VISITS = 2
INTRUDERS = 2
IN_FLIGHT = 50
LEAST_REBALANCES = 10
GROUP = "taskmill-worker-probe"
MOST_TASKS = 15_000
"""So many when partitions moved too seldom under fewer."""

AT_A_TIME = 1_000
SECONDS_AT_A_TIME = 6
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


def test_a_lost_reply_to_a_claim_or_a_settlement_makes_no_second_effect(stack, run, figures):
    replies, tasks = count(1), 0
    proxy = stack.ground.proxies["Valkey"]
    cuts_before = proxy.cuts
    shas = [
        scripts.load_for_many(name).sha
        for name in ("execution/claim_turn", "execution/settle_turn")
    ]
    proxy.weather.cuts = ScriptReplies(shas, lambda: next(replies) % EVERY == 0)
    proxy.reset()
    try:
        while tasks < FEWEST_TASKS or (proxy.cuts - cuts_before < LEAST_CUTS and tasks < TASKS):
            numbers = range(tasks, tasks + 100)
            requests = [run.request(number, keeps=number % 10 == 0) for number in numbers]
            run.submit_many(requests, batch=5, callers=4)
            tasks += 100
        run.await_ends()
    finally:
        proxy.weather.cuts = None
        proxy.reset()
    cuts = proxy.cuts - cuts_before
    history = run.verify(kills=0, in_flight=IN_FLIGHT)
    losses = sum(row.losses for row in history.rows)
    figures.tell(
        "P4",
        f"{tasks} tasks, {cuts} replies to claims and settlements lost: {losses} losses, "
        "no second effect",
    )
    assert cuts >= LEAST_CUTS


class Intruders:
    """Join the workers' group and leave it, over and over: partitions move both times."""

    def __init__(self, brokers):
        self._settings = {
            "bootstrap.servers": brokers,
            "group.id": GROUP,
            "enable.auto.commit": False,
            "session.timeout.ms": 6_000,
            "partition.assignment.strategy": "cooperative-sticky",  # as the mappings do
        }
        self._is_over = Event()
        self._threads = [Thread(target=self._work) for _ in range(INTRUDERS)]
        self.rebalances = []

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _work(self):
        while not self._is_over.is_set():
            consumer = Consumer(self._settings)
            given = []
            consumer.subscribe([TOPIC], on_assign=lambda _, places, to=given: to.extend(places))
            until = time.monotonic() + LONGEST_VISIT_SECONDS
            while not given and not self._is_over.is_set() and time.monotonic() < until:
                consumer.poll(0.1)  # what it reads it never commits
            consumer.poll(0.5)
            consumer.close()
            self.rebalances += ["joined", "left"] if given else []
            self._is_over.wait(SECONDS_BETWEEN_VISITS)


def test_rebalances_and_redeliveries_cause_no_second_effect(stack, run, figures):
    slow, tasks = 3.0, 0  # longer than a partition that goes waits for its batch
    with Intruders(stack.ground.settings["TASKMILL_KAFKA_BROKERS"]) as intruders:

        def is_enough():
            return tasks >= TASKS and len(intruders.rebalances) >= LEAST_REBALANCES

        while tasks < MOST_TASKS and not is_enough():
            requests = [
                run.request(n, sleep_seconds=slow if n % 40 == 0 else 0.005, keeps=True)
                for n in range(tasks, tasks + AT_A_TIME)
            ]
            run.submit_many(requests, batch=25, callers=2, seconds=SECONDS_AT_A_TIME)
            tasks += AT_A_TIME
        rebalances = len(intruders.rebalances)
    run.await_ends()
    assert run.complaints(kills=0, in_flight=IN_FLIGHT) == []
    begun = starts(stack, set(run.ids))
    ((kept,),) = stack.ask("SELECT count(*) FROM receipts WHERE label LIKE %s", f"{run.name}-%")
    kept_before = sum(line["kind"] == "kept before" for line in stack.left(set(run.ids)))
    figures.tell(
        "P5",
        f"{tasks:,} tasks, {rebalances} rebalances under load: {sum(begun.values()) - tasks} "
        f"second runs, {kept:,} effects stored, {kept_before} refused as stored before",
    )
    assert kept == tasks
    assert kept_before == 0, "nobody was killed"
    assert stack.counted("taskmill_claims_total", answer="claimed") >= tasks
    assert rebalances >= LEAST_REBALANCES
