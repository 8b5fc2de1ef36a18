"""What is due is handed over, whoever dies while handing it over (P6)."""

import time
from datetime import timedelta

from taskmill.adapters.crash import EXIT_CODE
from taskmill.domain import topics, wire
from taskmill.usecases.publish_due import MOST_PER_SHARD
from taskmill_local.settings import SHARDS
from tests.faults.log import ends, values_since
from tests.faults.nemesis import Nemesis

TASKS = 5_000
SECONDS = 8
ORDERS = ("scheduler after publish before clear:1", "scheduler after take:2", "")


def test_a_due_task_is_handed_over_and_seldom_twice(stack, run, scheduler, figures):
    """The system's own scheduler stands still meanwhile, so that those who die have the work."""
    before = ends(stack, topics.PENDING)
    order = iter(range(1_000))
    living = [scheduler(), scheduler()]

    def strike(chance):
        """Kill one, and let others take its place: some will die on their own."""
        at = chance.randrange(len(living))
        living[at].kill()
        living[at] = scheduler(ORDERS[next(order) % len(ORDERS)])
        return "a scheduler killed"

    with (
        stack.standing_still("Scheduler"),
        Nemesis([strike], seed=run.name, between=(0.6, 1.2)).at_work() as nemesis,
    ):
        run.owe(range(TASKS), each=TASKS // 20, apart=timedelta(seconds=SECONDS / 20))
        time.sleep(SECONDS)  # for so long it strikes
    run.await_ends()
    assert run.complaints() == []
    told = published(stack, before, run.name)
    twice = len(told) - len(set(told))
    deaths = len(nemesis.strikes) + sum(one.poll() == EXIT_CODE for one in living)
    figures.tell("P6", f"{TASKS:,} due, {deaths} schedulers died: 0 lost, {twice} published twice")
    assert set(told) == set(run.ids)
    assert twice <= deaths * MOST_PER_SHARD * SHARDS


def published(stack, begins, run_name):
    """Return the label of each of the run's envelopes that stand behind these places."""
    tasks = [
        task
        for value in values_since(stack, topics.PENDING, begins)
        for task in wire.open_tasks(value)
    ]
    return [task.metadata["label"] for task in tasks if task.metadata.get("run") == run_name]
