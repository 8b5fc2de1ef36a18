"""The schema and the topics grow during work: older code loses nothing."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from taskmill.core import topics
from taskmill.stores.postgres.migrate import migrate
from tests.faults.history import Outcome
from tests.faults.log import ends
from tests.faults.stack import WORKER
from tests.waiting import eventually

TASKS = 600
MIGRATION = "9999_pre_grow.sql"
GROW = """
ALTER TABLE tasks ADD COLUMN only_newer text NOT NULL DEFAULT 'x';
CREATE INDEX tasks_by_only_newer ON tasks (only_newer, created_at);
"""
SHRINK = """
ALTER TABLE tasks DROP COLUMN only_newer;
DELETE FROM migrations WHERE name = '9999_pre_grow.sql';
"""
GROWING = (topics.PENDING, topics.EVENTS)
"""A worker topic grows with what its type declares: wake-ups go to no other partition."""


@pytest.fixture
def newer(stack, tmp_path):
    """Give the migrations of a newer version; what they did is undone afterwards."""
    (tmp_path / MIGRATION).write_text(GROW)
    yield tmp_path
    with psycopg.connect(stack.ground.own_dsn) as connection:
        connection.execute(SHRINK)


def test_a_column_and_an_index_are_added_under_load(stack, run, newer, figures):
    errors = errors_of(stack)
    requests = [run.request(n) for n in range(TASKS)]
    with ThreadPoolExecutor(1) as others:
        load = others.submit(run.submit_many, requests, batch=5, callers=2, seconds=8)
        eventually(lambda: len(run.ids) > TASKS / 4, within=60, reason="load goes on")
        began = time.monotonic()
        assert migrate(stack.ground.own_dsn, newer) == [MIGRATION]
        took = time.monotonic() - began
        load.result()
    run.await_ends()
    history = run.verify()
    assert all(submit.outcome is Outcome.OK for submit in history.submits)
    assert errors_of(stack) == errors
    figures.tell("migration", f"a column and an index in {took:.1f} s under {TASKS} tasks")


def errors_of(stack):
    """Return how often each function failed.

    A run of the scheduler fails only at its end, perhaps long after the error, which its
    log shows at once.
    """
    names = ("Gateway", "Dispatcher", WORKER, "Recorder")
    answer = {
        name: stack.counted("taskmill_function_errors_total", function=name) for name in names
    }
    return answer | {"Scheduler": stack.log("Scheduler").count('"periodic job raised an error"')}


def test_partitions_are_added_under_load(stack, run, figures):
    admin = AdminClient({"bootstrap.servers": stack.ground.settings["TASKMILL_KAFKA_BROKERS"]})
    requests = [run.request(n) for n in range(TASKS)]
    before = {topic: len(ends(stack, topic)) for topic in GROWING}
    with ThreadPoolExecutor(1) as others:
        load = others.submit(run.submit_many, requests, batch=5, callers=2, seconds=15)
        eventually(lambda: len(run.ids) > TASKS / 4, within=60, reason="load goes on")
        wanted = [NewPartitions(topic, count + 2) for topic, count in before.items()]
        for done in admin.create_partitions(wanted).values():
            done.result(timeout=30)
        restarted = set(stack.functions()) - {"Scheduler"}  # the next would come within a minute
        stack.signal(signal.SIGKILL, *restarted)  # restarted processes know the new ones
        load.result()
    run.await_ends()
    assert run.complaints() == []
    eventually(
        lambda: all(used(stack, topic, before[topic]) for topic in GROWING),
        within=30,
        reason="the new partitions are written to",
    )
    stack.come_to_rest()
    figures.tell("partitions", f"2 more for each of {len(GROWING)} topics under {TASKS} tasks")


def used(stack, topic, known):
    return sum(end for number, end in ends(stack, topic).items() if number >= known) > 0
