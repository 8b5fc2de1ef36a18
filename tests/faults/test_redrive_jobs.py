"""A redrive job is paced, pauses on failures, can be stopped, and cannot loop (P14)."""

import time
from collections import Counter
from datetime import UTC, datetime

from taskmill.core.task import TaskType, keyed_id
from tests.faults.history import Redrive
from tests.faults.stack import await_death
from tests.waiting import eventually

DEAD = 1_000
SOUND_FIRST = 200
"""These go first and are well: so what fails never was a third of what ended."""

RATE = 20
DEATHS = (1, 10)
"""After how many scripts each of the test's own schedulers dies, one after another."""


def test_a_redrive_job_pauses_itself_when_more_than_a_third_fails_again(stack, run, figures):
    since = now()
    they_die(stack, run, lambda place: place % 5 < 2)
    job = a_job(stack, since)
    assert a_job(stack, since)["id"] == job["id"], "the same request is the same job"
    paused = until(stack, job, "paused")
    assert "failed again" in paused["why"]
    assert paused["redriven"] < DEAD
    halted = stack.client.post(f"/v1/redrives/{job['id']}/resume", {}).body
    assert halted["state"] == "running"
    until(stack, job, "paused", behind=paused["redriven"])
    stack.client.post(f"/v1/redrives/{job['id']}/stop", {})
    stopped = come_to_ends(stack, job)
    assert stopped["state"] == "stopped"
    once_each(run, redriven(stack, run))
    figures.tell(
        "P14",
        f"{DEAD:,} dead, 40 % fail again: paused itself after {paused['redriven']}, and once more "
        f"after {stopped['redriven']}",
    )


def test_a_redrive_job_outlives_its_scheduler_and_redrives_each_once(
    stack, run, figures, scheduler
):
    since = now()
    they_die(stack, run, lambda place: place >= SOUND_FIRST and place % 8 < 3)
    with stack.standing_still("Scheduler"):
        job = a_job(stack, since)
        began = time.monotonic()
        killed_at = [at_its_death(stack, job, scheduler, nth) for nth in DEATHS]
    done = until(stack, job, "done", within=3 * DEAD / RATE)
    seconds = time.monotonic() - began
    run.await_ends()
    lives = redriven(stack, run)
    once_each(run, lives)
    failed = DEAD - sum(row.status == "succeeded" for row in run.rows())
    figures.tell(
        "P14",
        f"{DEAD:,} dead, {failed} fail again, schedulers killed at "
        f"{' and '.join(map(str, killed_at))}: all redriven once, {DEAD / seconds:.1f} a second of "
        f"{RATE} asked for",
    )
    assert killed_at[0] < killed_at[1] < DEAD
    assert set(lives.values()) == {1}
    assert (done["redriven"], done["left"], done["skipped"]) == (DEAD, 0, 0)
    assert (done["succeeded"], done["failed"]) == (DEAD - failed, failed)
    assert DEAD / seconds <= RATE


def at_its_death(stack, job, scheduler, nth):
    """Let a scheduler die after its nth script; return how many the job counts as redriven."""
    process = scheduler(f"redrive job after the script:{nth}")
    await_death(process)
    return shown(stack, job)["redriven"]


def they_die(stack, run, is_ill_again):
    """Let all die; some, by their place in a job's order, will die again after the redrive."""
    kind = TaskType("probe")
    in_order = sorted(range(DEAD), key=lambda n: keyed_id("default", kind, run.label(n)))
    requests = [
        run.request(n, fields={"max_attempts": 1}, ill="raise", ill_runs=1 + is_ill_again(place))
        for place, n in enumerate(in_order)
    ]
    run.expected_dead |= {run.label(n) for n in range(DEAD)}
    run.submit_many(requests)
    run.await_ends()
    eventually(lambda: in_letters(stack, run) == DEAD, within=30, reason="all are listed as dead")


def in_letters(stack, run):
    query = "SELECT count(*) FROM dead_letters WHERE task_id = ANY(%s::uuid[])"
    ((count,),) = stack.ask(query, list(run.ids.values()))
    return count


def a_job(stack, since):
    wanted = {"type": "probe", "dead_after": since, "rate_per_second": RATE}
    answer = stack.client.post("/v1/redrives", wanted)
    assert answer.status == 202, answer
    return answer.body


def shown(stack, job):
    answer = stack.client.get(f"/v1/redrives/{job['id']}")
    assert answer.status == 200, answer
    return answer.body


def until(stack, job, state, behind=0, within=60):
    def is_so():
        now = shown(stack, job)
        return now["state"] == state and now["redriven"] > behind

    eventually(is_so, within=within, reason=f"the job is {state}")
    return shown(stack, job)


def come_to_ends(stack, job):
    """Wait until all redriven tasks have ended again, so that later tests see none."""

    def are_over():
        now = shown(stack, job)
        return now["succeeded"] + now["failed"] == now["redriven"]

    eventually(are_over, within=60, reason="what was redriven has ended")
    return shown(stack, job)


def redriven(stack, run):
    """Return how often each task was redriven."""
    query = """
        SELECT task_id::text, count(DISTINCT generation) - 1 FROM facts
        WHERE task_id = ANY(%s::uuid[]) GROUP BY task_id
    """
    return Counter(dict(stack.ask(query, list(run.ids.values()))))


def once_each(run, lives):
    assert max(lives.values()) == 1
    run.redrives += [Redrive(id=task_id) for task_id, more in lives.items() if more]
    assert run.complaints() == []


def now():
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
