"""A process shuts down in order after SIGTERM, without its children."""

import os
import signal
import subprocess
import sys
from pathlib import Path

LAYER = Path(__file__).parents[3] / "shared"
LISTENING = """
import os, signal, sys, time
from taskmill.platform.run import Shutdown
shutdown = Shutdown(None)
shutdown.listen()
"""


def a_program(body):
    return subprocess.Popen(
        [sys.executable, "-c", LISTENING + body],
        env=os.environ | {"PYTHONPATH": str(LAYER)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_an_idle_process_ends_well_at_once():
    with a_program("print('idle', flush=True); time.sleep(60)") as program:
        assert program.stdout.readline() == "idle\n"
        program.send_signal(signal.SIGTERM)
        assert program.wait(20) == 0


def test_a_process_at_work_goes_on_and_knows():
    body = """
with shutdown.at_work():
    print('busy', flush=True)
    while not shutdown.is_wanted:
        time.sleep(0.001)
    print('told', flush=True)
"""
    with a_program(body) as program:
        assert program.stdout.readline() == "busy\n"
        program.send_signal(signal.SIGTERM)
        assert program.stdout.read() == "told\n"
        assert program.wait(20) == 0


def test_a_child_dies_of_what_it_is_sent_and_wakes_nobody():
    body = """
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    print('child', flush=True)
    os.write(writing, b'.')
    time.sleep(60)
    os._exit(3)
os.read(reading, 1)
print('parent', flush=True)
os.kill(child, signal.SIGTERM)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), shutdown.is_wanted, flush=True)
os._exit(7)
"""
    with a_program(body) as program:
        assert program.stdout.read().split() == ["child", "parent", "-15", "False"]
        assert program.wait(20) == 7
