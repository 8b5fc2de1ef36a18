"""A test stage: in-memory stores that replace the real ones of the handlers."""

import logging
import random
import time
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from functions.scheduler.jobs import JOBS
from taskmill.core import codec, topics
from taskmill.core.log import LogRecord
from taskmill.core.task import Envelope, Millis
from taskmill.core.wake_up import WakeUp
from taskmill.execution.ports import Deaf
from taskmill.platform import process
from taskmill.stores.api_keys import ApiKeys
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.memory.process import InlineBackgroundJobs, MemoryCounters
from taskmill.stores.watch import Watch
from taskmill.submission.ports import Catalogue
from taskmill.testing.clock import MovableClock
from tests.builders import a_clock
from tests.unit.world import World

NOW = 1_794_000_000_000


class RealClock(MovableClock):
    """A clock of real time, for tests in which something really runs or waits."""

    def __call__(self) -> Millis:
        return Millis(time.time_ns() // 1_000_000)


class Context:
    """The context object that the platform passes with an event."""

    def __init__(self, clock: Callable[[], int], *, lives: timedelta) -> None:
        self._clock = clock
        self._end = clock() + lives // timedelta(milliseconds=1)
        self.aws_request_id = "of a test"

    def get_remaining_time_in_millis(self) -> int:
        return self._end - self._clock()


class Places:
    """A limited number of places for waiting requests."""

    def __init__(self) -> None:
        self.free = 1

    def place(self) -> "Places":
        return self

    def __enter__(self) -> bool:
        self.free -= 1
        return self.free >= 0

    def __exit__(self, *_: object) -> None:
        self.free += 1


@dataclass
class Stage(World):
    clock: MovableClock = field(default_factory=lambda: a_clock(NOW))
    catalogue: Catalogue = field(default_factory=AssembledCatalogue)
    counters: MemoryCounters = field(default_factory=lambda: MemoryCounters({"echo"}))
    api_keys: ApiKeys | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ports.waiters = self.places = Places()
        self.ports.api_keys = self.api_keys
        self.entropy = random.Random(7)

    def dress(self, name: str, port: Any) -> Any:
        return Watch(self.counters).over(name, port, opener="stage")

    def context(self, *, lives: timedelta = timedelta(seconds=30)) -> Context:
        return Context(self.clock, lives=lives)

    def run(self, handler: Callable[[Any, Any], Any], topic: str) -> Any:
        """Pass every record of *topic* to *handler*, as its event source mapping does."""
        return handler(
            a_kafka_event(self.log.records(topic)), self.context(lives=timedelta(minutes=1))
        )

    def wake(self, *tasks: Envelope) -> None:
        """Let tasks enter their lanes, and wake the worker of each type once."""
        self.ports.lanes.enter([codec.as_raw(codec.encode(task)) for task in tasks])
        self.log.send_wake_ups([WakeUp(one, 0) for one in dict.fromkeys(t.type for t in tasks)])
        self.log.flush()

    def deliver(self, handler: Callable[[Any, Any], Any], *tasks: Envelope) -> Any:
        """Wake the worker of the tasks' type for them; return its response."""
        self.wake(*tasks)
        return self.run(handler, topics.worker(tasks[0].type))

    def bind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, provided in self._provided().items():
            monkeypatch.setitem(process.PROVIDED, name, provided)

    def _provided(self) -> dict[str, Any]:
        return {
            "stores": lambda _name, **_how: self.ports,
            "executor": lambda: self.executor,
            "loop_executor": lambda: self.executor,
            "background_jobs": InlineBackgroundJobs,
            "rhythm": lambda _watched_at: None,
            "clock": self.clock,
            "entropy": lambda: self.entropy.randbytes(16),
            "pause": self.wait,
            "log": lambda _service: logging.getLogger("taskmill"),
            "counters": lambda: self.counters,
            "bell": lambda _stores, _executor: Deaf(),
        }


_JOBS = {job.name: job for job in JOBS}


def do_job(name: str) -> int:
    """Run the periodic job of this *name* once."""
    return _JOBS[name].run() or 0


def a_kafka_event(records: Iterable[LogRecord]) -> dict[str, Any]:
    """Return the event in which an event source mapping delivers *records*."""
    lines: dict[str, list[dict[str, Any]]] = {}
    for one in records:
        at = one.position
        line = lines.setdefault(f"{at.topic}-{at.partition}", [])
        line.append(
            {
                "topic": at.topic,
                "partition": at.partition,
                "offset": at.offset,
                "timestamp": one.at_ms,
                "timestampType": "CREATE_TIME",
                "value": None if one.value is None else b64encode(one.value).decode(),
                "headers": [{name: list(octets)} for name, octets in one.headers.items()],
            }
        )
    return {"eventSource": "aws:kafka", "bootstrapServers": "", "records": lines}


_requests = count(1)


def an_http_event(  # noqa: PLR0913 - a request has many parts
    method: str,
    path: str,
    *,
    query: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
    body: str | None = None,
    is_base64: bool = False,
) -> dict[str, Any]:
    """Return the event of a request, with only the fields that are always present."""
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": f"{method} {path}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {name.lower(): value for name, value in (headers or {}).items()},
        "requestContext": {
            "http": {"method": method, "path": path},
            "requestId": f"request-{next(_requests)}",
            "stage": "$default",
        },
        "isBase64Encoded": is_base64,
    }
    if query:
        event["queryStringParameters"] = query
    if body is not None:
        event["body"] = body
    return event
