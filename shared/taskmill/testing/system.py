"""The whole queue in memory: every use case over stores of plain values, and no clock but ours.

Nothing happens by itself. Each step is one invocation of one function, so that tests may put
anything between two of them; a seed decides all that is left to chance.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import count
from typing import Any, Final, TypeVar

import msgspec

from taskmill.core import topics
from taskmill.core.lifetimes import LEASE
from taskmill.core.log import LogRecord, Position
from taskmill.core.ports import Bus, Counters, LogEnds, Pause
from taskmill.core.task import Envelope, TaskId, TaskType
from taskmill.core.time import FAR, in_ms
from taskmill.core.topics import Reader
from taskmill.core.view import Finding
from taskmill.dispatch.due import DuePublisher
from taskmill.dispatch.forget_expired import ExpiredRecords
from taskmill.dispatch.ports import Delays, DueSet, Parking
from taskmill.dispatch.route import Dispatch
from taskmill.dispatch.work import Execution
from taskmill.execution.context import Shop
from taskmill.execution.ports import Leases
from taskmill.ledger.far import FarFuture
from taskmill.ledger.find import TaskFinder
from taskmill.ledger.ports import Expiries, FarTasks, Ledger, LedgerRows, WholeRows
from taskmill.ledger.record import Recorder
from taskmill.orders.cancel import Cancellation, Canceller
from taskmill.orders.change import Change, Changer, Wanted
from taskmill.orders.expire import Expiration
from taskmill.orders.ports import Control
from taskmill.orders.redrive import Redrive, Redriver, Wish
from taskmill.recovery.ports import ColdShards
from taskmill.recovery.rebuild import Rebuild
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.memory.blobs import MemoryBlobs
from taskmill.stores.memory.dispatch import MemoryDelays, MemoryParking
from taskmill.stores.memory.execution import MemoryLeases
from taskmill.stores.memory.hot import MemoryAdmission, MemoryDueSet, MemoryHot, MemoryRecords
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.memory.log import MemoryLog
from taskmill.stores.memory.orders import MemoryControl
from taskmill.stores.memory.outbox import MemoryOutbox
from taskmill.stores.memory.process import MemoryCounters
from taskmill.stores.memory.recovery import MemoryColdShards
from taskmill.stores.memory.timing import MemoryExpiries, MemoryFarTasks
from taskmill.submission.ports import Admission, Blobs, Catalogue, Outbox, Records
from taskmill.submission.relay import Relay
from taskmill.submission.submission import Receipt
from taskmill.submission.submit import Submitter
from taskmill.testing.clock import MovableClock
from taskmill.testing.crew import PatientCrew
from taskmill.worker import Worker

INVOCATION: Final = timedelta(minutes=15)
MOST_ROUNDS: Final = 10_000
"""Who needs more of them without any time passing goes round in a circle."""

P = TypeVar("P")
Dress = Callable[[str, Any], Any]
"""Takes the name of a port and the port, and returns what stands in its place."""


def as_it_is(_name: str, port: Any) -> Any:
    return port


class System:
    def __init__(
        self,
        workers: Mapping[str, Worker[Any]],
        *,
        clock: MovableClock | None = None,
        seed: int = 0,
        dress: Dress = as_it_is,
    ) -> None:
        self.clock = clock or MovableClock()
        self.chance = random.Random(seed)  # noqa: S311 - it is to be foreseen, not to be safe
        self.hot = MemoryHot(self.clock)
        self.hot.open()
        self.log = MemoryLog(self.clock)
        self.spill = MemoryOutbox(clock=self.clock)
        self.rows = MemoryLedger(self.spill)
        self.bucket = MemoryBlobs()
        self._processes = count(1)
        self._workers = {TaskType(name): worker for name, worker in workers.items()}
        self.catalogue: Catalogue = _catalogue_of(workers)
        self.counters: Counters = MemoryCounters(set(workers))
        self._bind(dress)
        # Nobody writes into the inbox: a task comes in by `submit`.
        self.readers = [one for one in topics.readers(self._workers) if one != topics.INBOX_READER]

    def _bind(self, dress: Dress) -> None:
        self.bus: Bus = dress("bus", self.log)
        self.admission: Admission = dress("admission", MemoryAdmission(self.hot))
        self.due: DueSet = dress("due", MemoryDueSet(self.hot))
        self.leases: Leases = dress("leases", MemoryLeases(self.hot))
        self.records: Records = dress("records", MemoryRecords(self.hot))
        self.control: Control = dress("control", MemoryControl(self.hot))
        self.delays: Delays = dress("delays", MemoryDelays(self.hot))
        self.far: FarTasks = dress("far", MemoryFarTasks(lambda: self.rows, self.clock))
        self.expiries: Expiries = dress("expiries", MemoryExpiries(lambda: self.rows, self.clock))
        self.parking: Parking = dress("parking", MemoryParking(self.hot))
        self.shards: ColdShards = dress("shards", MemoryColdShards(self.hot))
        self.ledger: Ledger = dress("ledger", self.rows)
        self.outbox: Outbox = dress("outbox", self.spill)
        self.blobs: Blobs = dress("blobs", self.bucket)

    @property
    def ledger_rows(self) -> LedgerRows:
        return self.rows

    @property
    def whole_rows(self) -> WholeRows:
        return self.rows

    @property
    def log_ends(self) -> LogEnds:
        return self.log

    def pause(self, span: timedelta) -> None:
        self.clock.move(span)

    def submit(self, envelopes: Sequence[Envelope]) -> list[Receipt]:
        """Do what the gateway does with requests that it could read."""
        return Submitter(self).submit(envelopes)

    def find(self, task_id: TaskId) -> Finding:
        return TaskFinder(self).find(task_id)

    def cancel(self, task_id: TaskId) -> Cancellation:
        return Canceller(self, self.find).cancel(task_id)

    def change(self, task_id: TaskId, wanted: Wanted) -> Change:
        return Changer(self, self.find).change(task_id, wanted)

    def redrive(self, task_id: TaskId) -> Redrive:
        (answer,) = Redriver(self, self.find).redrive([Wish(task_id)])
        return answer

    def step(self, reader: Reader, *, most: int | None = None) -> bool:
        """Give a function what waits for it, and return whether its position moved on."""
        begin = self.log.position(reader)
        records = self.log.records(reader.topic, since=begin)[:most]
        if not records:
            return False
        failed = self._handle(reader, records)
        after = records[-1].position.offset + 1
        reached = min((place.offset for place in failed), default=after)
        self.log.commit(reader, max(reached, self.log.position(reader)))
        return reached > begin

    def tick(self) -> int:
        """Do once what the scheduler does again and again; return how much was published."""
        published = DuePublisher(self).publish() + Relay(self).run()
        published += FarFuture(self).bring_near() + Expiration(self).run()
        ExpiredRecords(self).forget()
        return published

    def rebuild(self, *, pause: Pause | None = None) -> int:
        """Fill a hot state that forgot and vouch for it, as the scheduler does."""
        word = f"rebuild {next(self._processes)}"
        return Rebuild(self, word=word, grace=LEASE, pause=pause or self._write_meanwhile).run()

    def run(self) -> None:
        """Let everything happen that can happen without time passing."""
        for _ in range(MOST_ROUNDS):
            moved = [self.step(reader) for reader in self.readers]
            if not (self.tick() or any(moved)):
                return
        raise RuntimeError(f"tasks come again for ever: {MOST_ROUNDS} rounds, and no time passes")

    def pass_time(self, span: timedelta) -> None:
        """Let time pass, and everything happen in it at its time."""
        until = self.clock.now + span
        self.run()
        while (due_ms := self.next_due_ms()) is not None and due_ms <= until.timestamp() * 1000:
            self.clock.move_to(due_ms)
            self.run()
        self.clock.move(until - self.clock.now)
        self.run()

    def next_due_ms(self) -> int | None:
        """Return when the next thing is owed."""
        owed = [at for at, _ in self.hot.due.values()]
        far = [self.rows.rows[one].due_at_ms or 0 for one in self.rows.far_tasks]
        near = [at - in_ms(FAR) + 1 for at in far]
        over = [at + 1 for at in self.rows.expiries.values() if at >= self.clock()]
        return min([*owed, *near, *over], default=None)

    def _write_meanwhile(self, span: timedelta) -> None:
        """Let time pass in which only the recorders go on."""
        self.clock.move(span)
        for reader in topics.RECORDERS:
            self.step(reader)

    def _handle(self, reader: Reader, records: Sequence[LogRecord]) -> set[Position]:
        task_type = topics.type_of(reader.topic)
        if task_type is not None:
            return self._work(self._workers[task_type], records)
        if reader.name == "dispatcher":
            return self._dispatch(records)
        Recorder(self).record(records)
        return set()

    def _dispatch(self, records: Sequence[LogRecord]) -> set[Position]:
        return Dispatch(self).route(records, self._shop(100, PatientCrew(self.clock)))

    def _work(self, worker: Worker[Any], records: Sequence[LogRecord]) -> set[Position]:
        crew = PatientCrew(self.clock)
        perform = crew.in_time(worker.performing(lambda: self.blobs))
        return Execution(self).run(records, perform, self._shop(worker.concurrency, crew))

    def _shop(self, concurrency: int, crew: PatientCrew) -> Shop:
        """Start a process: nothing is left of the one before, which may have died."""
        end = self.clock.now + INVOCATION
        return Shop(
            leases=self.leases,
            bus=self.bus,
            crew=crew,
            clock=self.clock,
            chance=self.chance.random,
            process=f"process {next(self._processes)}",
            concurrency=concurrency,
            longest=INVOCATION,
            remaining=lambda: end - self.clock.now,
        )


def _catalogue_of(workers: Mapping[str, Worker[Any]]) -> AssembledCatalogue:
    entries = [
        {
            "name": name,
            "title": name,
            "schema": msgspec.json.schema(worker.payload_type),
            "defaults": worker.defaults,
            "function_timeout_seconds": 900.0,
        }
        for name, worker in workers.items()
    ]
    return AssembledCatalogue(msgspec.json.encode(entries))
