"""Tasks run concurrently, in threads or on a loop, and are stopped independently."""

import asyncio
import threading
from datetime import timedelta

import pytest

from taskmill.platform import process
from taskmill.platform.executor import ThreadExecutor
from taskmill.platform.loop_executor import LoopExecutor
from taskmill.platform.run import Shutdown
from taskmill.worker import serve
from tests.unit.stage import RealClock, Stage
from tests.unit.worker.letters import Letter, a_task, ends, work

SHORT = 2.0
"""Long enough for what is to end in time, however late its thread is let in."""


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


@pytest.fixture
def threaded(monkeypatch):
    stage = Stage(clock=RealClock(), executor=ThreadExecutor())
    stage.bind(monkeypatch)
    return stage


class PatientLoop(LoopExecutor):
    """Waits for cancelled calls until they end, however late the loop's thread is let in."""

    def strays(self, *, within: timedelta) -> int:
        return super().strays(within=max(within, timedelta(seconds=20)))


@pytest.fixture
def looped(monkeypatch):
    stage = Stage(clock=RealClock(), executor=PatientLoop())
    stage.bind(monkeypatch)
    return stage


def test_async_tasks_meet_on_one_event_loop(looped):
    loops: set[int] = set()
    met = asyncio.Barrier(50)

    async def perform(_letter: Letter) -> int:
        loops.add(id(asyncio.get_running_loop()))
        async with met:
            return len(loops)

    worker = serve(Letter, perform, concurrency=50)
    work(looped, worker, *(a_task(looped, number) for number in range(50)))
    assert list(ends(looped).values()) == [1] * 50


def test_an_async_task_that_takes_too_long_is_cancelled_and_harms_no_other(looped, monkeypatch):
    left: list[object] = []
    monkeypatch.setitem(process.PROVIDED, "shutdown", lambda: Leaving(left))
    ends_of_cancelled: list[str] = []

    async def perform(letter: Letter) -> str:
        try:
            await asyncio.sleep(60 * letter.copies)
        except asyncio.CancelledError:
            ends_of_cancelled.append(letter.to)
            raise
        return "done"

    tasks = [
        a_task(looped, number, payload={"to": "me", "copies": number % 2}, timeout_seconds=SHORT)
        for number in range(4)
    ]
    work(looped, serve(Letter, perform), *tasks)
    ended = ends(looped)
    assert [ended[task.id][0] for task in tasks] == ["d", "timeout", "d", "timeout"]
    assert ends_of_cancelled == ["me", "me"]
    assert left == [], "nothing of them goes on, and the process may stay"


class Leaving(Shutdown):
    """Records that the process would exit, without exiting."""

    def __init__(self, left: list[object]) -> None:
        super().__init__(None)
        self._left = left

    def leave(self, request_id: str, answer: object) -> None:
        self._left.append((request_id, answer))


def test_a_process_with_a_call_that_goes_on_ends_behind_its_answer(threaded, monkeypatch):
    left: list[object] = []
    monkeypatch.setitem(process.PROVIDED, "shutdown", lambda: Leaving(left))
    is_over = threading.Event()
    slow = serve(Letter, lambda _letter: is_over.wait(timeout=60))
    try:
        work(threaded, slow, a_task(threaded, timeout_seconds=SHORT))
    finally:
        is_over.set()
    assert left == [("of a test", {"batchItemFailures": []})]


def test_who_is_told_to_end_finishes_what_runs_and_begins_nothing(stage, monkeypatch):
    left: list[object] = []
    leaving = Leaving(left)
    monkeypatch.setitem(process.PROVIDED, "shutdown", lambda: leaving)

    def perform(_letter: Letter) -> str:
        leaving.is_wanted = True
        return "done"

    tasks = [a_task(stage, number) for number in range(3)]
    answer = work(stage, serve(Letter, perform, concurrency=1), *tasks)
    assert ends(stage) == {tasks[0].id: "done"}
    assert stage.waiting() == tasks[1:]
    assert stage.hot.lanes["echo"].flight == {}
    assert left == [("of a test", answer)]


def test_the_tasks_of_a_batch_run_side_by_side(threaded):
    met = threading.Barrier(3)
    worker = serve(Letter, lambda _letter: met.wait(timeout=10) >= 0, concurrency=3)
    work(threaded, worker, *(a_task(threaded, number) for number in range(3)))
    assert list(ends(threaded).values()) == [True] * 3


def test_no_more_tasks_run_at_a_time_than_the_author_allows(threaded):
    lock, running, most, pair = threading.Lock(), [0], [0], threading.Barrier(2)

    def perform(_letter: Letter) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        pair.wait(timeout=10)
        with lock:
            running[0] -= 1

    worker = serve(Letter, perform, concurrency=2)
    work(threaded, worker, *(a_task(threaded, number) for number in range(8)))
    assert list(ends(threaded).values()) == [None] * 8
    assert most == [2]


def spin(is_over: threading.Event) -> None:
    while not is_over.is_set():
        pass


@pytest.mark.parametrize("hang", [lambda is_over: is_over.wait(timeout=60), spin])
def test_a_task_that_takes_too_long_is_cut_off_and_harms_no_other(threaded, hang):
    is_over = threading.Event()
    slow = serve(Letter, lambda letter: hang(is_over) if letter.copies else "done")
    tasks = [
        a_task(threaded, number, payload={"to": "me", "copies": number % 2}, timeout_seconds=SHORT)
        for number in range(4)
    ]
    try:
        answer = work(threaded, slow, *tasks)
    finally:
        is_over.set()
    timeout = ("timeout", "TimedOut", f"the attempt was stopped at its time limit of {SHORT:g} s")
    assert answer == {"batchItemFailures": []}
    ended = ends(threaded)
    assert [ended[task.id] for task in tasks] == ["done", timeout, "done", timeout]
