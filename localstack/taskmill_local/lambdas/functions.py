"""All functions of a template, each with a pool of environments."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from taskmill_local.lambdas.answer import Answer
from taskmill_local.lambdas.launch import Launch, RuntimeClient
from taskmill_local.lambdas.logs import FunctionLog, Sift, keep
from taskmill_local.lambdas.pool import Pool, PoolSnapshot
from taskmill_local.plan import FunctionPlan

_INIT_LIMIT: Final = timedelta(seconds=10)


class Functions:
    def __init__(  # noqa: PLR0913 - the platform's variables, all named
        self,
        plans: Mapping[str, FunctionPlan],
        *,
        logs: Path,
        python_path: Sequence[Path],
        extra_environment: Mapping[str, str],
        concurrency_cap: int | Mapping[str, int],
        client: RuntimeClient | None = None,
        init_limit: timedelta = _INIT_LIMIT,
        orders: Path | None = None,
        sift: Sift = keep,
    ) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self._pools = {
            name: Pool(
                Launch(
                    plan=plan,
                    client=client or RuntimeClient.preferred(),
                    python_path=tuple(python_path),
                    extra_environment=extra_environment,
                    init_limit=init_limit,
                    orders=orders,
                ),
                FunctionLog(logs / f"{name}.log", sift=sift),
                limit=_limit(plan, concurrency_cap),
            )
            for name, plan in plans.items()
        }

    async def start(self, warm: Mapping[str, int] | None = None) -> None:
        """Start environments in advance, as many for each function as *warm* says."""
        pools = [(self._pools[name], environments) for name, environments in (warm or {}).items()]
        await asyncio.gather(*(pool.warm(environments) for pool, environments in pools))

    async def invoke(self, function: str, event: bytes) -> Answer:
        """Wait for a free environment and its result; errors of the function are never raised."""
        return await self._pools[function].invoke(event)

    def recycle(self, function: str) -> None:
        """Retire the function's processes once they are idle; new ones take over."""
        self._pools[function].recycle()

    def hand_back(self) -> None:
        """Ask every invocation that may last for minutes to end, and to give back what it runs."""
        for pool in self._pools.values():
            pool.hand_back()

    async def stop(self, grace: timedelta) -> None:
        """Refuse new invocations and give running ones *grace*; no process survives."""
        await asyncio.gather(*(pool.stop(grace) for pool in self._pools.values()))

    def snapshot(self) -> Mapping[str, PoolSnapshot]:
        return {name: pool.snapshot() for name, pool in self._pools.items()}


def _limit(plan: FunctionPlan, cap: int | Mapping[str, int]) -> int:
    function_cap = cap if isinstance(cap, int) else cap.get(plan.name, plan.concurrency)
    return min(plan.concurrency, function_cap)
