"""An in-memory world: a movable clock, stores that can be unavailable, and an executor."""

from copy import copy
from dataclasses import dataclass, field
from datetime import timedelta

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.lifetimes import HOLD, LEASE
from taskmill.dispatch.due import DuePublisher
from taskmill.dispatch.route import Dispatch
from taskmill.execution.claim import open_arrivals
from taskmill.execution.context import RunContext
from taskmill.execution.execute import execute
from taskmill.execution.outcome import Succeeded
from taskmill.execution.ports import Executor
from taskmill.ledger.find import TaskFinder
from taskmill.ledger.record import Recorder
from taskmill.stores.memory.process import MemoryCounters
from taskmill.stores.memory.stores import MemoryStores, as_it_is
from taskmill.submission.ports import Catalogue
from taskmill.submission.relay import Relay
from taskmill.submission.submit import Submitter
from taskmill.testing.clock import MovableClock
from taskmill.testing.executor import PatientExecutor
from tests.builders import a_claim, a_clock, a_new_id, a_request, a_source


class Away:
    """A store for which every call fails as unreachable."""

    def __getattr__(self, verb):
        def unreachable(*_asked, **_how):
            raise StoreUnavailable("the store", f"no answer to {verb}")

        return unreachable


class Instead:
    """A port with some of its methods replaced."""

    def __init__(self, port, **others):
        self._port = port
        vars(self).update(others)

    def __getattr__(self, verb):
        return getattr(self._port, verb)


class KnowsAll:
    """A catalogue in which every type is deployed."""

    def entry(self, name):
        return name


class WorldCrew(PatientExecutor):
    """Runs calls inline; where threads would wait, the world's clock moves."""

    def __init__(self, world):
        super().__init__(world.clock, pause=world.wait)
        self._world = world


class HangingExecutor(WorldCrew):
    """An executor whose calls never end."""

    def start(self, call):
        return super().start(lambda: None)

    def ended(self, *, within):
        self._ends.clear()
        return super().ended(within=within)


@dataclass
class World:
    clock: MovableClock = field(default_factory=a_clock)
    performed: list = field(default_factory=list)
    on_wait: list = field(default_factory=list)
    catalogue: Catalogue = field(default_factory=KnowsAll)
    counters: MemoryCounters = field(default_factory=MemoryCounters)
    executor: Executor | None = None

    def __post_init__(self):
        self.ports = MemoryStores(
            self.clock,
            pause=self.wait,
            catalogue=self.catalogue,
            counters=self.counters,
            dress=self.dress,
        )
        self.hot, self.log, self.ledger = self.ports.hot, self.ports.log, self.ports.rows
        self.outbox, self.requests = self.ports.spill, self.ports.queue
        self.blobs = self.ports.bucket
        self.admission, self.due = self.ports.admission, self.ports.due
        self.leases, self.records = self.ports.leases, self.ports.records
        self.schedules = self.ports.schedules
        self.executor = self.executor or WorldCrew(self)

    def dress(self, name, port):
        return as_it_is(name, port)

    @property
    def now(self):
        return self.clock()

    def wait(self, span):
        self.clock.move(span)
        for act in self.on_wait:
            act()

    def pass_time(self, **span):
        """Move the clock without anybody waiting."""
        self.clock.move(timedelta(**span))

    def stores(self, **others):
        """Return every port by its name, with *others* in place of some."""
        stores = copy(self.ports)
        vars(stores).update(others)
        return stores

    def request(self, key=None, **changes):
        return a_request(key, **{"created_at_ms": self.clock()} | changes)

    def submit(self, *envelopes, **others):
        return Submitter(self.stores(**others)).submit(envelopes)

    def find(self, task_id, **others):
        return TaskFinder(self.stores(**others)).find(task_id)

    def arrivals(self, topic):
        return open_arrivals(self.log.records(topic), self.log)

    def dispatch(self, **others):
        routing = Dispatch(self.stores(**others))
        return routing.route(self.log.records(topics.PENDING), self.run_context())

    def admitted(self, *keys, **changes):
        """Submit and dispatch tasks; return them as they wait for their worker."""
        requests = [self.request(key, id=a_new_id(), **changes) for key in keys or [None]]
        receipts = self.submit(*requests)
        self.dispatch()
        by_id = {task.id: task for task in self.log.tasks("tasks.worker.echo")}
        return [by_id[receipt.task.id] for receipt in receipts]

    def run_context(self, **changes):
        end = self.clock() + 60_000
        values = {
            "leases": self.leases,
            "bus": self.log,
            "executor": self.executor,
            "clock": self.clock,
            "chance": lambda: 1.0,
            "process": "p1",
            "concurrency": 10,
            "longest": timedelta(seconds=800),
            "remaining": lambda: timedelta(milliseconds=end - self.clock()),
        }
        return RunContext(**values | changes)

    def perform(self, envelope):
        self.performed.append(envelope.id)
        return Succeeded("done")

    def work(self, perform=None, arrivals=None, **changes):
        if arrivals is None:
            arrivals = self.arrivals("tasks.worker.echo")
        return execute(arrivals, perform or self.perform, self.run_context(**changes))

    def publish_due(self):
        return DuePublisher(self.stores()).publish()

    def relay(self):
        return Relay(self.stores()).run()

    def record(self, *names):
        for topic in names or (topics.PENDING, topics.EVENTS):
            self.record_all(self.log.records(topic), ledger=self.ledger)

    def record_all(self, records, **others):
        Recorder(self.stores(**others)).record(records)

    def let_holds_end(self):
        self.wait(HOLD + timedelta(milliseconds=1))

    def status(self, task):
        (view,) = self.records.read([task.id])
        return view.status


def kinds(facts):
    return [type(fact) for fact in facts]


def die_with(world, task, *, times=1):
    """Let processes die, one after another, while they hold *task*."""
    for number in range(times):
        source = a_source(0, world.log.tasks("tasks.worker.echo").index(task))
        claim = a_claim(task, source=source, process=f"dead {number}", alone=True)
        world.leases.claim([claim])
        world.wait(LEASE + timedelta(seconds=1))


class DeafExecutor(HangingExecutor):
    """Runs each call, and never reports its end."""

    def start(self, call):
        return WorldCrew.start(self, call)
