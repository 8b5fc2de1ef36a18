"""A process whose interpreter lock is never released ends; every other one goes on."""

import subprocess
import sys

import pytest

PATIENCE = 0.3
DEADLINE = 30
SETTING = f"""
import re, threading, time
from datetime import timedelta
from taskmill.platform.watchdog import Watchdog

watchdog = Watchdog(timedelta(seconds={PATIENCE}))

def hold_the_lock():
    re.match("(a+)+$", "a" * 64 + "b")

def until(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
"""

IN_A_THREAD = """
with watchdog.on_duty():
    threading.Thread(target=hold_the_lock, daemon=True).start()
"""


def run(scenario):
    command = [sys.executable, "-c", SETTING + scenario]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)


@pytest.mark.parametrize(
    "scenario",
    [
        "with watchdog.on_duty():\n    hold_the_lock()",
        f"{IN_A_THREAD}    while True:\n        watchdog.reassure()",
    ],
    ids=["its own call", "a call in a thread"],
)
def test_a_process_that_cannot_run_ends_and_its_log_shows_where_it_stands(scenario):
    ended = run(scenario)
    assert ended.returncode == 1
    assert "in hold_the_lock" in ended.stderr


def test_a_process_that_shows_life_goes_on():
    ended = run(
        "with watchdog.on_duty():\n"
        f"    for _ in until({4 * PATIENCE}):\n        watchdog.reassure()\n"
        "print('done')"
    )
    assert (ended.returncode, ended.stdout) == (0, "done\n")


def test_nobody_watches_between_two_invocations():
    ended = run(
        "with watchdog.on_duty():\n    pass\n"
        f"for _ in until({2 * PATIENCE}):\n    pass\n"
        "print('done')"
    )
    assert (ended.returncode, ended.stdout) == (0, "done\n")
