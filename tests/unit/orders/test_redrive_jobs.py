"""A job proceeds despite crashes, and redrives each task once."""

from dataclasses import dataclass, field

import pytest

from taskmill.core import topics
from taskmill.execution.outcome import Discard, Succeeded
from taskmill.ledger.find import LedgerFinder
from taskmill.orders.redrive_job import JobState, NewJob, RedriveJobRequest
from taskmill.orders.redrive_jobs import RedriveJobRunner
from tests.builders import a_new_id
from tests.unit.world import World


class Killed(BaseException):
    pass


@dataclass
class Shift:
    """A world with dead tasks, a job for them, and a worker that may succeed this time."""

    world: World = field(default_factory=World)

    def __post_init__(self):
        self.jobs = self.world.ports.redrive_jobs

    def kill(self, count):
        tasks = self.world.admitted(*[None] * count)
        self.world.work(lambda _: Discard("no"))
        self.world.record()
        self.world.pass_time(milliseconds=1_000)
        return tasks

    def make(self, *, rate=1_000.0):
        return self.jobs.make(
            NewJob(
                id=a_new_id(),
                tenant="default",
                fingerprint="f1",
                wanted=RedriveJobRequest(limit=1_000),
                rate_per_second=rate,
                at_ms=self.world.clock(),
            )
        )

    def step(self, **others):
        self.world.pass_time(milliseconds=1_000)
        stores = self.world.stores(**others)
        return RedriveJobRunner(stores, LedgerFinder(stores).find).run()

    def end(self, perform):
        self.world.dispatch()
        self.world.work(perform)
        self.world.record()

    def generations(self, task):
        tasks = self.world.log.tasks(topics.PENDING)
        return {one.generation for one in tasks if one.id == task.id}


@pytest.fixture
def shift():
    return Shift()


def test_a_job_brings_everybody_back_and_is_done_when_they_ended(shift):
    tasks = shift.kill(25)
    job = shift.make()
    counts = []
    for _ in range(4):
        counts.append(shift.step())
        shift.end(lambda _: Succeeded("now"))
    assert counts == [10, 15, 0, 0]
    done = shift.jobs.find(job.id)
    assert (done.state, done.tally.succeeded) == (JobState.DONE, 25)
    assert all(len(shift.generations(task)) == 2 for task in tasks)


def test_a_job_whose_tasks_die_again_pauses_and_says_why(shift):
    tasks = shift.kill(25)
    job = shift.make()
    shift.step()
    shift.end(lambda _: Discard("again"))
    assert [shift.step() for _ in range(3)] == [0, 0, 0]
    paused = shift.jobs.find(job.id)
    assert paused.state is JobState.PAUSED
    assert "10 of the 10 tasks that ended failed again" in paused.why
    assert sorted(len(shift.generations(task)) for task in tasks) == [1] * 15 + [2] * 10


def test_a_job_that_is_taken_up_again_brings_nobody_back_twice(shift):
    tasks = shift.kill(25)
    job = shift.make()
    shift.step()
    shift.end(lambda _: Discard("again"))
    shift.step()
    shift.jobs.resume(job.id)
    for _ in range(4):
        shift.step()
        shift.end(lambda _: Succeeded("now"))
    done = shift.jobs.find(job.id)
    assert (done.state, done.tally.succeeded, done.tally.failed) == (JobState.DONE, 15, 10)
    assert {len(shift.generations(task)) for task in tasks} == {2}


@pytest.mark.parametrize("moment", ["before the log", "before the note"])
def test_a_step_that_dies_is_done_again_without_a_second_life(shift, moment):
    (task,) = shift.kill(1)
    shift.make()

    class Dying:
        def __getattr__(self, _verb):
            def die(*_asked, **_how):
                raise Killed

            return die

    port = {"before the log": "bus", "before the note": "admission"}[moment]
    with pytest.raises(Killed):
        shift.step(**{port: Dying()})
    shift.end(lambda _: Discard("again"))
    shift.step()
    shift.step()
    assert len(shift.generations(task)) == 2


def test_who_is_dead_no_more_is_passed_over(shift):
    first, second = shift.kill(2)
    job = shift.make()
    shift.world.hot.remove(first.id)
    del shift.world.ledger.rows[first.id]
    shift.step()
    tally = shift.jobs.find(job.id).tally
    assert (tally.skipped, tally.redriven) == (1, 1)
    assert len(shift.generations(second)) == 2


def test_what_cannot_be_said_now_is_asked_for_again(shift):
    shift.kill(2)
    job = shift.make()
    shift.world.hot.restart()
    assert shift.step() == 0
    shift.world.hot.open()
    assert shift.step() == 2
    assert shift.jobs.find(job.id).tally.redriven == 2


def test_a_job_that_another_scheduler_holds_is_passed_over(shift):
    shift.kill(1)
    job = shift.make()
    with shift.jobs.held(job.id):
        assert shift.step() == 0
    assert shift.step() == 1
