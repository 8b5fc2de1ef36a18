"""Due entries are published even if a process dies while publishing them (P6)."""

import os
import signal
from contextlib import suppress

import pytest

from taskmill.core import codec, topics
from taskmill_local.settings import SHARDS
from tests.faults.log import ends, values_since
from tests.faults.nemesis import Nemesis
from tests.faults.run import a_seed
from tests.waiting import eventually

TASKS = 5_000
DEATHS = 25
SECONDS_BETWEEN = 0.3
MOST_PER_SHARD = 10
"""So little at a time that they die amid the work, and may hold but a part of it."""

ORDERS = ("scheduler after publish before clear:5", "", "scheduler after take:5", "")
"""Half of them die on a line that matters, if nobody kills them before."""


class Shift:
    """Two schedulers; in the place of one that died there is another at once."""

    def __init__(self, nursery):
        self._nursery = nursery
        self._born = 0
        self._living = [self._another(), self._another()]
        self.deaths = 0

    def strike(self, _chance):
        """Kill the older one, and let others take the places of the dead."""
        oldest = self._living[0]
        with suppress(ProcessLookupError):
            os.kill(oldest, signal.SIGKILL)
        eventually(lambda: not lives(oldest), within=10, reason="it is dead")
        alive = [pid for pid in self._living if lives(pid)]
        dead = len(self._living) - len(alive)
        self._living = [*alive, *(self._another() for _ in range(dead))]
        self.deaths += dead
        return "a scheduler killed"

    def _another(self):
        self._nursery.stdin.write(f"{ORDERS[self._born % len(ORDERS)]}\n")
        self._nursery.stdin.flush()
        self._born += 1
        return int(self._nursery.stdout.readline())


def lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def nursery(stack):
    process = stack.spawn_nursery(MOST_PER_SHARD)
    yield process
    process.stdin.close()  # with it all its children end
    process.wait()
    process.stdout.close()


def test_a_due_task_is_handed_over_and_seldom_twice(stack, run, nursery, figures):
    """The crashing schedulers do the work: the system's own one is paused meanwhile."""
    before = ends(stack, topics.PENDING)
    between = (SECONDS_BETWEEN, SECONDS_BETWEEN)
    with stack.standing_still("Scheduler"):
        run.owe(range(TASKS), each=TASKS)
        shift = Shift(nursery)
        with Nemesis([shift.strike], seed=a_seed(), between=between).at_work():
            eventually(lambda: shift.deaths >= DEATHS, within=60, reason="enough have died")
        run.await_ends()
    assert run.complaints() == []
    answer = published(stack, before, run.name)
    twice = len(answer) - len(set(answer))
    most = shift.deaths * MOST_PER_SHARD * SHARDS
    figures.tell(
        "P6",
        f"{TASKS:,} due at once, {shift.deaths} schedulers died, one each {SECONDS_BETWEEN} s: "
        f"0 lost, {twice:,} published twice ({most:,} allowed)",
    )
    assert set(answer) == set(run.ids)
    assert most < TASKS, "or nothing would be shown"
    assert twice <= most


def published(stack, begins, run_name):
    """Return the label of each of the run's envelopes after these positions."""
    tasks = [
        task
        for value in values_since(stack, topics.PENDING, begins)
        for task in codec.open_tasks(value)
    ]
    return [task.metadata["label"] for task in tasks if task.metadata.get("run") == run_name]
