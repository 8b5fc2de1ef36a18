"""Pools of environments: size, waiting callers, crashes and shutdown."""

import asyncio
import os
import signal
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psutil

from taskmill_local.lambdas.answer import Failure, Responded
from tests.integration.lambdas.stage import SECOND, Stage, a_plan, staged, told
from tests.waiting import eventually, eventually_async

WITHIN = 20.0
IDLE = 0.1


@dataclass(slots=True)
class Waiting:
    """An invocation that runs until it is released."""

    stage: Stage
    folder: Path
    name: str
    task: asyncio.Task | None = None

    def begin(self) -> "Waiting":
        event = {"running": str(self.folder / self.name), "until": str(self.folder / "go")}
        if self.name != "go":
            event["until"] += self.name
        self.task = asyncio.create_task(self.stage.invoke("wait_for_file", event))
        return self

    def runs(self) -> bool:
        return self.pid is not None

    @property
    def pid(self) -> int | None:
        file = self.folder / self.name
        return int(file.read_text() or 0) or None if file.exists() else None

    def release(self) -> None:
        (self.folder / f"go{self.name}").touch()


async def a_running(stage: Stage, folder: Path, name: str) -> Waiting:
    waiting = Waiting(stage, folder, name).begin()
    await eventually_async(waiting.runs, within=WITHIN, reason=f"invocation {name} runs")
    return waiting


def test_no_more_environments_than_the_limit_and_callers_wait_in_order(client, tmp_path):
    async def run():
        plan = a_plan("wait_for_file", concurrency=2)
        async with staged(plan, logs=tmp_path, client=client) as stage:
            first, second = [await a_running(stage, tmp_path, name) for name in "ab"]
            third, fourth = Waiting(stage, tmp_path, "c"), Waiting(stage, tmp_path, "d")
            third.begin()
            await asyncio.sleep(0)
            fourth.begin()
            await asyncio.sleep(0)
            seen = stage.snapshot("wait_for_file")
            assert (seen.environments, seen.busy, seen.queued) == (2, 2, 2)
            assert seen.throttles == 2
            second.release()
            await eventually_async(third.runs, within=WITHIN, reason="the first in the queue runs")
            assert not fourth.runs()
            for waiting in (first, third, fourth):
                waiting.release()
            answers = await asyncio.gather(*(w.task for w in (first, second, third, fourth)))
            assert all(isinstance(answer, Responded) for answer in answers)
            assert stage.snapshot("wait_for_file").cold_starts == 2

    asyncio.run(run())


def test_the_machine_may_set_a_lower_limit_than_the_template(tmp_path):
    async def run():
        plan, cap = a_plan("wait_for_file", concurrency=50), {"wait_for_file": 1}
        async with staged(plan, logs=tmp_path, cap=cap) as stage:
            first = await a_running(stage, tmp_path, "a")
            second = Waiting(stage, tmp_path, "b").begin()
            await asyncio.sleep(0)
            assert stage.snapshot("wait_for_file").environments == 1
            first.release()
            second.release()
            await asyncio.gather(first.task, second.task)

    asyncio.run(run())


def test_the_environment_used_last_is_the_one_used_next(tmp_path):
    async def run():
        async with staged(a_plan("wait_for_file"), logs=tmp_path) as stage:
            first, second = [await a_running(stage, tmp_path, name) for name in "ab"]
            for waiting in (first, second):
                waiting.release()
                await waiting.task
                await eventually_async(
                    lambda busy=waiting is first: stage.snapshot("wait_for_file").busy == busy,
                    within=WITHIN,
                    reason="its environment is idle",
                )
            third = await a_running(stage, tmp_path, "c")
            assert third.pid == second.pid
            third.release()
            await third.task

    asyncio.run(run())


def test_environments_can_be_started_ahead(tmp_path):
    async def run():
        async with staged(a_plan("describe"), logs=tmp_path) as stage:
            await stage.functions.start({"describe": 2})
            pids = stage.snapshot("describe").pids
            assert len(pids) == 2
            assert (await stage.result("describe"))["pid"] in pids
            assert stage.snapshot("describe").cold_starts == 2

    asyncio.run(run())


def test_starting_ahead_a_function_that_cannot_start_comes_to_an_end(tmp_path):
    async def run():
        plan = a_plan("broken", handler="broken_import.handler")
        async with staged(plan, logs=tmp_path) as stage:
            await asyncio.wait_for(stage.functions.start({"broken": 2}), WITHIN)
            assert not stage.snapshot("broken").pids

    asyncio.run(run())


def test_a_broken_function_does_not_spin(tmp_path):
    async def run():
        plan = a_plan("broken", handler="broken_import.handler")
        async with staged(plan, logs=tmp_path) as stage:
            began = time.monotonic()
            for _ in range(4):
                assert (await stage.failure("broken"))[0] == Failure.INIT_ERROR
            assert time.monotonic() - began > 0.1 + 0.2 + 0.4
            assert stage.snapshot("broken").cold_starts == 4

    asyncio.run(run())


def test_all_who_wait_for_a_broken_function_are_told(tmp_path):
    async def run():
        plan = a_plan("broken", handler="broken_import.handler", concurrency=2)
        async with staged(plan, logs=tmp_path) as stage:
            answers = await asyncio.gather(*(stage.failure("broken") for _ in range(20)))
            assert {failure for failure, *_ in answers} == {Failure.INIT_ERROR}
            assert stage.snapshot("broken").errors == 20

    asyncio.run(run())


def test_a_broken_function_that_is_repaired_works_again(tmp_path):
    async def run():
        plan = a_plan("mended", handler="mended.handler", code=tmp_path)
        async with staged(plan, logs=tmp_path) as stage:
            assert stage.snapshot("mended").start_error is None
            assert (await stage.failure("mended"))[0] == Failure.INIT_ERROR
            assert "mended" in stage.snapshot("mended").start_error
            (tmp_path / "mended.py").write_text("def handler(event, context): return 'well'\n")
            assert await stage.result("mended") == "well"
            assert stage.snapshot("mended").start_error is None

    asyncio.run(run())


def test_a_caller_who_leaves_does_not_end_his_invocation(client, tmp_path):
    async def run():
        plan = a_plan("wait_for_file", concurrency=1)
        async with staged(plan, logs=tmp_path, client=client) as stage:
            first = await a_running(stage, tmp_path, "a")
            pid = first.pid
            first.task.cancel()
            await asyncio.wait([first.task])
            assert stage.snapshot("wait_for_file").busy == 1
            second = Waiting(stage, tmp_path, "b").begin()
            second.release()
            await asyncio.sleep(0)
            assert not second.runs()
            first.release()
            assert isinstance(await second.task, Responded)
            assert second.pid == pid
            assert stage.snapshot("wait_for_file").invocations == 2

    asyncio.run(run())


def test_a_caller_who_leaves_the_queue_is_not_served(tmp_path):
    async def run():
        plan = a_plan("wait_for_file", concurrency=1)
        async with staged(plan, logs=tmp_path) as stage:
            first = await a_running(stage, tmp_path, "a")
            second, third = [Waiting(stage, tmp_path, name).begin() for name in "bc"]
            await asyncio.sleep(0)
            second.task.cancel()
            third.release()
            first.release()
            await third.task
            assert not second.runs()

    asyncio.run(run())


def test_a_process_killed_from_outside_in_mid_invocation_is_told(client, tmp_path):
    async def run():
        plans = a_plan("wait_for_file"), a_plan("echo")
        async with staged(*plans, logs=tmp_path, client=client) as stage:
            first = await a_running(stage, tmp_path, "a")
            os.kill(first.pid, signal.SIGKILL)
            failure, error_type, message = told(await first.task)
            assert (failure, error_type) == (Failure.EXIT, "Runtime.ExitError")
            assert message.endswith("signal: killed")
            second = Waiting(stage, tmp_path, "b").begin()
            second.release()
            assert isinstance(await second.task, Responded)

    asyncio.run(run())


def test_a_process_killed_while_idle_costs_nobody_an_error(client, tmp_path):
    async def run():
        async with staged(a_plan("echo"), logs=tmp_path, client=client) as stage:
            for number in range(20):
                assert await stage.result("echo", number) == number
                [pid] = stage.snapshot("echo").pids
                os.kill(pid, signal.SIGKILL)
                # Blocks the loop on purpose: the platform has not noticed the death yet.
                eventually(lambda pid=pid: not is_alive(pid), within=WITHIN, reason="it is dead")
                assert await stage.result("echo", number) == number
            assert stage.snapshot("echo").errors == 0

    asyncio.run(run())


def test_an_event_that_its_process_never_read_is_given_to_another(client, tmp_path):
    async def run():
        async with staged(a_plan("echo"), logs=tmp_path, client=client) as stage:
            for event in ("small", "x" * 5_000_000):
                await stage.result("echo")
                await eventually_async(
                    lambda: not stage.snapshot("echo").busy, within=WITHIN, reason="it is idle"
                )
                [process] = map(psutil.Process, stage.snapshot("echo").pids)
                process.suspend()
                eventually(
                    lambda process=process: process.status() == psutil.STATUS_STOPPED,
                    within=WITHIN,
                    reason="it is held",
                )
                answer = asyncio.create_task(stage.result("echo", event))
                await eventually_async(
                    lambda: stage.snapshot("echo").busy, within=WITHIN, reason="it is sent"
                )
                process.kill()
                assert await answer == event
            assert stage.snapshot("echo").errors == 0

    asyncio.run(run())


def test_what_a_function_started_ends_with_its_environment(tmp_path):
    async def run():
        async with staged(a_plan("start_a_child"), logs=tmp_path) as stage:
            pid_file = tmp_path / "pid"
            assert (await stage.failure("start_a_child", {"pid_file": str(pid_file)}))[0] == (
                Failure.EXIT
            )
            child = int(pid_file.read_text())
            await eventually_async(
                lambda: not is_alive(child), within=WITHIN, reason="the child is gone"
            )

    asyncio.run(run())


def is_alive(pid: int) -> bool:
    # A machine without an init that reaps leaves orphans as zombies.
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_stop_lets_running_invocations_end(client, tmp_path):
    async def run():
        async with staged(a_plan("wait_for_file"), logs=tmp_path, client=client) as stage:
            running = await a_running(stage, tmp_path, "a")
            stop = asyncio.create_task(stage.functions.stop(20 * SECOND))
            await asyncio.sleep(0)
            assert (await stage.failure("wait_for_file"))[0] == Failure.STOPPING
            assert is_alive(running.pid)
            running.release()
            assert isinstance(await running.task, Responded)
            await stop
            assert not psutil.pid_exists(running.pid)
            assert stage.snapshot("wait_for_file").environments == 0

    asyncio.run(run())


def test_a_stop_ends_what_does_not_end_in_time(client, tmp_path):
    async def run():
        plan = a_plan("wait_for_file", concurrency=1)
        async with staged(plan, logs=tmp_path, client=client) as stage:
            running = await a_running(stage, tmp_path, "a")
            queued = Waiting(stage, tmp_path, "b").begin()
            await asyncio.sleep(0)
            await stage.functions.stop(timedelta(milliseconds=100))
            assert told(await queued.task)[0] == Failure.STOPPING
            assert told(await running.task)[0] == Failure.STOPPING
            assert not psutil.pid_exists(running.pid)

    asyncio.run(run())


def test_a_stop_lets_a_process_at_work_give_back_what_it_runs(tmp_path):
    async def run():
        async with staged(a_plan("run_until_sigterm"), logs=tmp_path) as stage:
            event = {"running": str(tmp_path / "runs")}
            task = asyncio.create_task(stage.invoke("run_until_sigterm", event))
            await eventually_async(
                (tmp_path / "runs").exists, within=WITHIN, reason="the invocation runs"
            )
            await stage.functions.stop(timedelta(milliseconds=10))
            answer = await task
            assert isinstance(answer, Responded), answer
            assert answer.body == b'"given back"'

    asyncio.run(run())


def test_a_stop_does_not_wait_for_an_idle_process_that_ignores_it(tmp_path):
    async def run():
        async with staged(a_plan("ignore_sigterm"), logs=tmp_path) as stage:
            await stage.result("ignore_sigterm")
            [pid] = stage.snapshot("ignore_sigterm").pids
            await asyncio.wait_for(stage.functions.stop(600 * SECOND), WITHIN)
            assert not psutil.pid_exists(pid)

    asyncio.run(run())


def test_a_stop_right_after_a_start_leaves_nothing(tmp_path):
    async def run():
        async with staged(a_plan("echo"), logs=tmp_path) as stage:
            start = asyncio.create_task(stage.functions.start({"echo": 3}))
            await asyncio.sleep(0)
            await stage.functions.stop(20 * SECOND)
            await start
            assert stage.snapshot("echo").environments == 0

    asyncio.run(run())


def test_nothing_is_done_while_nothing_is_asked(tmp_path):
    async def run():
        plans = [a_plan("echo", name=f"echo{number}") for number in range(6)]
        async with staged(*plans, logs=tmp_path) as stage:
            await stage.functions.start({plan.name: 1 for plan in plans})
            assert await least_work_in_a_second(of=10) < IDLE

    asyncio.run(run())


async def least_work_in_a_second(of):
    """Return the CPU time of the loop's thread in the quietest of some seconds.

    Who polls does so in each of them; a collection of all garbage, or the last timers of the
    starts, do not come again and again.
    """
    seconds = []
    for _ in range(of):
        before = time.thread_time()
        await asyncio.sleep(1)
        seconds.append(time.thread_time() - before)
        if seconds[-1] < IDLE:
            break
    return min(seconds)


def test_an_order_is_for_the_next_process_of_its_function_alone(client, tmp_path):
    async def run():
        (tmp_path / "describe").write_text("TASKMILL_CRASH_AT=worker after claim:1\n")
        async with staged(a_plan("describe"), logs=tmp_path, client=client, orders=tmp_path) as s:
            first = await s.result("describe")
            os.kill(first["pid"], signal.SIGKILL)
            await eventually_async(
                lambda: not s.snapshot("describe").pids, within=WITHIN, reason="it is gone"
            )
            second = await s.result("describe")
        told = [one["environment"].get("TASKMILL_CRASH_AT") for one in (first, second)]
        assert told == ["worker after claim:1", None]

    asyncio.run(run())
