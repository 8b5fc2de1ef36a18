"""A process that stood still knows for how long."""

import os
import signal
import subprocess
import sys
import time

from tests.faults.stack import ROOT

ASK = """
from tests.faults.pulse import Pulse
with Pulse() as pulse:
    print("it beats", flush=True)
    input()
print(pulse.longest_seconds)
"""


def test_a_pulse_tells_for_how_long_nobody_could_work():
    with subprocess.Popen(
        [sys.executable, "-c", ASK],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "it beats\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(1)  # the very fault
        process.send_signal(signal.SIGCONT)
        told, _ = process.communicate("\n", timeout=30)
    assert float(told) > 0.8
