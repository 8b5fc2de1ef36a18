"""How an environment's process is started: its command and its clean set of variables."""

import contextlib
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Self

from taskmill_local.child_processes import send, spawn
from taskmill_local.lambdas import client as own_client
from taskmill_local.lambdas.logs import Output
from taskmill_local.plan import FunctionPlan

_ACCOUNT: Final = "000000000000"
_REGION: Final = "us-east-1"
_OF_THE_MACHINE: Final = ("PATH", "HOME", "LANG")


class RuntimeClient(StrEnum):
    """The program that turns the Runtime API into calls of a handler."""

    AWSLAMBDARIC = "awslambdaric"
    OWN = "own"

    @classmethod
    def preferred(cls) -> Self:
        """Return the platform's own client if it can be imported, otherwise ours."""
        # `runtime_client` is its C extension, without which it cannot ask for an event.
        names = ("awslambdaric", "runtime_client")
        return cls("awslambdaric" if all(find_spec(name) for name in names) else "own")


class Child:
    """A process and all its descendants: they end together, as in a sandbox."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._has_ended = False
        self.pid = process.pid

    def terminate(self) -> None:
        send(self._process, signal.SIGTERM)

    def kill(self) -> None:
        if self._has_ended:  # another process group may have its number by now
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def ended(self) -> int:
        code = await self._process.wait()
        self.kill()
        self._has_ended = True
        return code


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How the processes of one function start."""

    plan: FunctionPlan
    client: RuntimeClient
    python_path: Sequence[Path]
    extra_environment: Mapping[str, str]
    init_limit: timedelta
    orders: Path | None = None
    """Where tests put variables for a function's next process: one `NAME=value` per line."""

    @property
    def command(self) -> tuple[str, ...]:
        # -P: the program's folder must not shadow the function's own modules.
        match self.client:
            case RuntimeClient.AWSLAMBDARIC:
                program: tuple[str, ...] = ("-m", "awslambdaric")
            case RuntimeClient.OWN:
                program = (own_client.__file__,)
        return (sys.executable, "-P", *program, self.plan.handler)

    @property
    def function_arn(self) -> str:
        return f"arn:aws:lambda:{_REGION}:{_ACCOUNT}:function:{self.plan.name}"

    async def start(self, api: str, number: int, output: Output) -> Child:
        try:
            process = await spawn(
                *self.command,
                env=self.variables(api=api, number=number),
                cwd=self.plan.code,
                stdout=output.write_end,
                stderr=output.write_end,
            )
        finally:
            output.hand_over()
        return Child(process)

    def _ordered(self) -> dict[str, str]:
        """Take the variables that a test left: they apply to one process only."""
        if self.orders is None:
            return {}
        order = self.orders / self.plan.name
        try:
            lines = order.read_text().splitlines()
            order.unlink()
        except FileNotFoundError:
            return {}
        pairs = (line.partition("=") for line in lines)
        return {name: value for name, _, value in pairs}

    def variables(self, *, api: str, number: int) -> dict[str, str]:
        today = datetime.now(UTC).strftime("%Y/%m/%d")
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return {
            **{name: os.environ[name] for name in _OF_THE_MACHINE if name in os.environ},
            "TZ": "UTC",
            "PYTHONUNBUFFERED": "1",
            "AWS_REGION": _REGION,
            "AWS_DEFAULT_REGION": _REGION,
            **self.extra_environment,
            **self.plan.environment,
            **self._ordered(),
            "PYTHONPATH": os.pathsep.join(map(str, (self.plan.code, *self.python_path))),
            "_HANDLER": self.plan.handler,
            "LAMBDA_TASK_ROOT": str(self.plan.code),
            "AWS_LAMBDA_RUNTIME_API": api,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_python{version}",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_FUNCTION_NAME": self.plan.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(self.plan.memory_mb),
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{self.plan.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": f"{today}/[$LATEST]{number}",
        }
