"""A function that times out mid-batch repeats only unfinished records (P26)."""

import json

from tests.faults.batches import LONG_ENOUGH, admitted, event_of, publish, work
from tests.faults.run import starts
from tests.faults.stack import LEASE_SECONDS
from tests.waiting import eventually

BATCH = 100
DONE = 40


def finished(stack, tasks):
    records = stack.records([task.id for task in tasks])
    return {record.id for record in records if record.status == "succeeded"}


def test_what_a_function_has_no_time_for_is_reported_and_nothing_else_runs_again(
    stack, run, figures
):
    """The time-outs of all but the first forty do not fit into what is left by then."""
    tasks = admitted(run, BATCH, fields={"timeout_seconds": 6.0}, sleep_seconds=1)
    again = work(stack, tasks, 7.5, PROBE_CONCURRENCY=DONE)
    assert again == set(range(DONE, BATCH))
    assert finished(stack, tasks) == {task.id for task in tasks[:DONE]}
    assert len(starts(stack, set(run.ids))) == DONE
    assert work(stack, tasks, LONG_ENOUGH, PROBE_CONCURRENCY=DONE) == set()
    assert set(starts(stack, set(run.ids)).values()) == {1}
    figures.tell("P26", f"{BATCH} records, no time behind {DONE}: {len(again)} reported, 0 again")
    run_on(stack, run, tasks)


def test_what_had_ended_when_a_function_is_killed_for_its_time_does_not_run_again(
    stack, run, figures
):
    tasks = admitted(run, BATCH, sleep_seconds=0.4)
    process = stack.spawn_worker(LONG_ENOUGH, PROBE_CONCURRENCY=10)
    try:
        process.stdin.write(json.dumps(event_of(tasks)))
        process.stdin.close()
        eventually(lambda: len(finished(stack, tasks)) >= DONE, within=60, reason="40 have ended")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    done, before = finished(stack, tasks), starts(stack, set(run.ids))
    assert len(done) < BATCH
    eventually(
        lambda: work(stack, tasks, LONG_ENOUGH, PROBE_CONCURRENCY=10) == set(),
        within=60 + LEASE_SECONDS,
        reason="the whole batch came to its end",
    )
    after = starts(stack, set(run.ids))
    ran_again = {label for label, times in after.items() if times > before.get(label, 0) > 0}
    figures.tell(
        "P26",
        f"{BATCH} records, killed when {len(done)} had ended: {len(ran_again)} of those in flight "
        "ran again",
    )
    assert not {run.ids[label] for label in ran_again} & done
    run_on(stack, run, tasks)


def run_on(stack, run, tasks):
    """Publish all of it to the system's own functions, which find it finished."""
    before = starts(stack, set(run.ids))
    publish(stack, tasks)
    run.await_ends()
    assert run.complaints() == []
    assert starts(stack, set(run.ids)) == before
