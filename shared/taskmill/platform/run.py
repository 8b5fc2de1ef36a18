"""What an invocation runs tasks with: an executor, background jobs and a graceful shutdown."""
# ruff: noqa: PLC0415 - each function imports only the executor it uses; shutdown is rare

import json
import os
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from taskmill.execution.context import RunContext
from taskmill.execution.ports import BackgroundJobs, Bell, Executor
from taskmill.platform import process
from taskmill.platform.watchdog import Watchdog
from taskmill.stores.stores import Stores

if TYPE_CHECKING:
    from taskmill.core.task import TaskType
    from taskmill.lanes.watch import Rhythm


class Shutdown:
    """Ends the process after SIGTERM, as soon as no invocation is running."""

    def __init__(self, runtime_api: str | None) -> None:
        """Take the address of the Runtime API; None means there is no platform to answer."""
        self.is_wanted = False
        self._runtime_api = runtime_api
        self._is_at_work = False

    def listen(self) -> None:
        """Listen for SIGTERM, even while the platform's client waits in C for the next event."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, lambda *_: None)
        os.register_at_fork(after_in_child=_be_deaf)
        Thread(target=self._wait, args=(reading,), daemon=True).start()

    def _wait(self, reading: int) -> None:
        while signal.SIGTERM not in os.read(reading, 100):
            pass
        self.is_wanted = True
        if not self._is_at_work:
            self._end()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        self._is_at_work = True
        try:
            yield
        finally:
            self._is_at_work = False

    def leave(self, request_id: str, answer: Any) -> None:
        """Send the response of the invocation, and exit before the process can be frozen."""
        if self._runtime_api is None:
            return
        from http.client import HTTPConnection

        api = HTTPConnection(self._runtime_api)
        api.request(
            "POST",
            f"/2018-06-01/runtime/invocation/{request_id}/response",
            json.dumps(answer).encode(),
            {"Content-Type": "application/json"},
        )
        api.getresponse().read()
        self._end()

    def _end(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)


def _be_deaf() -> None:
    """Restore default signal handling in a child, whose signals must not wake its parent."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@process.replaceable
@cache
def executor() -> Executor:
    from taskmill.platform.executor import ThreadExecutor

    return ThreadExecutor()


@process.replaceable
@cache
def loop_executor() -> Executor:
    from taskmill.platform.loop_executor import LoopExecutor

    return LoopExecutor()


@process.replaceable
@cache
def background_jobs() -> BackgroundJobs:
    from taskmill.platform.background import ThreadBackgroundJobs

    return ThreadBackgroundJobs()


@process.replaceable
@cache
def shutdown() -> Shutdown:
    return Shutdown(os.environ.get("AWS_LAMBDA_RUNTIME_API"))


@process.replaceable
def chance() -> float:
    return random.random()  # noqa: S311 - it only spreads retries


def run_context(  # noqa: PLR0913 - all arguments are named
    stores: Stores,
    context: Any,
    *,
    concurrency: int,
    longest: timedelta,
    executor: Executor,
    cuts_off_cancelled: bool = False,
) -> RunContext:
    """Return the run context of an invocation, limited by its *context*'s remaining time."""
    leaving = shutdown()
    return RunContext(
        lanes=stores.lanes,
        leases=stores.leases,
        bus=stores.bus,
        counters=stores.counters,
        executor=executor,
        clock=stores.clock,
        chance=chance,
        process=process.nonce(),
        concurrency=concurrency,
        longest=longest,
        remaining=lambda: timedelta(milliseconds=context.get_remaining_time_in_millis()),
        pace=stores.pace,
        cuts_off_cancelled=cuts_off_cancelled,
        is_leaving=lambda: leaving.is_wanted,
        bell=bell(stores, executor),
        beat=_beat,
        watch=lambda task_type: watch_lane(stores, task_type),
    )


def _beat() -> None:
    """Show that the process works, and report counters: an invocation may take minutes."""
    watchdog().reassure()
    process.counters().flush()


@process.replaceable
@cache
def watchdog() -> Watchdog:
    return Watchdog()


@process.replaceable
def bell(stores: Stores, executor: Executor) -> Bell:
    """Return the bell of this process: it has one executor, and its thread goes on."""
    if executor not in _bells:
        from taskmill.platform.bell import RingBell

        _bells[executor] = RingBell(stores.rings, executor)
    return _bells[executor]


_bells: dict[Executor, Bell] = {}


def watch_lane(stores: Stores, task_type: "TaskType") -> None:
    from taskmill.lanes.watch import LaneWatch

    # A worker watches only when nobody has watched for a while.
    LaneWatch(stores, rhythm(timedelta()), only=task_type).run()


@process.replaceable
@cache
def rhythm(watched_at: timedelta | None) -> "Rhythm | None":
    """Return the rhythm in which this process watches, by its own clock; None to trust it."""
    from taskmill.lanes.watch import Rhythm

    return Rhythm(_monotonic, watched_at=watched_at)


def _monotonic() -> timedelta:
    return timedelta(seconds=monotonic())
