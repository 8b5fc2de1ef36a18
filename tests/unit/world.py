"""A world in memory: a clock that tests move, stores that can be away, and workers' hands."""

from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.lifetimes import HOLD, LEASE
from taskmill.core.task import Millis
from taskmill.core.time import in_ms
from taskmill.dispatch.due import DuePublisher
from taskmill.dispatch.route import Dispatch
from taskmill.execution.claim import open_arrivals
from taskmill.execution.context import Shop
from taskmill.execution.execute import execute
from taskmill.execution.outcome import Succeeded
from taskmill.ledger.find import TaskFinder
from taskmill.ledger.record import Recorder
from taskmill.stores.memory.blobs import MemoryBlobs
from taskmill.stores.memory.dispatch import MemoryDelays, MemoryParking
from taskmill.stores.memory.execution import MemoryLeases
from taskmill.stores.memory.hot import MemoryAdmission, MemoryDueSet, MemoryHot, MemoryRecords
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.memory.log import MemoryLog
from taskmill.stores.memory.orders import MemoryControl
from taskmill.stores.memory.outbox import MemoryOutbox
from taskmill.stores.memory.process import InlineCrew, MemoryCounters
from taskmill.stores.memory.recovery import MemoryColdShards
from taskmill.stores.memory.timing import MemoryExpiries
from taskmill.submission.relay import Relay
from taskmill.submission.submit import Submitter
from tests.builders import NOW, a_claim, a_new_id, a_request, a_source


class Away:
    """A store that cannot be reached, whatever it is asked."""

    def __getattr__(self, verb):
        def unreachable(*_asked, **_how):
            raise StoreUnavailable("the store", f"no answer to {verb}")

        return unreachable


class KnowsAll:
    """A catalogue in which every type is deployed."""

    def entry(self, name):
        return name


class PatientCrew(InlineCrew):
    """Performs inline; where threads would wait, the world's time passes."""

    def __init__(self, world):
        super().__init__()
        self._world = world

    def ended(self, *, within):
        ends = super().ended(within=within)
        if not ends:
            self._world.wait(within)
        return ends


class HangingCrew(PatientCrew):
    """Never comes to an end with anything."""

    def start(self, call):
        return super().start(lambda: None)

    def ended(self, *, within):
        self._ends.clear()
        return super().ended(within=within)


@dataclass
class World:
    now: int = NOW
    performed: list = field(default_factory=list)
    on_wait: list = field(default_factory=list)

    def __post_init__(self):
        self.hot = MemoryHot(self.clock)
        self.hot.open()
        self.admission = MemoryAdmission(self.hot)
        self.due = MemoryDueSet(self.hot)
        self.leases = MemoryLeases(self.hot)
        self.records = MemoryRecords(self.hot)
        self.log = MemoryLog(self.clock)
        self.outbox = MemoryOutbox(clock=self.clock)
        self.ledger = MemoryLedger(self.outbox)
        self.blobs = MemoryBlobs()
        self.crew = PatientCrew(self)

    def clock(self):
        return Millis(self.now)

    def wait(self, span):
        self.now += in_ms(span)
        for act in self.on_wait:
            act()

    def stores(self, **others):
        """Return every port by its name; *others* stand in the place of some."""
        bound = {
            "admission": self.admission,
            "blobs": self.blobs,
            "bus": self.log,
            "catalogue": KnowsAll(),
            "clock": self.clock,
            "control": MemoryControl(self.hot),
            "counters": MemoryCounters(),
            "delays": MemoryDelays(self.hot),
            "due": self.due,
            "expiries": MemoryExpiries(lambda: self.ledger, self.clock),
            "ledger": self.ledger,
            "ledger_rows": self.ledger,
            "log_ends": self.log,
            "outbox": self.outbox,
            "parking": MemoryParking(self.hot),
            "pause": self.wait,
            "records": self.records,
            "shards": MemoryColdShards(self.hot),
            "whole_rows": self.ledger,
        }
        return SimpleNamespace(**bound | others)

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
        return routing.route(self.log.records(topics.PENDING), self.shop())

    def admitted(self, *keys, **changes):
        """Return tasks that wait in line for their worker."""
        requests = [self.request(key, id=a_new_id(), **changes) for key in keys or [None]]
        receipts = self.submit(*requests)
        self.dispatch()
        by_id = {task.id: task for task in self.log.tasks("tasks.worker.echo")}
        return [by_id[receipt.task.id] for receipt in receipts]

    def shop(self, **changes):
        end = self.now + 60_000
        values = {
            "leases": self.leases,
            "bus": self.log,
            "crew": self.crew,
            "clock": self.clock,
            "chance": lambda: 1.0,
            "process": "p1",
            "concurrency": 10,
            "longest": timedelta(seconds=800),
            "remaining": lambda: timedelta(milliseconds=end - self.now),
        }
        return Shop(**values | changes)

    def perform(self, envelope):
        self.performed.append(envelope.id)
        return Succeeded("done")

    def work(self, perform=None, arrivals=None, **changes):
        if arrivals is None:
            arrivals = self.arrivals("tasks.worker.echo")
        return execute(arrivals, perform or self.perform, self.shop(**changes))

    def publish_due(self):
        return DuePublisher(self.stores()).publish()

    def relay(self):
        return Relay(self.stores()).run()

    def record(self, *names):
        for topic in names or (topics.PENDING, topics.EVENTS):
            self.record_all(self.log.records(topic))

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
    """Let processes die, one after the other, while they hold *task*."""
    for number in range(times):
        source = a_source(0, world.log.tasks("tasks.worker.echo").index(task))
        claim = a_claim(task, source=source, process=f"dead {number}", alone=True)
        world.leases.claim([claim])
        world.wait(LEASE + timedelta(seconds=1))


class DeafCrew(HangingCrew):
    """Begins each call, and never tells of its end."""

    def start(self, call):
        return PatientCrew.start(self, call)
