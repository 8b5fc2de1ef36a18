"""Where one task starts after another, the order is exact, whoever submitted them."""

import random
import time

from taskmill.core.task import PRIORITIES, PRIORITY_NAMES
from tests.faults.lanes import await_waiting, paused
from tests.faults.measured import exceeding
from tests.faults.run import Run, a_seed
from tests.faults.scale import scaled
from tests.faults.stack import ONE_PARTITION, ONE_PLACE, PLACES

TASKS, WRITERS = 400, 8
BACKLOG = scaled(5_000, 120_000)
"""Beyond what a line holds: the rest waits on its shelf. `taskmill bench` submits 1,000,000."""

BATCH = 100
LEAST_RATIO = 0.9


def test_what_waits_for_one_place_starts_by_class_and_then_by_age(stack, run, figures):
    chance = random.Random(a_seed())
    names = sorted(PRIORITY_NAMES.values())
    priorities = {run.label(n): chance.choice(names) for n in range(TASKS)}
    requests = [
        run.request(n, fields={"type": ONE_PLACE, "priority": priorities[run.label(n)]})
        for n in range(TASKS)
    ]
    with paused(stack, ONE_PLACE):
        run.submit_many(requests, batch=1, callers=WRITERS)
        await_waiting(stack, TASKS, ONE_PLACE)
    run.await_ends()
    run.verify(kills=0, in_flight=1)
    assert started(stack, run) == expected(run, priorities)
    figures.tell("order", f"{TASKS} tasks of 4 classes by {WRITERS} writers, one place: exact")


def test_a_backlog_of_a_paused_type_costs_no_caller_time_and_runs_in_order(stack, run, figures):
    """Each waiting task of the paused type starts after the resume, at its turn."""
    paces = []

    def measure():
        usual, backlog = Run(stack), Run(stack)
        pace = pace_of_submits(usual)
        usual.await_ends(within=30 + BACKLOG / 50)
        with paused(stack, ONE_PARTITION):
            ratio = pace_of_submits(backlog) / pace
            await_waiting(stack, BACKLOG, ONE_PARTITION, within=30 + BACKLOG / 100)
            assert started(stack, backlog) == []
        backlog.await_ends(within=30 + BACKLOG / 50)
        paces.append(backlog)
        figures.tell("order", f"{BACKLOG:,} to a paused type: {ratio:.2f} of the usual submits/s")
        return -ratio, -LEAST_RATIO

    assert exceeding(measure) == []
    for backlog in paces:
        backlog.verify(kills=0, in_flight=PLACES)
        assert furthest_from_its_turn(stack, backlog) <= 2 * PLACES
    assert run.complaints() == []


def pace_of_submits(run):
    requests = [run.request(n, fields={"type": ONE_PARTITION}) for n in range(BACKLOG)]
    began = time.monotonic()
    run.submit_many(requests, batch=BATCH)
    return BACKLOG / (time.monotonic() - began)


def furthest_from_its_turn(stack, run):
    """Return by how many places a task at most started before or after its turn.

    What one process takes together starts together.
    """
    turns = {label: turn for turn, label in enumerate(expected(run, {}))}
    return max(abs(turns[label] - at) for at, label in enumerate(started(stack, run)))


def started(stack, run):
    """Return the labels of tasks in the order in which they started."""
    lines = [line for line in stack.left(set(run.ids)) if line["kind"] == "start"]
    return [line["label"] for line in lines]


def expected(run, priorities):
    """Return the labels by class, then by age; what one batch brought is in its order."""
    numbers = {run.label(n): n % BATCH for n in range(len(run.ids))}

    def turn(row):
        klass = -PRIORITIES[priorities.get(row.label, "normal")]
        return klass, row.generation, 0 if priorities else numbers[row.label], row.id

    return [row.label for row in sorted(run.rows(), key=turn)]
