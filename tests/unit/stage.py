"""A stage of stores in memory, for the handlers: bound where bootstrap would bind real ones."""

import logging
import random
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from functions.scheduler.jobs import JOBS
from taskmill.bootstrap import (
    blobs,
    chores,
    dispatcher,
    endpoints,
    gateway,
    inbox,
    oversight,
    recorder,
    scheduler,
    worker,
)
from taskmill.bootstrap.chores import (
    CancellingServices,
    ExpiringServices,
    FiringServices,
    NearingServices,
    PutBackServices,
    RebuildingServices,
    ReconcilingServices,
    RedrivingServices,
    RelayServices,
    RetainingServices,
    TakeUpServices,
    TakingServices,
)
from taskmill.bootstrap.gateway import GatewayServices
from taskmill.bootstrap.inbox import InboxServices
from taskmill.bootstrap.scheduler import SchedulerServices
from taskmill.bootstrap.worker import WorkerServices
from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.lifetimes import LEASE, LEDGER_DAYS
from taskmill.core.log import LogRecord
from taskmill.core.task import Millis, TaskId, TaskType
from taskmill.core.view import Reading
from taskmill.execution.ports import Crew
from taskmill.insight.gather import Board
from taskmill.ledger.record import Recorder
from taskmill.platform import process
from taskmill.recovery.readiness import Readiness
from taskmill.recovery.reconcile import Reconciler
from taskmill.stores.api_keys import ApiKeys
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.counted.bus import CountedBus
from taskmill.stores.counted.enqueued import CountedRequests
from taskmill.stores.counted.hot import (
    CountedAdmission,
    CountedControl,
    CountedDelays,
    CountedDueSet,
)
from taskmill.stores.counted.leases import CountedLeases
from taskmill.stores.counted.ledger import CountedLedger
from taskmill.stores.counted.schedules import CountedFiring, CountedSchedules
from taskmill.stores.memory.blobs import MemoryBlobs
from taskmill.stores.memory.counters import MemoryCounters
from taskmill.stores.memory.dispatch import MemoryDelays, MemoryParking
from taskmill.stores.memory.egress import MemoryEndpoints
from taskmill.stores.memory.enqueued import MemoryRequests
from taskmill.stores.memory.execution import MemoryLeases
from taskmill.stores.memory.executor import InlineCrew, InlineErrands
from taskmill.stores.memory.health import MemoryShards
from taskmill.stores.memory.hot import MemoryHot, MemoryRecords
from taskmill.stores.memory.insight import MemoryFigures
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.memory.log import MemoryLog
from taskmill.stores.memory.orders import MemoryControl
from taskmill.stores.memory.outbox import MemoryOutbox
from taskmill.stores.memory.quarantine import MemoryNewerParcels, MemoryQuarantine
from taskmill.stores.memory.recovery import MemoryColdShards, MemoryRepairs
from taskmill.stores.memory.redrive_jobs import MemoryRedriveJobs
from taskmill.stores.memory.retention import MemoryArchive
from taskmill.stores.memory.schedules import MemorySchedules
from taskmill.stores.memory.standings import MemoryStandings
from taskmill.stores.memory.submission import MemoryAdmission, MemoryDueSet
from taskmill.stores.memory.timing import MemoryExpiries, MemoryFarTasks

NOW = 1_794_000_000_000


class Clock:
    """Time moves when somebody pauses."""

    def __init__(self) -> None:
        self.now = NOW
        self.on_pause: Callable[[], None] = lambda: None

    def __call__(self) -> Millis:
        return Millis(self.now)

    def pause(self, span: timedelta) -> None:
        self.now += span // timedelta(milliseconds=1)
        self.on_pause()


class RealClock(Clock):
    """Time moves by itself, for what waits in earnest."""

    def __call__(self) -> Millis:
        return Millis(time.time_ns() // 1_000_000)


class Context:
    """What the platform hands over beside the event."""

    def __init__(self, clock: Callable[[], int], *, lives: timedelta) -> None:
        self._clock = clock
        self._end = clock() + lives // timedelta(milliseconds=1)
        self.aws_request_id = "of a test"

    def get_remaining_time_in_millis(self) -> int:
        return self._end - self._clock()


class Places:
    """Places to wait at: so many, and none returned too often."""

    def __init__(self) -> None:
        self.free = 1

    def place(self) -> "Places":
        return self

    def __enter__(self) -> bool:
        self.free -= 1
        return self.free >= 0

    def __exit__(self, *_: object) -> None:
        self.free += 1


class Records(MemoryRecords):
    """Records that can be away, as a server can."""

    is_away = False

    def read(self, ids: Sequence[TaskId]) -> Sequence[Reading]:
        if self.is_away:
            raise StoreUnavailable("Redis", "it is told to be away")
        return super().read(ids)


@dataclass
class Stage:
    clock: Clock = field(default_factory=Clock)
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    endpoints: Any = field(default_factory=MemoryEndpoints)
    outbox: MemoryOutbox = field(default_factory=MemoryOutbox)
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)
    places: Places = field(default_factory=Places)
    crew: Crew = field(default_factory=InlineCrew)
    api_keys: ApiKeys | None = None
    counters: MemoryCounters = field(default_factory=lambda: MemoryCounters({"echo"}))

    def __post_init__(self) -> None:
        self.requests = MemoryRequests(self.clock, lambda: self.ledger)
        self.hot = MemoryHot(self.clock)
        self.hot.open()
        self.records = Records(self.hot)
        self.log = MemoryLog(self.clock)
        self.readiness = Readiness(MemoryShards(self.hot), self.clock)
        self.due = MemoryDueSet(self.hot)
        self.entropy = random.Random(7)
        self.redrives = MemoryRedriveJobs(lambda: self.ledger, self.clock)
        self.schedules = MemorySchedules(lambda: self.ledger, self.requests, self.clock)
        self.board = Board(
            MemoryFigures(self.ledger, self.clock),
            self.log,
            self.requests,
            self.outbox,
            readers=topics.readers([TaskType("echo"), TaskType("email")]),
            clock=self.clock,
        )

    def context(self, *, lives: timedelta = timedelta(seconds=30)) -> Context:
        return Context(self.clock, lives=lives)

    def catch_up(self) -> None:
        """Let the recorder read the log to its end."""
        Recorder(SimpleNamespace(ledger=self.ledger)).record(
            [*self.log.records(topics.PENDING), *self.log.records(topics.EVENTS)]
        )

    def run(self, handler: Callable[[Any, Any], Any], topic: str) -> Any:
        """Hand everything that stands in *topic* to *handler*, as its mapping does."""
        return handler(
            a_kafka_event(self.log.records(topic)), self.context(lives=timedelta(minutes=1))
        )

    def bind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module, bound in {
            process: self._process(),
            gateway: self._gateway(),
            oversight: self._oversight(),
            worker: {"services": self._worker, "loop_crew": lambda: self.crew},
            dispatcher: {
                "admission": lambda: CountedAdmission(MemoryAdmission(self.hot), self.counters),
                "delays": lambda: CountedDelays(MemoryDelays(self.hot), self.counters),
                "parking": lambda: MemoryParking(self.hot),
            },
            inbox: {"services": self._inbox},
            recorder: {"ledger": lambda: CountedLedger(self.ledger, self.counters)},
            scheduler: {"services": self._scheduler, "errands": InlineErrands},
            chores: self._chores(),
            endpoints: {"endpoints": lambda: self.endpoints},
            blobs: {"at_the_door": lambda: self.blobs, "in_line": lambda: self.blobs},
        }.items():
            for name, service in bound.items():
                monkeypatch.setattr(module, name, service)

    def _process(self) -> dict[str, Any]:
        return {
            "clock": self.clock,
            "entropy": lambda: self.entropy.randbytes(16),
            "pause": self.clock.pause,
            "log": lambda _service: logging.getLogger("taskmill"),
            "counters": lambda: self.counters,
        }

    def _gateway(self) -> dict[str, Any]:
        return {
            "services": self._gateway_services,
            "api_keys": lambda: self.api_keys,
            "ledger_rows": lambda: self.ledger,
            "whole_rows": lambda: self.ledger,
            "outbox": lambda: self.outbox,
            "requests": lambda: self.requests,
            "quarantine": lambda: MemoryQuarantine(lambda: self.ledger),
            "readiness": lambda: self.readiness,
        }

    def _oversight(self) -> dict[str, Any]:
        return {
            "redrive_jobs": lambda: self.redrives,
            "schedules": lambda: CountedSchedules(self.schedules, self.counters),
            "statistics": lambda: self.board,
        }

    def _chores(self) -> dict[str, Any]:
        return {
            "rebuilding": self._rebuilding,
            "reconciler": self._reconciler,
            "redriving": self._redriving,
            "retaining": self._retaining,
            "putting_back": lambda: PutBackServices(
                newer_parcels=MemoryNewerParcels(lambda: self.ledger, self.clock), bus=self.log
            ),
            "nearing": lambda: NearingServices(
                far=MemoryFarTasks(lambda: self.ledger, self.clock),
                delays=CountedDelays(MemoryDelays(self.hot), self.counters),
            ),
            "expiring": lambda: ExpiringServices(
                expiries=MemoryExpiries(lambda: self.ledger, self.clock),
                control=CountedControl(MemoryControl(self.hot), self.counters),
                admission=MemoryAdmission(self.hot),
                bus=CountedBus(self.log, self.counters),
                delays=CountedDelays(MemoryDelays(self.hot), self.counters),
                whole_rows=self.ledger,
            ),
            "firing": lambda: FiringServices(
                schedules=CountedFiring(self.schedules, self.counters)
            ),
            "cancelling": self._cancelling,
            "taking": self._taking,
            "taking_up": lambda: TakeUpServices(
                requests=self.requests, catalogue=AssembledCatalogue()
            ),
            "relaying": lambda: RelayServices(outbox=self.outbox, bus=self.log),
        }

    def _gateway_services(self) -> GatewayServices:
        return GatewayServices(
            admission=MemoryAdmission(self.hot),
            control=CountedControl(MemoryControl(self.hot), self.counters),
            delays=CountedDelays(MemoryDelays(self.hot), self.counters),
            records=self.records,
            bus=CountedBus(self.log, self.counters),
            log_ends=self.log,
            catalogue=AssembledCatalogue(),
            waiters=self.places,
        )

    def _inbox(self) -> InboxServices:
        return InboxServices(
            admission=MemoryAdmission(self.hot),
            records=self.records,
            bus=CountedBus(self.log, self.counters),
            catalogue=AssembledCatalogue(),
        )

    def _rebuilding(self) -> RebuildingServices:
        return RebuildingServices(
            shards=MemoryColdShards(self.hot),
            clock=self.clock,
            counters=self.counters,
            log_ends=self.log,
            outbox=MemoryOutbox(),
            whole_rows=self.ledger,
            grace=LEASE,
        )

    def _cancelling(self) -> CancellingServices:
        return CancellingServices(
            control=CountedControl(MemoryControl(self.hot), self.counters),
            admission=MemoryAdmission(self.hot),
            bus=self.log,
            clock=self.clock,
            delays=CountedDelays(MemoryDelays(self.hot), self.counters),
            ledger_rows=self.ledger,
            whole_rows=self.ledger,
        )

    def _redriving(self) -> RedrivingServices:
        return RedrivingServices(
            redrive_jobs=self.redrives,
            control=CountedControl(MemoryControl(self.hot), self.counters),
            admission=MemoryAdmission(self.hot),
            bus=self.log,
            ledger_rows=self.ledger,
            whole_rows=self.ledger,
        )

    def _taking(self) -> TakingServices:
        return TakingServices(
            requests=CountedRequests(self.requests, self.counters),
            catalogue=AssembledCatalogue(),
            admission=MemoryAdmission(self.hot),
            records=self.records,
            bus=self.log,
            log_ends=self.log,
        )

    def _retaining(self) -> RetainingServices:
        archive = MemoryArchive(lambda: self.ledger, self.outbox, self.requests, self.clock)
        return RetainingServices(
            archive=archive, counters=self.counters, keeps=timedelta(days=LEDGER_DAYS)
        )

    def _reconciler(self) -> Reconciler:
        stores = ReconcilingServices(
            clock=self.clock,
            counters=self.counters,
            ledger=self.ledger,
            standings=MemoryStandings(lambda: self.ledger, self.clock),
            control=CountedControl(MemoryControl(self.hot), self.counters),
            whole_rows=self.ledger,
            repairs=MemoryRepairs(self.hot),
            readers=self.log,
            bus=self.log,
        )
        return Reconciler(stores)

    def _worker(self) -> WorkerServices:
        return WorkerServices(
            leases=CountedLeases(MemoryLeases(self.hot), self.counters),
            bus=CountedBus(self.log, self.counters),
            crew=self.crew,
        )

    def _scheduler(self) -> SchedulerServices:
        return SchedulerServices(
            due=CountedDueSet(self.due, self.counters),
            bus=CountedBus(self.log, self.counters),
            catalogue=AssembledCatalogue(),
            clock=self.clock,
        )


def do_job(name: str) -> int:
    """Do once what the scheduler does again and again under this *name*."""
    (job,) = (job for job in JOBS if job.name == name)
    return job.work()


def a_kafka_event(records: Iterable[LogRecord]) -> dict[str, Any]:
    """Return the event in which a mapping hands over *records*."""
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
    """Return the event of a request, as short as the gateway may get it."""
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
