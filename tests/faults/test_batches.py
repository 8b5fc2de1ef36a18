"""A function time-out in mid-batch repeats only unfinished work (P26)."""

from datetime import timedelta

from taskmill.domain import topics
from taskmill.domain.outcome import Succeeded
from tests.unit.usecases.stage import World

TASKS = 100
DONE_IN_TIME = 40
WORK = topics.worker("echo")


def test_a_time_out_in_mid_batch_repeats_only_unfinished_work(figures):
    world = World()
    tasks = world.admitted(*[f"k{number}" for number in range(TASKS)], timeout_seconds=1.0)
    performed = []

    def perform(task):
        performed.append(task.id)
        world.now += 100
        return Succeeded("done")

    margin = world.shop().pace.margin
    end = world.now + 100 * DONE_IN_TIME + 1_000 + margin // timedelta(milliseconds=1)
    failed = world.work(
        perform,
        concurrency=1,
        remaining=lambda: timedelta(milliseconds=end - world.now),
    )
    first = len(performed)
    assert 0 < first < TASKS
    assert failed
    world.work(perform, concurrency=10)
    assert sorted(performed) == sorted(task.id for task in tasks)
    world.record()
    assert {str(row.status) for row in world.ledger.rows.values()} == {"succeeded"}
    figures.tell("P26", f"{first} of {TASKS} done in time, {TASKS - first} later, none twice")
