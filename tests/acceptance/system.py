"""A whole system in separate processes, started with the command that people use."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil

from tests.acceptance.client import Client
from tests.waiting import eventually

COMMAND = Path(sys.executable).with_name("taskmill")
DEADLINE = 120
QUICK = {"TASKMILL_BACKOFF_SECONDS": "1"}
"""For systems whose batches fail for a while and are then retried soon."""

_LAST_LINES = 8
_LONGEST_LINE = 300
_USUAL = re.compile(r"\] (START|END|REPORT) ")


def a_folder():
    folder = Path(tempfile.mkdtemp(prefix="taskmill-test-"))
    folder.chmod(0o755)  # pytest's own are closed to the account under which PostgreSQL runs
    return folder


def environment_for(folder, **settings):
    """Return an environment for a system in *folder*, which marks everything it starts."""
    inherited = {name: value for name, value in os.environ.items() if "TASKMILL" not in name}
    return {
        **inherited,
        "PATH": f"{inherited['PATH']}:{folder}",
        "TMPDIR": str(folder),
        "TASKMILL_HOME": str(folder / "home"),
        "TASKMILL_PORT": "0",
        "TASKMILL_DURABLE": "0",
        "TASKMILL_ROOT": os.environ.get("TASKMILL_ROOT", str(Path.cwd())),
        **settings,
    }


def processes_of(folder):
    """Find every process that was started for a system in *folder*."""
    return [process for process in psutil.process_iter() if _belongs(process, str(folder))]


def _belongs(process, mark):
    with suppress(psutil.Error):
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        if mark in " ".join(process.cmdline()):
            return True
        return any(mark in value for value in process.environ().values())
    return False


def run_command(folder, *arguments, stdin="", **settings):
    return subprocess.run(
        [COMMAND, *arguments],
        env=environment_for(folder, **settings),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


class System:
    def __init__(self, folder, *, arguments=("--json",), **settings):
        self.folder = folder
        self._arguments = arguments
        self._settings = settings
        self._process = None
        self.output = folder / "output"
        self.complaints = folder / "complaints"

    def start(self):
        """Start it and wait until it accepts tasks."""
        self.launch()
        eventually(self._is_up_or_ended, within=DEADLINE, reason=f"up in {self.folder}")
        assert self._process.poll() is None, self.complaints.read_text()
        return self

    def launch(self):
        with self.output.open("w") as output, self.complaints.open("w") as complaints:
            self._process = subprocess.Popen(
                [COMMAND, "up", *self._arguments],
                env=environment_for(self.folder, **self._settings),
                stdout=output,
                stderr=complaints,
            )

    @property
    def snapshot(self):
        return json.loads(self.output.read_text().splitlines()[0])

    @property
    def client(self):
        return Client(self.snapshot["url"])

    @property
    def pid(self):
        return self._process.pid

    def stop(self, number=signal.SIGINT):
        """Ask it to end, and return its exit code."""
        if self._process is None:
            return None
        if self._process.poll() is None:
            self._process.send_signal(number)
        return self._process.wait(timeout=DEADLINE)

    def wait(self):
        return self._process.wait(timeout=DEADLINE)

    def _is_up_or_ended(self):
        is_up = " at http://" in (said := self.output.read_text()) or said.endswith("}\n")
        return is_up or self._process.poll() is not None


def log_tails(folder):
    """Return the latest errors of each log, short enough to show all of them."""
    logs = [folder / "complaints", *sorted((folder / "home" / "logs").glob("*.log"))]
    return "\n".join(f"== {log.name}\n{_tail(log)}" for log in logs if log.exists())


def _tail(log):
    lines = [line for line in log.read_text().splitlines() if not _USUAL.search(line)]
    return "\n".join(line[:_LONGEST_LINE] for line in lines[-_LAST_LINES:])


def remove(folder):
    for process in processes_of(folder):  # only what a failed test left behind
        with suppress(psutil.Error):
            process.kill()
    shutil.rmtree(folder)
