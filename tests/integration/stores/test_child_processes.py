"""Bound child processes end with their parent and are otherwise ordinary."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from asyncio.subprocess import PIPE

import pytest

from taskmill_local import child_processes
from tests.integration.stores.processes import is_alive
from tests.waiting import eventually

PARENT = """
import asyncio, sys
from taskmill_local import child_processes

async def main():
    child = await child_processes.spawn("sleep", "600", with_watcher=sys.argv[1] == "watched")
    print(child.pid, flush=True)
    await child.wait()

asyncio.run(main())
"""
BOTH_WAYS = pytest.mark.parametrize(
    "with_watcher",
    [
        pytest.param(
            False,
            id="by the kernel",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux offers it"),
        ),
        pytest.param(True, id="by a watcher"),
    ],
)


@BOTH_WAYS
def test_a_child_dies_with_a_parent_that_is_killed(with_watcher):
    command = [sys.executable, "-c", PARENT, "watched" if with_watcher else "leashed"]
    with subprocess.Popen(command, stdout=PIPE) as parent:
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
    eventually(lambda: not is_alive(child), within=20, reason="the child outlived its parent")


@BOTH_WAYS
def test_a_childs_output_and_exit_code_are_its_own(with_watcher):
    async def scenario():
        child = await child_processes.spawn(
            "sh", "-c", "echo out; exit 7", stdout=PIPE, with_watcher=with_watcher
        )
        output, _ = await child.communicate()
        return output, child.returncode

    assert asyncio.run(scenario()) == (b"out\n", 7)


@BOTH_WAYS
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_reaches_the_child_itself(with_watcher, number):
    async def scenario():
        child = await child_processes.spawn("sleep", "600", with_watcher=with_watcher)
        child_processes.send(child, number)
        return await child.wait()

    assert asyncio.run(scenario()) == -number


@BOTH_WAYS
def test_ctrl_c_in_the_terminal_passes_the_child_by(with_watcher):
    async def scenario():
        child = await child_processes.spawn("sleep", "600", with_watcher=with_watcher)
        group = os.getpgid(child.pid)
        child.kill()
        await child.wait()
        return group

    assert asyncio.run(scenario()) != os.getpgrp()


def test_children_are_refused_to_threads_for_they_would_die_with_the_thread():
    refusals = []

    def attempt():
        try:
            asyncio.run(child_processes.spawn("sleep", "600"))
        except RuntimeError as refusal:
            refusals.append(str(refusal))

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert refusals == ["Children are started from the main thread only: they die with it."]
