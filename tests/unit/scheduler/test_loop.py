"""A job that fails, hangs or has a bug does not affect the others."""

import logging
from concurrent.futures import Future
from datetime import timedelta
from threading import Event, get_ident

import pytest

from functions.scheduler.jobs import Job
from functions.scheduler.loop import JobLoop
from taskmill.core.counting import Count
from taskmill.core.errors import StoreUnavailable
from taskmill.platform.background import ThreadBackgroundJobs
from taskmill.stores.memory.process import InlineBackgroundJobs, MemoryCounters
from tests.waiting import eventually

LOG = logging.getLogger("taskmill")
SECOND = timedelta(seconds=1)


class Day:
    """A loop on a clock that its rests move."""

    def __init__(self, *jobs, background_jobs=None):
        self.now = timedelta(0)
        self.counters = MemoryCounters()
        self.loop = JobLoop(
            jobs,
            background_jobs=background_jobs or InlineBackgroundJobs(),
            counters=self.counters,
            log=LOG,
            now=lambda: self.now,
            tick=timedelta(milliseconds=50),
        )

    def lasts(self, span):
        end = self.now + span
        while self.now < end:
            self.now += self.loop.work()
        return self.loop.done


class NoStores:
    """An opener without stores."""

    def stores(self):
        return None


def a_job(**how):
    return Job(opener=NoStores(), **how)


def counted(name="count", *, every=SECOND, is_slow=False):
    return a_job(name=name, every=every, work=lambda _: 1, is_slow=is_slow)


def failing(error, *, every=SECOND, is_slow=False):
    def fail(_stores):
        raise error

    return a_job(name="fail", every=every, work=fail, is_slow=is_slow)


AWAY = StoreUnavailable("PostgreSQL", "it is set to be unavailable")


def test_a_job_without_a_period_is_done_at_every_tick():
    assert Day(counted(every=None)).lasts(SECOND) == {"count": 20}


@pytest.mark.parametrize("is_slow", [False, True])
def test_each_job_comes_at_its_own_period(is_slow):
    often = counted("often", every=timedelta(milliseconds=100), is_slow=is_slow)
    seldom = counted("seldom", every=timedelta(seconds=5), is_slow=is_slow)
    assert Day(often, seldom).lasts(10 * SECOND) == {"often": 100, "seldom": 2}


def test_a_job_that_comes_seldom_starts_with_others_and_in_time():
    """Each wakes the process of each scheduler otherwise, all day long."""
    came = {"often": [], "seldom": []}

    def noted(name, milliseconds):
        def work(_stores):
            came[name].append(day.now)
            return 1

        return a_job(name=name, every=timedelta(milliseconds=milliseconds), work=work)

    day = Day(noted("often", 70), noted("seldom", 500))
    day.lasts(10 * SECOND)
    assert set(came["seldom"]) <= set(came["often"])
    assert len(came["seldom"]) == 18, "every 560 ms"


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_job_that_finds_nothing_comes_less_often_until_it_finds_something(is_slow):
    found, came = iter([None, None, 0, 3, None]), []

    def look(_stores):
        came.append(day.now)
        return next(found)

    looking = a_job(name="look", every=SECOND, every_idle=3 * SECOND, work=look, is_slow=is_slow)
    day = Day(looking)
    assert day.lasts(9 * SECOND) == {"look": 3}
    assert [one.total_seconds() for one in came] == [0, 3, 6, 7, 8]


def test_a_job_that_found_nothing_and_then_fails_is_tried_again_as_if_it_had_found_something():
    came = []

    def look(_stores):
        came.append(day.now)
        if len(came) > 1:
            raise AWAY

    day = Day(a_job(name="look", every=SECOND, every_idle=5 * SECOND, work=look))
    day.lasts(8 * SECOND)
    assert [one.total_seconds() for one in came] == [0, 5, 6, 7]


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_job_whose_store_is_away_is_tried_once_a_second_and_stops_no_other(is_slow, caplog):
    tick = timedelta(milliseconds=100)
    away = failing(AWAY, every=tick, is_slow=is_slow)
    day = Day(away, counted(every=tick))
    with caplog.at_level(logging.WARNING, logger="taskmill"):
        assert day.lasts(10 * SECOND) == {"fail": 0, "count": 100}
    assert [record.store for record in caplog.records] == ["PostgreSQL"] * 10
    assert day.loop.bug is None


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_bug_in_a_job_stops_no_other_and_is_remembered(is_slow, caplog):
    bug = ZeroDivisionError()
    day = Day(failing(bug, is_slow=is_slow), counted())
    with caplog.at_level(logging.ERROR, logger="taskmill"):
        assert day.lasts(10 * SECOND) == {"fail": 0, "count": 10}
    assert day.loop.bug is bug
    assert {record.chore for record in caplog.records} == {"fail"}


def test_a_slow_job_that_hangs_stops_no_other_and_is_not_started_twice():
    started, go_on = [], Event()

    def hang(_stores):
        started.append(True)
        go_on.wait()
        return 7

    background_jobs = ThreadBackgroundJobs()
    hanging = a_job(name="hang", every=SECOND, work=hang, is_slow=True)
    day = Day(hanging, counted(), background_jobs=background_jobs)
    assert day.lasts(10 * SECOND) == {"hang": 0, "count": 10}
    next_run = Day(hanging, background_jobs=background_jobs)
    next_run.lasts(SECOND)
    go_on.set()
    next_run.loop.finish(within=60 * SECOND)
    assert next_run.loop.done == {"hang": 7}
    assert len(started) == 1


def test_a_run_waits_for_what_is_under_way_no_longer_than_it_may():
    go_on = Event()
    hanging = a_job(name="hang", every=SECOND, work=lambda _: int(go_on.wait()), is_slow=True)
    day = Day(hanging, background_jobs=ThreadBackgroundJobs())
    day.lasts(SECOND)
    day.loop.finish(within=timedelta(0))
    assert day.loop.done == {"hang": 0}
    go_on.set()


def test_a_slow_job_rests_from_its_end_on_however_late_that_is_seen():
    under_way = []

    class Patient:
        def start(self, _name, background_job):
            under_way.append((background_job, Future()))
            return under_way[-1][1]

    day = Day(counted(every=timedelta(milliseconds=60), is_slow=True), background_jobs=Patient())
    day.loop.work()
    background_job, ended = under_way[0]
    ended.set_result(background_job())
    day.now += timedelta(milliseconds=60)
    day.loop.work()
    assert day.loop.done == {"count": 1}
    assert len(under_way) == 2


def test_an_errand_that_ended_is_started_again():
    background_jobs = ThreadBackgroundJobs()
    first = background_jobs.start("one", lambda: 1)
    eventually(first.done, within=60, reason="the errand ends")
    assert background_jobs.start("one", lambda: 2).result(timeout=60) == 2


def test_errands_of_one_name_share_a_thread_that_outlives_a_broken_one():
    """A scheduler that starts a thread for each look would pay for fifty a second."""
    background_jobs = ThreadBackgroundJobs()
    first = background_jobs.start("one", get_ident).result(timeout=60)
    assert isinstance(
        background_jobs.start("one", lambda: 1 // 0).exception(timeout=60), ZeroDivisionError
    )
    assert background_jobs.start("one", get_ident).result(timeout=60) == first
    assert background_jobs.start("other", get_ident).result(timeout=60) != first


def test_what_jobs_do_and_how_often_they_fail_is_counted():
    rebuilt = counted("rebuild", every=timedelta(milliseconds=250))
    day = Day(rebuilt, failing(AWAY, every=SECOND))
    day.lasts(SECOND)
    assert day.counters.total(Count.CHORES, chore="rebuild") == 4
    assert day.counters.total(Count.CHORE_FAILURES) == 1
