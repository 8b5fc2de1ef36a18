"""The environments of one function: started on demand, reused, and limited in number."""

import asyncio
import time
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from signal import SIGKILL
from typing import Final

from taskmill_local.lambdas import answer as words
from taskmill_local.lambdas.answer import REQUEST_LIMIT, Answer, Failed
from taskmill_local.lambdas.environment import Environment, State
from taskmill_local.lambdas.invocation import Invocation
from taskmill_local.lambdas.launch import Launch
from taskmill_local.lambdas.logs import FunctionLog

_GIVING_BACK_SECONDS: Final = 3.0  # a worker lets its tasks run for one more second
_FIRST_BACK_OFF_SECONDS: Final = 0.1
_LAST_BACK_OFF_SECONDS: Final = 5.0
_MOST_DOUBLINGS: Final = 6
_MAX_DELIVERIES: Final = 3
_AT_WORK: Final = frozenset({State.BUSY, State.ANSWERED})
_SOON_IDLE: Final = frozenset({State.STARTING, State.ANSWERED})


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSnapshot:
    environments: int
    busy: int
    queued: int
    invocations: int
    errors: int
    cold_starts: int
    throttles: int
    pids: tuple[int, ...]
    start_error: str | None = None
    """Why the latest process did not start."""


class Pool:
    def __init__(self, launch: Launch, log: FunctionLog, *, limit: int) -> None:
        self._launch = launch
        self._log = log
        self._limit = limit
        self._environments: dict[Environment, None] = {}
        self._idle: list[Environment] = []  # the most recently used one is used next
        self._queue: deque[Invocation] = deque()
        self._numbers = count(1)
        self._init_failures = 0
        self._start_error: str | None = None
        self._last_init_failure = 0.0
        self._retry: asyncio.TimerHandle | None = None
        self.is_stopping = False
        self._invocations = 0
        self._errors = 0
        self._cold_starts = 0
        self._throttles = 0

    async def warm(self, environments: int) -> None:
        """Start environments in advance; return when each is ready or has failed."""
        missing = min(environments, self._limit) - len(self._environments)
        fresh = [self._start() for _ in range(missing)]
        await asyncio.gather(*(environment.initialised.wait() for environment in fresh))

    async def invoke(self, event: bytes) -> Answer:
        if self.is_stopping:
            return words.stopping()
        if len(event) > REQUEST_LIMIT:
            return words.request_too_large(len(event))
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._queue.append(Invocation(event=event, answer=answer))
        self._throttles += self._is_exhausted()
        self._match()
        # A caller cancelled here leaves; what has started goes on without it.
        return await answer

    def _is_exhausted(self) -> bool:
        """Return whether the platform would throttle an invocation."""
        busy = sum(environment.state in _AT_WORK for environment in self._environments)
        return busy >= self._limit

    def recycle(self) -> None:
        """Retire every environment; new ones serve later invocations.

        Some invocations last for minutes: their processes are asked to end them.
        """
        self._idle.clear()
        self._init_failures = 0
        self._start_error = None
        for environment in tuple(self._environments):
            environment.retire()
        self._match()

    def hand_back(self) -> None:
        for environment in tuple(self._environments):
            environment.hand_back()

    async def stop(self, grace: timedelta) -> None:
        self.is_stopping = True
        if self._retry is not None:
            self._retry.cancel()
        while self._queue:
            self.answered(self._queue.popleft(), words.stopping())
        for environment in tuple(self._environments):
            environment.retire()
        lives = [environment.life for environment in self._environments]
        if lives:
            _, late = await asyncio.wait(lives, timeout=grace.total_seconds())
            await self._terminate(late)
        for environment in tuple(self._environments):
            environment.stop()
        await asyncio.gather(*lives)
        self._log.flush()

    async def _terminate(self, late: Collection[asyncio.Task[None]]) -> None:
        """Let workers return what they are running, so that it does not count as a loss."""
        for environment in tuple(self._environments):
            environment.terminate()
        if late:
            await asyncio.wait(late, timeout=_GIVING_BACK_SECONDS)

    def snapshot(self) -> PoolSnapshot:
        return PoolSnapshot(
            environments=len(self._environments),
            busy=sum(environment.state in _AT_WORK for environment in self._environments),
            queued=len(self._queue),
            invocations=self._invocations,
            errors=self._errors,
            cold_starts=self._cold_starts,
            throttles=self._throttles,
            pids=tuple(e.pid for e in self._environments if e.pid is not None),
            start_error=self._start_error,
        )

    def became_idle(self, environment: Environment) -> None:
        self._init_failures = 0
        self._start_error = None
        self._idle.append(environment)
        self._match()

    def answered(self, invocation: Invocation, answer: Answer) -> None:
        self._invocations += 1
        self._errors += isinstance(answer, Failed)
        if not invocation.answer.done():
            invocation.answer.set_result(answer)

    def undelivered(self, invocation: Invocation) -> None:
        if self.is_stopping:
            self.answered(invocation, words.stopping())
        elif invocation.deliveries < _MAX_DELIVERIES:
            self._queue.appendleft(invocation)
        else:
            self.answered(invocation, words.exited(invocation.request_id, -SIGKILL))

    def gone(self, environment: Environment, init_failure: Failed | None) -> None:
        del self._environments[environment]
        if environment in self._idle:
            self._idle.remove(environment)
        if init_failure is not None:
            self._start_error = words.message_of(init_failure)
            self._back_off(environment)
            self._refuse(init_failure)
        self._match()

    def _back_off(self, environment: Environment) -> None:
        if environment.started < self._last_init_failure:
            return  # started before the failure was known: the same error, already counted
        delay = min(_FIRST_BACK_OFF_SECONDS * 2**self._init_failures, _LAST_BACK_OFF_SECONDS)
        self._init_failures = min(self._init_failures + 1, _MOST_DOUBLINGS)
        self._last_init_failure = time.perf_counter()
        self._retry = asyncio.get_running_loop().call_later(delay, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        self._match()

    def _refuse(self, init_failure: Failed) -> None:
        count = 1 if self._environments else len(self._queue)
        for _ in range(min(count, len(self._queue))):
            self.answered(self._queue.popleft(), init_failure)

    def _match(self) -> None:
        while self._queue and self._idle:
            if self._queue[0].answer.cancelled():
                self._queue.popleft()
            elif (environment := self._idle.pop()).can_begin():
                environment.begin(self._queue.popleft())
        if self._queue and not self.is_stopping and self._retry is None:
            for _ in range(self._missing()):
                self._start()

    def _missing(self) -> int:
        soon = sum(environment.state in _SOON_IDLE for environment in self._environments)
        # After a failed init, a single environment tries again on behalf of all.
        need = min(len(self._queue), 1 if self._init_failures else len(self._queue)) - soon
        return max(0, min(need, self._limit - len(self._environments)))

    def _start(self) -> Environment:
        environment = Environment(next(self._numbers), self._launch, self._log, self)
        self._environments[environment] = None
        self._cold_starts += 1
        return environment
