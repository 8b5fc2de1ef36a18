"""One execution environment: a process that serves one function, one invocation at a time."""

import asyncio
import time
from enum import Enum, auto
from signal import SIGTERM
from subprocess import SubprocessError
from typing import Final, Protocol

from taskmill_local.lambdas import answer as words
from taskmill_local.lambdas.answer import Answer, Failed, Failure, Responded
from taskmill_local.lambdas.invocation import Invocation
from taskmill_local.lambdas.launch import Child, Launch
from taskmill_local.lambdas.logs import FunctionLog, Output, report
from taskmill_local.lambdas.runtime_api import RuntimeApi
from taskmill_local.lambdas.watch import Watch

_SIGTERM_SECONDS: Final = 1.0  # a process without an event has nothing to finish


class State(Enum):
    STARTING = auto()
    IDLE = auto()
    BUSY = auto()
    ANSWERED = auto()  # it is about to ask for the next event
    GONE = auto()


class Host(Protocol):
    """The pool that owns an environment, as the environment sees it."""

    @property
    def is_stopping(self) -> bool: ...

    def became_idle(self, environment: "Environment") -> None: ...

    def answered(self, invocation: Invocation, answer: Answer) -> None: ...

    def undelivered(self, invocation: Invocation) -> None: ...

    def gone(self, environment: "Environment", init_failure: Failed | None) -> None: ...


class Environment:
    def __init__(self, number: int, launch: Launch, log: FunctionLog, host: Host) -> None:
        self.state = State.STARTING
        self.initialised = asyncio.Event()
        self.started = time.perf_counter()
        self._number = number
        self._launch = launch
        self._log = log
        self._host = host
        self._api = RuntimeApi(self)
        self._output = Output(log, number)
        self._watch = Watch(memory_limit=launch.plan.memory_mb * 2**20, breached=self._breached)
        self._child: Child | None = None
        self._invocation: Invocation | None = None
        self._verdict: Failed | None = None
        self._init_milliseconds: float | None = None
        self._is_retiring = False
        self._timer = asyncio.get_running_loop().call_later(
            launch.init_limit.total_seconds(), self._end, words.init_timed_out(launch.init_limit)
        )
        self.life = asyncio.create_task(self._live(), name=f"{launch.plan.name} {number}")

    @property
    def pid(self) -> int | None:
        return None if self._child is None else self._child.pid

    def can_begin(self) -> bool:
        return self.state is State.IDLE and self._api.is_polled()

    def begin(self, invocation: Invocation) -> None:
        self.state, self._invocation = State.BUSY, invocation
        timeout = self._launch.plan.timeout.total_seconds()
        invocation.began = asyncio.get_running_loop().time()
        invocation.deliveries += 1
        self._api.deliver(
            invocation.as_http(
                deadline_ms=int((time.time() + timeout) * 1000),
                function_arn=self._launch.function_arn,
            )
        )
        # After the delivery, but before any of the function's output is read.
        start = f"START RequestId: {invocation.request_id} Version: $LATEST"
        self._log.write(self._number, start.encode())
        self._watch.begin(invocation.began + timeout)

    def retire(self) -> None:
        """End the process as soon as it has no invocation; one that can is asked to end that."""
        self._is_retiring = True
        self.hand_back()
        if self.state is State.BUSY or self._child is None:
            return
        self._child.terminate()
        self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_SIGTERM_SECONDS, self._end, words.stopping())

    def hand_back(self) -> None:
        if self._launch.plan.hands_back:
            self.terminate()

    def terminate(self) -> None:
        """Ask a busy process to end: one that listens first returns what it is running."""
        if self.state is State.BUSY and self._child is not None:
            self._child.terminate()

    def stop(self) -> None:
        """Kill the process now, and its invocation with it."""
        self._end(words.stopping())

    def polled(self) -> None:
        self._watch.end()
        if self._invocation is not None:
            self._end(words.unanswered(self._invocation.request_id))
        if self._verdict is not None:  # the process is already ending
            return
        if self.state is State.STARTING:
            self._timer.cancel()
            self._init_milliseconds = (time.perf_counter() - self.started) * 1000
            self._watch.sample()
            self.initialised.set()
        self.state = State.IDLE
        if self._is_retiring:
            self.retire()
        else:
            self._host.became_idle(self)

    def poll_lost(self) -> None:
        if self.state is State.IDLE:
            self.state = State.ANSWERED
            self._kill()  # a process that disconnects while idle never comes back

    def responded(self, request_id: str, body: bytes | None) -> bool:
        return self._take(request_id, None if body is None else Responded(body))

    def failed(self, request_id: str, body: bytes | None) -> bool:
        error = None if body is None else Failed(Failure.HANDLER_ERROR, body)
        return self._take(request_id, error)

    def init_failed(self, body: bytes) -> None:
        if self.state is State.STARTING:
            self._verdict = Failed(Failure.INIT_ERROR, body)

    def _take(self, request_id: str, answer: Answer | None) -> bool:
        invocation = self._invocation
        if invocation is None or invocation.request_id != request_id or self._verdict is not None:
            return False
        self.state = State.ANSWERED
        self._finish(invocation, answer or words.response_too_large())
        return True

    def _finish(self, invocation: Invocation, answer: Answer) -> None:
        self._invocation = None
        self._host.answered(invocation, answer)
        self._output.settle()
        milliseconds = (asyncio.get_running_loop().time() - invocation.began) * 1000
        self._log.write(
            self._number,
            f"END RequestId: {invocation.request_id}".encode(),
            report(
                request_id=invocation.request_id,
                milliseconds=milliseconds,
                memory=self._watch.peak,
                memory_mb=self._launch.plan.memory_mb,
                init=self._init_milliseconds,
            ),
        )
        self._init_milliseconds = None

    def _breached(self, failure: Failure) -> None:
        request_id = "" if self._invocation is None else self._invocation.request_id
        if failure is Failure.TIMEOUT:
            self._end(words.timed_out(request_id, self._launch.plan.timeout))
        else:
            self._end(words.out_of_memory(request_id))

    def _end(self, verdict: Failed) -> None:
        if self.state is not State.GONE:
            self._verdict = self._verdict or verdict
            self._kill()

    def _kill(self) -> None:
        if self._child is not None:
            self._child.kill()

    async def _live(self) -> None:
        code = 0
        try:
            self._output.open()
            address = await self._api.open()
            self._child = await self._launch.start(address, self._number, self._output)
        except (OSError, SubprocessError) as error:
            self._verdict = words.cannot_start(self._launch.plan.name, error)
        else:
            if self._verdict is not None or self._is_retiring:
                self._kill()
            self._watch.attach(self._child.pid)
            try:
                code = await self._child.ended()
            finally:
                self._kill()
        await self._settle(code)

    async def _settle(self, code: int) -> None:
        self._timer.cancel()
        self._watch.close()
        was_starting, invocation = self.state is State.STARTING, self._invocation
        if invocation is not None:
            await self._lose(invocation, code)
        init_failure = None
        if was_starting and not self._is_retiring:
            init_failure = self._verdict or words.init_exited(code)
            self._log_failure("INIT_REPORT Phase: init\tStatus: error\t", init_failure)
        self._output.close()
        self._api.close()
        self.state = State.GONE
        self.initialised.set()
        self._host.gone(self, init_failure)

    async def _lose(self, invocation: Invocation, code: int) -> None:
        if self._verdict is None and await self._api.was_unread():
            self._invocation = None
            self._host.undelivered(invocation)
            return
        is_obedient = self._host.is_stopping and code == -SIGTERM
        answer = words.stopping() if is_obedient else words.exited(invocation.request_id, code)
        failure = self._verdict or answer
        self._log_failure("", failure)
        self._finish(invocation, failure)

    def _log_failure(self, label: str, failure: Failed) -> None:
        self._output.settle()
        self._log.write(self._number, f"{label}{words.message_of(failure)}".encode())
