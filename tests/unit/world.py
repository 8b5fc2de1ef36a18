"""An in-memory world: a movable clock, stores that can be unavailable, and an executor."""

from copy import copy
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from types import SimpleNamespace

from taskmill.core import codec, topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.lifetimes import HOLD, LEASE
from taskmill.core.task import unkeyed_id
from taskmill.dispatch.due import DuePublisher
from taskmill.dispatch.route import Dispatch
from taskmill.execution.context import RunContext
from taskmill.execution.execute import execute
from taskmill.execution.outcome import Succeeded
from taskmill.execution.ports import Executor
from taskmill.lanes.lane import Alone, Take, member_of
from taskmill.lanes.watch import LaneWatch
from taskmill.ledger.find import TaskFinder
from taskmill.ledger.record import Recorder
from taskmill.stores.memory.process import MemoryCounters
from taskmill.stores.memory.stores import MemoryStores, as_it_is
from taskmill.submission.ports import Catalogue
from taskmill.submission.relay import Relay
from taskmill.submission.submit import Submitter
from taskmill.testing.clock import MovableClock
from taskmill.testing.executor import PatientExecutor
from tests.builders import a_claim, a_clock, a_request


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
        return SimpleNamespace(name=name, partitions=1)

    def entries(self):
        return [self.entry("echo")]


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
        self._numbers = count(1)

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

    def dispatch(self, **others):
        routing = Dispatch(self.stores(**others))
        return routing.route(self.log.records(topics.PENDING), self.run_context())

    def admitted(self, *keys, **changes):
        """Submit and dispatch tasks; return them as they wait for their worker."""
        requests = [self.request(key, id=self.new_id(), **changes) for key in keys or [None]]
        receipts = self.submit(*requests)
        self.dispatch()
        by_id = {task.id: task for task in self.waiting()}
        return [by_id[receipt.task.id] for receipt in receipts]

    def new_id(self):
        """Return an id greater than those before: ids decide the order of one moment."""
        return unkeyed_id(self.clock(), next(self._numbers).to_bytes(10, "big"))

    def waiting(self, task_type="echo"):
        """Return the tasks in the lane of a type, in order, whether they wait or are in flight."""
        held = self.hot.lanes[task_type].tasks.values()
        return [codec.open_envelope(one.raw) for one in sorted(held, key=lambda one: one.order)]

    def take(self, **how):
        """Take tasks of `echo` from their lane, as a worker that then does nothing."""
        return self.ports.lanes.take(Take(type="echo", **{"most": 100, "partition": 0} | how)).tasks

    def run_context(self, **changes):
        end = self.clock() + 60_000
        values = {
            "lanes": self.ports.lanes,
            "leases": self.leases,
            "counters": self.counters,
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

    def work(self, perform=None, **changes):
        """Let one invocation of the worker of `echo` run."""
        execute("echo", perform or self.perform, self.run_context(**changes))

    def watch(self):
        return LaneWatch(self.ports).run()

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
        claim = a_claim(task, source=f"dead {number}", look=taken(world, task).look, alone=True)
        world.leases.claim([claim])
        world.wait(LEASE + timedelta(seconds=1))
        world.watch()


def taken(world, task):
    """Take everything until *task* is among it, and return it as it was taken."""
    tasks = [*world.take()]
    while member_of(task) not in {one.member for one in tasks}:
        tasks += world.take(alone=Alone.FIRST)
    return next(one for one in tasks if one.member == member_of(task))


class DeafExecutor(HangingExecutor):
    """Runs each call, and never reports its end."""

    def start(self, call):
        return WorldCrew.start(self, call)
