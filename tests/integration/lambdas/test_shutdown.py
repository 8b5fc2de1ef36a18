"""A process that must end sends its response first."""

import asyncio
import os
import signal

import psutil
import pytest

from taskmill_local.lambdas.answer import Failure, Responded
from taskmill_local.lambdas.functions import Functions
from tests.integration.lambdas.stage import a_plan, staged
from tests.waiting import eventually_async

WITHIN = 20.0


def test_a_process_with_a_stray_call_answers_and_is_never_used_again(client, tmp_path):
    async def run():
        async with staged(a_plan("leave_a_stray"), logs=tmp_path, client=client) as stage:
            answers = [await stage.result("leave_a_stray", number) for number in range(3)]
            assert [answer["event"] for answer in answers] == [0, 1, 2]
            assert len({answer["pid"] for answer in answers}) == 3
            seen = stage.snapshot("leave_a_stray")
            assert (seen.errors, seen.cold_starts) == (0, 3)
            assert "error" not in stage.log("leave_a_stray").lower()

    asyncio.run(run())


def test_a_busy_process_that_is_told_to_end_answers_first(client, tmp_path):
    async def run():
        async with staged(a_plan("heed_sigterm"), logs=tmp_path, client=client) as stage:
            pid = (await stage.result("heed_sigterm", {}))["pid"]
            running = tmp_path / "running"
            event = {"running": str(running)}
            invoked = asyncio.create_task(stage.invoke("heed_sigterm", event))
            await eventually_async(
                lambda: running.exists() and running.read_text() == str(pid),
                within=WITHIN,
                reason="it runs in the process that listens",
            )
            os.kill(pid, signal.SIGTERM)
            assert await invoked == Responded(b'{"pid": %d}' % pid)
            await eventually_async(
                lambda: not psutil.pid_exists(pid), within=WITHIN, reason="the process is gone"
            )

    asyncio.run(run())


@pytest.mark.parametrize(
    "told",
    [lambda functions: functions.recycle("heed_sigterm"), Functions.hand_back],
    ids=["its code has changed", "the platform ends"],
)
def test_a_long_invocation_ends_early_when_it_must(client, tmp_path, told):
    async def run():
        plan = a_plan("heed_sigterm", hands_back=True)
        async with staged(plan, logs=tmp_path, client=client) as stage:
            pid = (await stage.result("heed_sigterm", {}))["pid"]
            running = tmp_path / "running"
            invoked = asyncio.create_task(stage.invoke("heed_sigterm", {"running": str(running)}))
            await eventually_async(running.exists, within=WITHIN, reason="it runs")
            told(stage.functions)
            assert await invoked == Responded(b'{"pid": %d}' % pid)
            assert (await stage.result("heed_sigterm", {}))["pid"] != pid

    asyncio.run(run())


def test_a_process_that_dies_of_the_request_to_end_stops_no_mapping(client, tmp_path):
    """Its batch comes again: only the end of the platform stops a mapping."""

    async def run():
        plan = a_plan("wait_for_file", hands_back=True)
        async with staged(plan, logs=tmp_path, client=client) as stage:
            running = tmp_path / "running"
            event = {"running": str(running), "until": str(tmp_path / "never")}
            invoked = asyncio.create_task(stage.failure("wait_for_file", event))
            await eventually_async(running.exists, within=WITHIN, reason="it runs")
            stage.functions.recycle("wait_for_file")
            failure, *_ = await invoked
            assert failure is Failure.EXIT

    asyncio.run(run())


def test_an_idle_process_that_is_told_to_end_ends(client, tmp_path):
    async def run():
        async with staged(a_plan("heed_sigterm"), logs=tmp_path, client=client) as stage:
            pid = (await stage.result("heed_sigterm", {}))["pid"]
            await eventually_async(
                lambda: stage.snapshot("heed_sigterm").busy == 0,
                within=WITHIN,
                reason="its process asks for the next event",
            )
            os.kill(pid, signal.SIGTERM)
            await eventually_async(
                lambda: not psutil.pid_exists(pid), within=WITHIN, reason="the process is gone"
            )
            assert (await stage.result("heed_sigterm", {}))["pid"] != pid

    asyncio.run(run())
