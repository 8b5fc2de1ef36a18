"""The whole queue in memory: every use case over in-memory stores, with a clock of its own.

Nothing happens by itself. Each step is one invocation of one function, so that tests may put
anything between two of them; a seed determines everything random.
"""

import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import count
from typing import Any, Final

import msgspec

from taskmill.core import topics
from taskmill.core.lifetimes import LEASE
from taskmill.core.log import LogRecord, Position
from taskmill.core.ports import Pause
from taskmill.core.task import Envelope, TaskId, TaskType
from taskmill.core.time import FAR, LONGEST_TIMEOUT, in_ms
from taskmill.core.topics import Reader
from taskmill.core.view import Finding
from taskmill.dispatch.due import DuePublisher
from taskmill.dispatch.forget_expired import ExpiredRecords
from taskmill.dispatch.route import Dispatch
from taskmill.dispatch.work import Execution
from taskmill.execution.context import RunContext
from taskmill.lanes.caps import USUAL_CAPS, Caps
from taskmill.lanes.repeat_pauses import repeat_pauses
from taskmill.lanes.watch import LaneWatch
from taskmill.ledger.far import FarFuture
from taskmill.ledger.find import TaskFinder
from taskmill.ledger.record import Recorder
from taskmill.ledger.refill import ShelfRefill
from taskmill.orders.cancel import Cancellation, Canceller
from taskmill.orders.change import Change, Changer, WantedChange
from taskmill.orders.expire import Expiration
from taskmill.orders.redrive import Redrive, Redriver, RedriveRequest
from taskmill.recovery.rebuild import Rebuild
from taskmill.recovery.rebuild_lanes import LaneRebuild
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.memory.process import MemoryCounters
from taskmill.stores.memory.stores import Dress, MemoryStores, as_it_is
from taskmill.submission.relay import Relay
from taskmill.submission.submission import Receipt
from taskmill.submission.submit import Submitter
from taskmill.testing.clock import MovableClock
from taskmill.testing.executor import PatientExecutor
from taskmill.worker import Worker

INVOCATION: Final = timedelta(minutes=15)
MOST_ROUNDS: Final = 10_000
"""More rounds without any time passing mean an endless loop."""


class System:
    def __init__(
        self,
        workers: Mapping[str, Worker[Any]],
        *,
        clock: MovableClock | None = None,
        seed: int = 0,
        dress: Dress = as_it_is,
        caps: Caps = USUAL_CAPS,
    ) -> None:
        self.clock = clock or MovableClock()
        self.chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
        self.stores = MemoryStores(
            self.clock,
            pause=self.clock.move,
            catalogue=_catalogue_of(workers),
            counters=MemoryCounters(set(workers)),
            dress=dress,
            caps=caps,
        )
        self.stores.hot.lanes.attend()
        self._processes = count(1)
        self._workers = {TaskType(name): worker for name, worker in workers.items()}
        # Nobody writes to the inbox: tasks come by `submit`.
        self.readers = [one for one in topics.readers(self._workers) if one != topics.INBOX_READER]

    def submit(self, envelopes: Sequence[Envelope]) -> list[Receipt]:
        """Do what the gateway does with well-formed requests."""
        return Submitter(self.stores).submit(envelopes)

    def find(self, task_id: TaskId) -> Finding:
        return TaskFinder(self.stores).find(task_id)

    def cancel(self, task_id: TaskId) -> Cancellation:
        return Canceller(self.stores, self.find).cancel(task_id)

    def change(self, task_id: TaskId, request: WantedChange) -> Change:
        return Changer(self.stores, self.find).change(task_id, request)

    def redrive(self, task_id: TaskId) -> Redrive:
        (answer,) = Redriver(self.stores, self.find).redrive([RedriveRequest(task_id)])
        return answer

    def step(self, reader: Reader, *, most: int | None = None) -> bool:
        """Invoke a function with its waiting records, and return whether its position moved."""
        log = self.stores.log
        begin = log.position(reader)
        records = log.records(reader.topic, since=begin)[:most]
        if not records:
            return False
        failed = self.invoke(reader, records)
        after = records[-1].position.offset + 1
        reached = min((place.offset for place in failed), default=after)
        log.commit(reader, max(reached, log.position(reader)))
        return reached > begin

    def tick(self) -> int:
        """Run the scheduler's jobs once; return how much was published."""
        repeat_pauses(self.stores)
        published = LaneWatch(self.stores).run()
        published += DuePublisher(self.stores).publish() + Relay(self.stores).run()
        published += FarFuture(self.stores).bring_near() + Expiration(self.stores).run()
        published += ShelfRefill(self.stores).run()
        ExpiredRecords(self.stores).forget()
        return published

    def rebuild(self, *, pause: Pause | None = None) -> int:
        """Rebuild and open a hot state that lost its data, as the scheduler does.

        Return how many records it restored.
        """
        pause = pause or self.write_meanwhile
        restored = Rebuild(self.stores, nonce=self.new_process(), grace=LEASE, pause=pause).run()
        LaneRebuild(self.stores, nonce=self.new_process(), grace=LEASE, pause=pause).run()
        return restored

    def run(self) -> None:
        """Let everything happen that can happen without time passing."""
        for _ in range(MOST_ROUNDS):
            moved = [self.step(reader) for reader in self.readers]
            if not (self.tick() or any(moved)):
                return
        raise RuntimeError(
            f"tasks are redelivered forever: {MOST_ROUNDS} rounds without time passing"
        )

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
        """Return when the next entry is due."""
        rows = self.stores.rows
        owed = [at for at, _ in self.stores.hot.due.values()]
        far = [rows.rows[one].due_at_ms or 0 for one in rows.far_tasks]
        near = [at - in_ms(FAR) + 1 for at in far]
        over = [at + 1 for at in rows.expiries.values() if at >= self.clock()]
        lanes = self.stores.hot.lanes.next_look_ms(self.clock())
        return min([*owed, *near, *over, *lanes], default=None)

    def invoke(self, reader: Reader, records: Sequence[LogRecord]) -> set[Position]:
        """Do what the function of this reader does; return the positions to retry."""
        task_type = topics.type_of(reader.topic)
        if task_type is not None:
            return self._work(self._workers[task_type], records)
        if reader == topics.DISPATCHER:
            run_context = self._run_context(100, PatientExecutor(self.clock))
            return Dispatch(self.stores).route(records, run_context)
        Recorder(self.stores).record(records)
        return set()

    def write_meanwhile(self, span: timedelta) -> None:
        """Let time pass in which only the recorders run."""
        self.clock.move(span)
        for reader in topics.RECORDERS:
            self.step(reader)

    def new_process(self) -> str:
        """Name a new process: nothing is left of the previous one, which may have died."""
        return f"process {next(self._processes)}"

    def _work(self, worker: Worker[Any], records: Sequence[LogRecord]) -> set[Position]:
        executor = PatientExecutor(self.clock)
        perform = executor.in_time(worker.performing(lambda: self.stores.blobs))
        return Execution(self.stores).run(
            records, perform, self._run_context(worker.concurrency, executor)
        )

    def _run_context(self, concurrency: int, executor: PatientExecutor) -> RunContext:
        end = self.clock.now + INVOCATION
        return RunContext(
            lanes=self.stores.lanes,
            leases=self.stores.leases,
            bus=self.stores.bus,
            counters=self.stores.counters,
            executor=executor,
            clock=self.clock,
            chance=self.chance.random,
            process=self.new_process(),
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
            "longest_timeout_seconds": LONGEST_TIMEOUT.total_seconds(),
            "partitions": 1,
        }
        for name, worker in workers.items()
    ]
    return AssembledCatalogue(msgspec.json.encode(entries))
