"""A redrive job is slow, sends a canary first, and pauses when too many fail again."""

import pytest
from msgspec.structs import replace

from taskmill.orders.redrive_job import (
    CANARY,
    MOST_AT_ONCE,
    Finish,
    Go,
    JobState,
    Pause,
    RedriveJob,
    RedriveJobRequest,
    Stage,
    Tally,
    Wait,
    next_step,
    paced_at,
)
from tests.builders import NOW


def a_job(*, rate=20.0, stage=Stage(), **tally):  # noqa: B008 - a frozen value
    return RedriveJob(
        id="j1",
        wanted=RedriveJobRequest(limit=100),
        rate_per_second=rate,
        state=JobState.RUNNING,
        why=None,
        tally=Tally(**{"total": 1_000} | tally),
        stage=stage,
        paced_at_ms=NOW,
        created_at_ms=NOW,
        changed_at_ms=NOW,
    )


def after(job, seconds):
    return next_step(job, NOW + round(seconds * 1000))


def test_nobody_goes_before_the_pace_allows_it():
    assert after(a_job(), 0) == Wait()
    assert after(a_job(), 0.049) == Wait()
    assert after(a_job(), 0.05) == Go(1)
    assert after(a_job(), 0.26) == Go(5)


def test_a_slow_pace_is_kept():
    assert after(a_job(rate=0.1), 9.9) == Wait()
    assert after(a_job(rate=0.1), 10) == Go(1)
    assert after(a_job(rate=0.1), 10_000) == Go(1)


def test_the_canary_goes_first_and_is_waited_for():
    assert after(a_job(), 60) == Go(CANARY)
    assert after(a_job(redriven=4), 60) == Go(CANARY - 4)
    assert after(a_job(redriven=CANARY), 60) == Wait()
    assert after(a_job(redriven=CANARY, succeeded=CANARY - 1), 60) == Wait()
    assert after(a_job(redriven=CANARY, succeeded=CANARY), 60) == Go(20)


def test_what_was_missed_is_not_made_up_for_at_once():
    job = a_job(rate=1_000, redriven=CANARY, succeeded=CANARY)
    assert after(job, 3_600) == Go(MOST_AT_ONCE)
    assert after(replace(job, rate_per_second=50), 3_600) == Go(50)


def test_more_than_a_third_of_failures_pauses():
    assert after(a_job(redriven=12, succeeded=8, failed=4), 1) == Go(20)
    step = after(a_job(redriven=12, succeeded=7, failed=5), 1)
    assert isinstance(step, Pause)
    assert step.why.startswith("5 of the 12 tasks that ended failed again")


def test_a_job_that_was_taken_up_again_sends_a_canary_again():
    stage = Stage(redriven=40, ended=40, failed=20)
    job = a_job(stage=stage, redriven=40, succeeded=20, failed=20)
    assert after(job, 60) == Go(CANARY)
    fine = replace(job, tally=Tally(total=1_000, redriven=50, succeeded=30, failed=20))
    assert after(fine, 60) == Go(20)
    bad = replace(job, tally=Tally(total=1_000, redriven=50, succeeded=26, failed=24))
    assert isinstance(after(bad, 60), Pause)


@pytest.mark.parametrize(
    ("tally", "step"),
    [
        ({"total": 3, "redriven": 3}, Wait()),
        ({"total": 3, "redriven": 2, "skipped": 1, "succeeded": 1}, Wait()),
        ({"total": 3, "redriven": 2, "skipped": 1, "succeeded": 1, "failed": 1}, Finish()),
        ({"total": 3, "skipped": 3}, Finish()),
        ({"total": 30, "redriven": 30, "failed": 30}, Finish()),
    ],
)
def test_a_job_is_over_when_all_have_ended(tally, step):
    assert after(a_job(**tally), 60) == step


def test_the_last_few_are_no_more_than_there_are():
    assert after(a_job(total=12, redriven=10, succeeded=10), 60) == Go(2)


def test_a_pace_is_kept_over_steps():
    job = a_job(rate=20.0)
    later = paced_at(job, 10, NOW + 500)
    assert later == NOW + 500
    assert after(replace(job, paced_at_ms=later), 0.5) == Wait()
    assert paced_at(job, 1, NOW + 60_000) == NOW + 59_050
