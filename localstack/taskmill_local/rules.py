"""The platform's rules: functions invoked on a schedule."""

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeAlias

from taskmill_local.cron import Cron, Rate, parse
from taskmill_local.lambdas.answer import Answer, Failed, Failure, Responded
from taskmill_local.plan import RulePlan

_LOG = logging.getLogger(__name__)
_ACCOUNT = "000000000000"
_REGION = "us-east-1"
# A laptop sleeps and its clock changes: distant times are rechecked meanwhile.
_LONGEST_NAP = timedelta(seconds=30)
# The platform's retries of a failed asynchronous invocation.
_RETRY_AFTER = (timedelta(minutes=1), timedelta(minutes=2))

Invoke: TypeAlias = Callable[[str, bytes], Awaitable[Answer]]


class Clock(Protocol):
    def now(self) -> datetime: ...
    async def sleep(self, duration: timedelta) -> None: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, duration: timedelta) -> None:
        await asyncio.sleep(duration.total_seconds())


class Rules:
    """Raises a PlatformError for an invalid expression."""

    def __init__(
        self,
        plans: Sequence[RulePlan],
        *,
        invoke: Invoke,
        clock: Clock | None = None,
        retry_after: Sequence[timedelta] = _RETRY_AFTER,
        report: Callable[[str], None] = _LOG.warning,
    ) -> None:
        self._schedules = [(plan, parse(plan.expression)) for plan in plans]
        self._invoke = invoke
        self._clock = clock or SystemClock()
        self._retry_after = retry_after
        self._report = report
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_flight: set[asyncio.Task[None] | None] = set()
        self._is_stopping = False

    async def start(self) -> None:
        for plan, schedule in self._schedules:
            self._spawn(self._keep(plan, schedule))

    async def stop(self, grace: timedelta) -> None:
        """Fire no more; running invocations get their grace, pending retries are dropped."""
        self._is_stopping = True
        tasks = set(self._tasks)
        for task in tasks - self._in_flight:
            task.cancel()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace.total_seconds())
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _keep(self, plan: RulePlan, schedule: Rate | Cron) -> None:
        async for due in self._ticks(schedule):
            # Not awaited: a run may last beyond the next tick.
            self._spawn(self._run(plan, _event(plan, due)))

    async def _ticks(self, schedule: Rate | Cron) -> AsyncIterator[datetime]:
        now = self._clock.now()
        # The cloud waits one period before a rate's first tick; nobody wants that on a laptop.
        due = now if isinstance(schedule, Rate) else schedule.next_after(now)
        while due is not None:
            while (rest := due - self._clock.now()) > timedelta():
                await self._clock.sleep(min(rest, _LONGEST_NAP))
            yield due
            due = _next(schedule, due, now=self._clock.now())

    async def _run(self, plan: RulePlan, event: bytes) -> None:
        """Invoke asynchronously, as the platform does: a failure is retried, then dropped."""
        answer = await self._invoked(plan, event)
        for delay in self._retry_after:
            if self._is_settled(answer):
                return
            await self._clock.sleep(delay)
            answer = await self._invoked(plan, event)
        if not self._is_settled(answer):
            tries = len(self._retry_after) + 1
            self._report(
                f"Rule {plan.name}: function {plan.function} failed {tries} times for one event, "
                "which is dropped. See the function's log; the rule continues with its next event."
            )

    async def _invoked(self, plan: RulePlan, event: bytes) -> Answer:
        task = asyncio.current_task()
        self._in_flight.add(task)
        try:
            return await self._invoke(plan.function, event)
        except Exception as error:  # noqa: BLE001 - a rule outlives a failed invocation
            return Failed(Failure.HANDLER_ERROR, json.dumps({"errorMessage": str(error)}).encode())
        finally:
            self._in_flight.discard(task)

    def _is_settled(self, answer: Answer) -> bool:
        return (
            self._is_stopping or isinstance(answer, Responded) or answer.failure is Failure.STOPPING
        )

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _next(schedule: Rate | Cron, due: datetime, *, now: datetime) -> datetime | None:
    """Return the tick after *due*, skipping those missed during sleep."""
    match schedule:
        case Rate(period=period):
            return due + period * max(1, -((due - now) // period))
        case Cron():
            return schedule.next_after(max(due, now))


def _event(plan: RulePlan, due: datetime) -> bytes:
    if plan.event is not None:
        return plan.event.encode()
    event = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": _ACCOUNT,
        "time": due.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": _REGION,
        "resources": [f"arn:aws:events:{_REGION}:{_ACCOUNT}:rule/{plan.name}"],
        "detail": {},
    }
    return json.dumps(event).encode()
