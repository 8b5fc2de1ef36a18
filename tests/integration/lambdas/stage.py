"""Runs test functions on the emulator, and checks that no process is left."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil

from taskmill_local.lambdas.answer import Answer, Failed, Failure, Responded
from taskmill_local.lambdas.functions import Functions
from taskmill_local.lambdas.launch import RuntimeClient
from taskmill_local.lambdas.logs import Sift, keep
from taskmill_local.lambdas.pool import PoolSnapshot
from taskmill_local.plan import FunctionPlan

FUNCTIONS = Path(__file__).parent / "functions"
LAYER = Path(__file__).parents[3] / "shared"
SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    functions: Functions
    logs: Path

    async def invoke(self, function: str, event: Any = None) -> Answer:
        return await self.functions.invoke(function, json.dumps(event).encode())

    async def result(self, function: str, event: Any = None) -> Any:
        answer = await self.invoke(function, event)
        assert isinstance(answer, Responded), answer
        return json.loads(answer.body)

    async def failure(self, function: str, event: Any = None) -> tuple[Failure, str, str]:
        return told(await self.invoke(function, event))

    def snapshot(self, function: str) -> PoolSnapshot:
        return self.functions.snapshot()[function]

    def log(self, function: str) -> str:
        return (self.logs / f"{function}.log").read_text()


def told(answer: Answer) -> tuple[Failure, str, str]:
    assert isinstance(answer, Failed), answer
    body = json.loads(answer.body)
    return answer.failure, body["errorType"], body["errorMessage"]


def a_plan(function: str, **different: Any) -> FunctionPlan:
    usual = {
        "name": function,
        "handler": f"handlers.{function}",
        "code": FUNCTIONS,
        "timeout": 20 * SECOND,
        "memory_mb": 256,
        "concurrency": 4,
        "environment": {},
    }
    return FunctionPlan(**{**usual, **different})


@asynccontextmanager
async def staged(  # noqa: PLR0913 - the platform's options, all named
    *plans: FunctionPlan,
    logs: Path,
    client: RuntimeClient | None = None,
    cap: int | Mapping[str, int] = 10,
    init_limit: timedelta = 10 * SECOND,
    extra_environment: Mapping[str, str] | None = None,
    sift: Sift = keep,
    orders: Path | None = None,
) -> AsyncIterator[Stage]:
    functions = Functions(
        {plan.name: plan for plan in plans},
        logs=logs,
        python_path=[LAYER],
        extra_environment=extra_environment or {},
        concurrency_cap=cap,
        client=client,
        init_limit=init_limit,
        sift=sift,
        orders=orders,
    )
    before = set(psutil.Process().children())
    try:
        yield Stage(functions=functions, logs=logs)
    finally:
        await functions.stop(10 * SECOND)
        assert set(psutil.Process().children()) <= before
