"""One store's server process: started as a bound child, watched and stopped."""

import asyncio
import os
import signal
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import psutil

from taskmill_local import child_processes
from taskmill_local.errors import StoreFailed
from taskmill_local.stores.account import OURSELVES, Account
from taskmill_local.stores.ports import Draw, free_ports, kept_ports, the_fixed_port

_LAST_LINES = 8
_SHOWN_BYTES = 4096
_LARGEST_LOG_BYTES = 2**20
_GLANCE_SECONDS = 0.02
_PORT_TAKEN = b"Address already in use"
_START_LIMIT = timedelta(seconds=120)
_KILL_LIMIT_SECONDS = 10


class Server:
    """A store's process, with its folder ``<home>/stores/<name>`` and its log."""

    def __init__(  # noqa: PLR0913 - its dependencies, all named
        self,
        name: str,
        home: Path,
        stop_signal: int = signal.SIGTERM,
        *,
        port_setting: tuple[str, int | None] = ("", None),
        draw: Draw = free_ports,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Take additional environment variables for the processes of the server."""
        self.name = name
        self.folder = home / "stores" / name.lower()
        self.log = home / "logs" / f"{name.lower()}.log"
        self._pid_file = home / "stores" / f"{name.lower()}.pid"
        self._ports = home / "stores" / f"{name.lower()}.ports"
        self._port_setting = port_setting
        self._draw = draw
        self._environment = environment or {}
        self._stop_signal = stop_signal
        self._process: Process | None = None
        self._is_stopping = False
        self._log_start = 0

    async def ports(self, count: int) -> list[int]:
        """Choose the ports, the clients' first: the configured one or those of the last start."""
        await asyncio.to_thread(self._end_leftover)  # a leftover may hold them
        fixed = the_fixed_port(*self._port_setting)
        self._ports.parent.mkdir(parents=True, exist_ok=True)
        return kept_ports(self._ports, count, draw=self._draw, fixed=fixed)

    async def launch(
        self, *argv: str, environment: Mapping[str, str], account: Account = OURSELVES
    ) -> None:
        await asyncio.to_thread(self._end_leftover)
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self._process = await self._spawn(argv, environment, account)
        with suppress(psutil.NoSuchProcess):  # it ended at once, which `answered` reports
            start = psutil.Process(self._process.pid).create_time()
            self._pid_file.write_text(f"{self._process.pid} {start}")

    async def run(
        self, *argv: str, environment: Mapping[str, str], account: Account = OURSELVES
    ) -> None:
        """Run one of the store's tools to its end."""
        tool = await self._spawn(argv, environment, account)
        try:
            await tool.wait()
        except asyncio.CancelledError:
            await _kill_with_children(tool)
            raise
        if tool.returncode != 0:
            raise self._failed(f"{Path(argv[0]).name} ended with code {tool.returncode}")

    async def answered(
        self, answers: Callable[[], Awaitable[bool]], within: timedelta = _START_LIMIT
    ) -> None:
        """Wait until the server responds; raise at once if it ends instead."""
        deadline = time.monotonic() + within.total_seconds()
        while not await answers():
            if self._process is None or self._process.returncode is not None:
                raise self._failed("it ended while starting")
            if time.monotonic() > deadline:
                raise self._failed(f"it did not answer within {within.total_seconds():.0f} s")
            await asyncio.sleep(_GLANCE_SECONDS)

    def exited(self) -> str | None:
        if self._process is None or self._process.returncode is None or self._is_stopping:
            return None
        return (
            f"{self.name} ended unexpectedly ({_how(self._process.returncode)}). "
            f"Its log is {self.log}; it ends with:\n{self.last_words()}"
        )

    async def stop(self, grace: timedelta) -> None:
        self._is_stopping = True
        if self._process is None:
            return
        child_processes.send(self._process, self._stop_signal)
        try:
            await asyncio.wait_for(self._process.wait(), grace.total_seconds())
        except TimeoutError:
            child_processes.send(self._process, signal.SIGKILL)
            await self._process.wait()
        self._pid_file.unlink(missing_ok=True)

    @property
    def ended_well(self) -> bool:
        return self._process is not None and self._process.returncode == 0

    @property
    def lacked_its_port(self) -> bool:
        """Return whether another program took the port between our check and the server's start."""
        return _PORT_TAKEN in self.output()

    def output(self) -> bytes:
        """Return the part of its log that belongs to this start."""
        if not self.log.exists():
            return b""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read()

    def last_words(self) -> str:
        if not self.log.exists():
            return "(nothing)"
        with self.log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _SHOWN_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in lines[-_LAST_LINES:]) or "(nothing)"

    async def _spawn(
        self, argv: tuple[str, ...], environment: Mapping[str, str], account: Account
    ) -> Process:
        if self.log.exists() and self.log.stat().st_size > _LARGEST_LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("ab") as log:
            return await child_processes.spawn(
                *argv,
                env={**environment, **self._environment},
                cwd=self.folder,
                stdout=log,
                stderr=log,
                user=account.user,
                pass_fds=account.open_folders,
            )

    def _end_leftover(self) -> None:
        """End a leftover of a killed platform: it may need a moment to die, or never have died."""
        with suppress(OSError, ValueError, psutil.NoSuchProcess):
            pid, start = self._pid_file.read_text().split()
            process = psutil.Process(int(pid))
            if process.create_time() == float(start):
                process.kill()
                process.wait(timeout=10)

    def _failed(self, what: str) -> StoreFailed:
        return StoreFailed(
            f"{self.name} did not start: {what}. "
            f"Its log is {self.log}; it ends with:\n{self.last_words()}"
        )


async def _kill_with_children(tool: Process) -> None:
    """Kill a tool and all it has started, and wait: nobody may write to a folder being removed."""
    started = []
    with suppress(psutil.NoSuchProcess):
        started = psutil.Process(tool.pid).children(recursive=True)
    with suppress(ProcessLookupError):
        os.killpg(tool.pid, signal.SIGKILL)  # each child leads a session of its own
    await tool.wait()
    await asyncio.to_thread(psutil.wait_procs, started, timeout=_KILL_LIMIT_SECONDS)


def _how(returncode: int) -> str:
    if returncode < 0:
        return f"signal {signal.Signals(-returncode).name}"
    return f"exit code {returncode}"
