"""A redrive job redrives exactly the tasks that were dead at its creation, each once."""

import pytest
from msgspec.structs import replace

from taskmill.core.task import Millis
from taskmill.orders.redrive_job import (
    Done,
    Item,
    JobState,
    NewJob,
    RedriveJobRequest,
    Stage,
    Tally,
)
from tests.builders import NOW, a_new_id, an_envelope, cancelled, died, now_ms, started, succeeded
from tests.contracts.ledgers import batch_of


def a_job(fingerprint="f1", *, rate=10.0, tenant="default", **wanted):
    return NewJob(
        id=a_new_id(),
        tenant=tenant,
        fingerprint=fingerprint,
        wanted=RedriveJobRequest(**{"limit": 100} | wanted),
        rate_per_second=rate,
        at_ms=now_ms(),
    )


def dead(ledger, count=1, *, at_ms=NOW, **changes):
    tasks = [an_envelope(id=a_new_id(), **changes) for _ in range(count)]
    deaths = [died(task, at_ms=Millis(at_ms + n)) for n, task in enumerate(tasks)]
    ledger.ledger.record(batch_of(*tasks, *deaths))
    return tasks


def anew(task):
    return replace(task, generation=task.generation + 5_000, submitted=task.generation)


def ids_of(jobs, job, count=100):
    with jobs.held(job.id) as held:
        return {item.id for item in held.next(count)}


def bring_back(ledger, jobs, job, *tasks):
    """Do one step of the job for these tasks."""
    with jobs.held(job.id) as held:
        done = [Done(Item(task.id, task.generation), anew(task).generation) for task in tasks]
        held.note(done, paced_for=len(tasks))
    ledger.ledger.record(batch_of(*map(anew, tasks)))


def test_a_job_holds_who_is_dead_now(ledger):
    first, second = dead(ledger, 2)
    jobs = ledger.jobs()
    job = jobs.make(a_job())
    dead(ledger)
    assert (job.state, job.tally, job.stage) == (JobState.RUNNING, Tally(total=2), Stage())
    assert ids_of(jobs, job) == {first.id, second.id}
    assert jobs.find(job.id) == job


WANTED = [
    ({"type": "other"}, ["other"]),
    ({"reason": "failed"}, ["first", "other"]),
    ({"reason": "poison"}, ["late"]),
    ({"error_class": "ValueError"}, ["first", "late", "other"]),
    ({"error_class": "KeyError"}, []),
    ({"dead_after_ms": NOW + 500}, ["late"]),
    ({"dead_before_ms": NOW + 1_000}, ["first", "other"]),
    ({"limit": 2}, ["first", "other"]),
]


@pytest.mark.parametrize(("wanted", "names"), WANTED, ids=[str(wanted) for wanted, _ in WANTED])
def test_a_job_holds_who_is_wanted_and_died_first(ledger, wanted, names):
    tasks = {name: an_envelope(id=a_new_id()) for name in ("late", "first")}
    tasks["other"] = an_envelope(id=a_new_id(), type="other")
    deaths = [
        died(tasks["late"], at_ms=Millis(NOW + 1_000), reason="poison"),
        died(tasks["first"], at_ms=NOW),
        died(tasks["other"], at_ms=Millis(NOW + 100)),
    ]
    ledger.ledger.record(batch_of(*tasks.values(), *deaths))
    dead(ledger, tenant="foreign")
    jobs = ledger.jobs()
    job = jobs.make(a_job(**wanted))
    if names:
        assert ids_of(jobs, job) == {tasks[name].id for name in names}
    else:
        assert (job.state, job.tally) == (JobState.DONE, Tally(total=0))


def test_the_same_request_is_the_same_job_while_it_lives(ledger):
    dead(ledger)
    jobs = ledger.jobs()
    first = jobs.make(a_job("f1"))
    assert jobs.make(a_job("f1")) == first
    assert jobs.make(a_job("f2")).id != first.id
    jobs.stop(first.id)
    assert jobs.make(a_job("f1")).id != first.id


def test_what_became_of_its_tasks_is_told(ledger):
    tasks = dead(ledger, 6)
    jobs = ledger.jobs()
    job = jobs.make(a_job())
    fine, failed, ended, running, others, gone = tasks
    bring_back(ledger, jobs, job, fine, failed, ended, running, others)
    with jobs.held(job.id) as held:
        held.note([Done(Item(gone.id, gone.generation), None)], paced_for=1)
    later = replace(anew(others), generation=anew(others).generation + 1)
    ends = [succeeded(anew(fine)), died(anew(failed)), cancelled(anew(ended))]
    ledger.ledger.record(batch_of(*ends, started(anew(running)), later))
    tally = Tally(total=6, redriven=5, skipped=1, succeeded=1, failed=2, cancelled=1)
    assert jobs.find(job.id).tally == tally
    with jobs.held(job.id) as held:
        assert held.job.tally == tally
        assert held.next(9) == []


def test_a_task_that_was_dealt_with_does_not_come_again(ledger):
    first, second = dead(ledger, 2)
    jobs = ledger.jobs()
    job = jobs.make(a_job())
    bring_back(ledger, jobs, job, first)
    ledger.ledger.record(batch_of(died(anew(first))))
    assert ids_of(jobs, job) == {second.id}


def test_a_step_that_is_not_finished_leaves_no_trace(ledger):
    (task,) = dead(ledger)
    jobs = ledger.jobs()
    job = jobs.make(a_job())

    class Killed(Exception):
        pass

    def die(held):
        held.note([Done(Item(task.id, task.generation), 1)], paced_for=1)
        held.change(JobState.PAUSED, "why")
        raise Killed

    with pytest.raises(Killed), jobs.held(job.id) as held:
        die(held)
    assert jobs.find(job.id) == job
    assert ids_of(jobs, job) == {task.id}


def test_the_pace_counts_from_what_went(ledger):
    tasks = dead(ledger, 2)
    jobs = ledger.jobs()
    job = jobs.make(a_job(rate=0.5))
    bring_back(ledger, jobs, job, *tasks)
    assert jobs.find(job.id).paced_at_ms - job.paced_at_ms >= 4_000


def test_a_paused_job_says_why_and_is_not_worked_on(ledger):
    dead(ledger)
    jobs = ledger.jobs()
    job = jobs.make(a_job())
    assert jobs.running() == [job.id]
    with jobs.held(job.id) as held:
        held.change(JobState.PAUSED, "4 of 10")
    paused = jobs.find(job.id)
    assert (paused.state, paused.why) == (JobState.PAUSED, "4 of 10")
    assert jobs.running() == []
    with jobs.held(job.id) as held:
        assert held is None


@pytest.mark.parametrize("state", [JobState.PAUSED, JobState.STOPPED])
def test_a_job_that_is_taken_up_again_counts_from_there(ledger, state):
    tasks = dead(ledger, 3)
    jobs = ledger.jobs()
    job = jobs.make(a_job())
    bring_back(ledger, jobs, job, *tasks[:2])
    if state is JobState.STOPPED:
        jobs.stop(job.id)
    else:
        with jobs.held(job.id) as held:
            held.change(state, "why")
    ledger.ledger.record(batch_of(died(anew(tasks[0]))))
    jobs.resume(job.id)
    again = jobs.find(job.id)
    assert (again.state, again.why, again.stage) == (JobState.RUNNING, None, Stage(2, 1, 1))


def test_a_job_that_is_over_changes_no_more(ledger):
    jobs = ledger.jobs()
    job = jobs.make(a_job())
    jobs.stop(job.id)
    jobs.resume(job.id)
    assert jobs.find(job.id).state is JobState.DONE


def test_a_stopped_job_is_not_taken_up_beside_another_of_the_same_request(ledger):
    dead(ledger)
    jobs = ledger.jobs()
    first = jobs.make(a_job("f1"))
    jobs.stop(first.id)
    jobs.make(a_job("f1"))
    jobs.resume(first.id)
    assert jobs.find(first.id).state is JobState.STOPPED


def test_the_latest_jobs_come_first_and_each_tenant_sees_its_own(ledger):
    jobs = ledger.jobs()
    made = [jobs.make(replace_at(a_job(f"f{n}"), NOW + n)) for n in range(3)]
    jobs.make(a_job("f9", tenant="foreign"))
    assert [job.id for job in jobs.latest("default", limit=2)] == [made[2].id, made[1].id]


def replace_at(job, at_ms):
    return NewJob(
        id=job.id,
        tenant=job.tenant,
        fingerprint=job.fingerprint,
        wanted=job.wanted,
        rate_per_second=job.rate_per_second,
        at_ms=Millis(at_ms),
    )


def test_nobody_knows_a_job_that_was_never_made(ledger):
    jobs = ledger.jobs()
    name = a_new_id()
    assert jobs.find(name) is None
    jobs.stop(name)
    jobs.resume(name)
    with jobs.held(name) as held:
        assert held is None
