"""What waits in lanes moves to the topics of workers, and neither is lost nor runs twice."""

import json
import subprocess
import sys
from collections import Counter
from itertools import count
from pathlib import Path

from taskmill.core import codec, topics
from taskmill.core.task import TaskType
from tests.faults.lanes import PATH, await_waiting, paused, shelved, waiting_in
from tests.faults.log import append_everywhere, ends, values_since
from tests.faults.run import starts
from tests.faults.stack import ROOT
from tests.faults.versions import prepared, versions_of
from tests.waiting import eventually

WAITING = 300
TOPIC = topics.worker(TaskType("probe"))
A_WAY_BACK = Path(__file__).with_name("a_way_back.py")


def leave_lanes(stack):
    return subprocess.run(
        [sys.executable, "-P", str(A_WAY_BACK)],
        env=stack._own_environment(),  # noqa: SLF001 - as other commands run beside the system
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def published(stack, begins):
    values = [one for one in values_since(stack, TOPIC, begins) if one != codec.WAKE_UP]
    return {task.id for value in values for task in codec.open_tasks(value)}


def test_lanes_are_left_without_a_loss(stack, run):
    begins = ends(stack, TOPIC)
    with paused(stack):
        run.submit([run.request(n) for n in range(WAITING)])
        await_waiting(stack, WAITING)
        refused = leave_lanes(stack)
        assert (refused.returncode, "stop the schedulers" in refused.stderr) == (1, True), refused
        await_waiting(stack, WAITING)
        with stack.standing_still("Dispatcher"), stack.standing_still("Scheduler"):
            left = leave_lanes(stack)
            assert left.returncode == 0, left
            assert published(stack, begins) >= set(run.ids.values())
            assert not stack.lanes_are_live()
    run.await_ends()
    run.verify()


def test_an_earlier_release_runs_what_lanes_held(stack, run, before, figures):
    """Go back as the page on upgrades says: only dispatcher and schedulers end before the move.

    Workers that run tasks meanwhile give them back when they end: the reconciler queues these.
    """
    try:
        go_back(stack, run, before, figures)
    finally:
        stack.client.ask("DELETE", f"{PATH}/type:probe")


def go_back(stack, run, before, figures):
    held = every_state(stack, run)
    with stack.away(), prepared(stack, before, says="before") as earlier:
        with prepared(stack, ROOT, without=STOPPED, says="") as staying:
            stack.client = staying.start().client
            begun = set(starts(stack, run.ids))
            resume(stack)
            eventually(
                lambda: len(starts(stack, run.ids)) > len(begun), within=60, reason="it runs"
            )
            left = leave_lanes(stack)
            assert left.returncode == 0, left
            running = {*starts(stack, run.ids)} - begun
            run.submit([run.request(n) for n in range(SINCE, SINCE + 50)])
            stack.client = earlier.start().client
            eventually(
                lambda: "before" in versions_of(stack, run), within=60, reason="the earlier runs"
            )
        run.await_ends(within=240)
    stack.await_rebuild()
    history = run.verify()
    versions = Counter(versions_of(stack, run))
    figures.tell(
        "P25",
        f"back: {len(run.ids)} tasks, {held} when the dispatcher stopped, {len(running)} of them"
        f" ran during the move; published {json.loads(left.stdout)}; {versions['']} effects here,"
        f" {versions['before']} in the earlier release",
    )
    assert {row.status for row in history.rows} == {"succeeded"}
    assert json.loads(left.stdout)["from_shelves"] > 0
    assert min(versions[""], versions["before"]) > 0


STOPPED = ("dispatcher", "scheduler")
LONG_NAME = "x" * 170_000
"""So long that 96 MiB of tasks, which a line may hold, are fewer than 600."""

SHORT_SECONDS, LONG_SECONDS, LATER_SECONDS = 3.0, 20, 30
SINCE = 5_000


def every_state(stack, run):
    """Leave tasks that wait, are shelved, scheduled and retried; return how many of each."""
    numbers = count()

    def some(many, fields=None, **payload):
        requests = [run.request(next(numbers), fields=fields, **payload) for _ in range(many)]
        run.submit_many(requests, batch=20)

    some(50, {"retry": {"first_seconds": LATER_SECONDS}}, ill="raise", ill_runs=1)
    eventually(lambda: statuses(run)["retrying"] == 50, within=60, reason="50 are retried")
    assert stack.client.post(PATH, {"type": "probe"}).status == 201
    some(50, {"delay_seconds": LATER_SECONDS})
    some(60, {"priority": "critical"}, sleep_seconds=SHORT_SECONDS)
    some(40, {"priority": "high"}, sleep_seconds=LONG_SECONDS)
    some(150, {"fairness_key": "a customer"})
    some(700, name=LONG_NAME)
    eventually(lambda: statuses(run)["queued"] == 950, within=60, reason="all have a row")
    eventually(lambda: (waiting_in(stack) or 0) + shelved(stack) == 950, within=60, reason="wait")
    return dict(statuses(run)) | {"shelved": shelved(stack)}


def resume(stack):
    """Resume the type, and wake its worker as a scheduler would."""
    assert stack.client.ask("DELETE", f"{PATH}/type:probe").status == 200
    append_everywhere(stack, TOPIC, codec.WAKE_UP)


def statuses(run):
    return Counter(row.status for row in run.rows())
