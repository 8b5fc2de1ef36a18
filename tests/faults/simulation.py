"""The whole system in one process, on plain memory, under a seed: it dies where chance says so."""

import copy
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

from msgspec import Raw

from taskmill.adapters.crash import POINTS, CrashAt, rigged
from taskmill.adapters.memory.admission import MemoryAdmission, MemoryDueSet
from taskmill.adapters.memory.crew import InlineCrew
from taskmill.adapters.memory.hot import MemoryHot, MemoryRecords
from taskmill.adapters.memory.leases import MemoryLeases
from taskmill.adapters.memory.ledger import MemoryLedger
from taskmill.adapters.memory.log import MemoryLog
from taskmill.adapters.memory.outbox import MemoryOutbox
from taskmill.domain import topics
from taskmill.domain.naming import keyed_id
from taskmill.domain.outcome import Retry, Succeeded
from taskmill.domain.records import TaskView
from taskmill.domain.submission import Accepted, ReplayOf
from taskmill.domain.task import Millis, TaskType
from taskmill.usecases.arrivals import open_arrivals, open_sealed_arrivals
from taskmill.usecases.dispatch import dispatch
from taskmill.usecases.execute import execute
from taskmill.usecases.publish_due import publish_due
from taskmill.usecases.record import record
from taskmill.usecases.shop import Shop
from taskmill.usecases.submit import submit
from tests.builders import NOW, a_request
from tests.faults.history import Effect, History, Outcome, Standing, Submit, Told

TYPE = TaskType("probe")
WORK = topics.worker(TYPE)
CHANCE_TO_DIE = 0.15
CHANCE_TO_HARM = 0.4
DEEPEST_PAUSE = 2
POISON = "poison"
IN_FLIGHT = 3
MOST_ROUNDS = 300
GROUPS = (
    ("dispatcher", topics.PENDING),
    ("worker", WORK),
    ("recorder of tasks", topics.PENDING),
    ("recorder of facts", topics.EVENTS),
)


class Killed(BaseException):
    """The process died on this line."""


def end():
    raise Killed


class Weather(Enum):
    """What may happen; chance does the rest."""

    POISON = 1
    """One task kills every process that performs it, and the platform strikes others once."""

    STORM = 2
    """The platform strikes each task twice."""

    PEACE = 0
    """Nobody dies, so that nothing may run twice, whatever is published twice."""


@dataclass(frozen=True)
class Parts:
    """What the system is made of; a broken variant has another part."""

    admission: type = MemoryAdmission
    due: type = MemoryDueSet
    leases: type = MemoryLeases
    ledger: type = MemoryLedger
    commits_first: bool = False


class SharedLog(MemoryLog):
    def producer(self):
        """Return another process's bus on this log: what it has not flushed dies with it."""
        bus = copy.copy(self)
        bus._sent = []  # noqa: SLF001 - a process of its own has a buffer of its own
        return bus


@dataclass
class Simulation:
    seed: int
    parts: Parts = field(default_factory=Parts)
    tasks: int = 12
    now: int = NOW
    kills: int = 0
    is_calm: bool = False
    depth: int = 0
    is_successor_doomed: bool = False
    submits: list = field(default_factory=list)
    effects: list = field(default_factory=list)
    committed: dict = field(default_factory=dict)
    harm: Counter = field(default_factory=Counter)

    def __post_init__(self):
        self.random = random.Random(self.seed)
        self.weather = tuple(Weather)[self.seed % len(Weather)]
        self.hot = MemoryHot(self.clock)
        self.hot.open()
        self.log = SharedLog(self.clock)
        self.ledger = self.parts.ledger()
        self.admission = self.parts.admission(self.hot)
        self.due = self.parts.due(self.hot)
        self.leases = self.parts.leases(self.hot)
        self.processes = 0

    def clock(self):
        return Millis(self.now)

    # The run

    def run(self):
        """Let chance rule, then let everything come to rest, and return what happened."""
        waiting = [f"t{number}" for number in range(self.tasks)]
        waiting += [POISON] if self.weather is Weather.POISON else []
        for _ in range(20 * len(waiting)):
            if waiting and self.random.random() < 0.2 and self.submit(waiting[0]):
                waiting.pop(0)
            self.step()
        self.is_calm = True
        while waiting:
            if self.submit(waiting[0]):
                waiting.pop(0)
        for _ in range(MOST_ROUNDS):
            self.pass_time(1_500)
            for work in (self.schedule, self.route, self.work, self.write, self.write_facts):
                work()
            if self.is_quiet():
                break
        return self.history()

    def is_quiet(self):
        ends = {topic: len(self.log.records(topic)) for _, topic in GROUPS}
        return not self.hot.due and all(
            self.committed.get((group, topic), 0) == ends[topic] for group, topic in GROUPS
        )

    def step(self):
        self.random.choice(
            (
                self.schedule,
                self.route,
                self.work,
                self.work,
                self.write,
                self.write_facts,
                self.repeat,
                lambda: self.pass_time(self.random.choice((10, 300, 2_500, 7_000))),
            )
        )()

    def pass_time(self, milliseconds):
        self.now += milliseconds

    # Its processes

    def submit(self, label):
        """Ask once, and say whether there was an answer."""
        request = a_request(
            label,
            id=keyed_id("default", TYPE, label),
            type=TYPE,
            submission=f"{label} {self.random.random()}",
            fingerprint=label,
            created_at_ms=self.clock(),
            payload=Raw(b"{}"),
            metadata={"label": label},
        )
        ports = self.process("gateway", admission=self.admission, bus=self.log.producer())
        try:
            (receipt,) = submit(
                [request],
                **ports,
                records=MemoryRecords(self.hot),
                ledger=lambda: self.ledger,
                outbox=MemoryOutbox,
                clock=self.clock,
            )
        except Killed:
            receipt = None
        is_taken = isinstance(receipt, Accepted | ReplayOf)
        self.submits.append(
            Submit(
                label=label,
                body=label,
                key=label,
                id=receipt.task.id if is_taken else None,
                outcome=Outcome.OK if is_taken else Outcome.UNKNOWN,
            )
        )
        return is_taken

    def schedule(self):
        ports = self.process("scheduler", due=self.due, bus=self.log.producer())
        self.live(lambda: publish_due(ports["due"], ports["bus"]))

    def route(self):
        ports = self.process("dispatcher", admission=self.admission, bus=self.log.producer())

        def answer(records):
            arrivals = open_sealed_arrivals(records, ports["bus"])
            return dispatch(arrivals, knows=lambda _: True, **ports)

        self.deliver("dispatcher", topics.PENDING, answer)

    def work(self):
        self.processes += 1
        process, began = f"p{self.processes}", self.now

        def answer(records):
            bus = self.log.producer()
            arrivals = open_arrivals(records, bus)
            labels = {one.envelope.metadata["label"] for one in arrivals}
            ports = {"leases": self.leases, "bus": bus}
            if self.may_harm(labels):
                ports = self.process("worker", **ports)
            shop = Shop(
                **ports,
                crew=InlineCrew(),
                clock=self.clock,
                chance=self.random.random,
                process=process,
                concurrency=IN_FLIGHT,
                longest=timedelta(seconds=800),
                remaining=lambda: timedelta(milliseconds=max(0, began + 60_000 - self.now)),
            )
            return execute(arrivals, lambda task: self.perform(task, labels), shop)

        self.deliver("worker", WORK, answer)

    def may_harm(self, labels):
        """Choose whether the platform strikes under these tasks.

        With one more loss, which the poison may bring, a healthy task ends as `poison`: that is
        known, and not looked for here.
        """
        if self.is_successor_doomed:
            self.harm.update(labels)
            return True
        is_spared = any(self.harm[label] >= self.weather.value for label in labels)
        if self.is_calm or is_spared or self.random.random() > CHANCE_TO_HARM:
            return False
        self.harm.update(labels)
        return True

    def perform(self, task, labels):
        label = task.metadata["label"]
        if label == POISON:
            raise Killed
        if not self.is_calm and self.depth < DEEPEST_PAUSE:
            if self.weather is Weather.PEACE:
                self.meet()
            elif self.may_harm(labels):
                self.pause()
            if task.attempt < task.max_attempts and self.random.random() < CHANCE_TO_DIE:
                return Retry("not today", timedelta(seconds=1))
        self.effects.append(
            Effect(
                label=label,
                generation=task.generation,
                is_owned=False,
                token=task.idempotency_token,
            )
        )
        return Succeeded("done")

    def meet(self):
        """Take so little time that no lease lapses, and see who else comes meanwhile."""
        self.depth += 1
        for _ in range(self.random.randrange(6)):
            self.random.choice((self.repeat, self.work, self.route, self.schedule))()
        self.depth -= 1

    def pause(self):
        """Stand still for so long that others may take over what is held here."""
        self.depth += 1
        self.pass_time(self.random.choice((10, 7_000)))
        if self.weather is Weather.STORM and self.random.random() < CHANCE_TO_HARM:
            self.is_successor_doomed = True
            self.work()
            self.is_successor_doomed = False
        for _ in range(self.random.randrange(12)):
            self.step()
        self.depth -= 1

    def write(self):
        self._write("recorder of tasks", topics.PENDING)

    def write_facts(self):
        self._write("recorder of facts", topics.EVENTS)

    def _write(self, group, topic):
        ports = self.process("recorder", ledger=self.ledger)
        self.deliver(group, topic, lambda records: record(records, ports["ledger"]) or set())

    def repeat(self):
        """Publish an envelope once more, as a slow scheduler does."""
        if self.log.tasks(WORK):
            bus = self.log.producer()
            bus.send_work([self.random.choice(self.log.tasks(WORK))])
            bus.flush()

    def process(self, function, **ports):
        """Start a process: chance may say on which line it dies."""
        points = [edge for point, edge in POINTS.items() if point.startswith(function)]
        is_struck = function == "worker" or self.random.random() < CHANCE_TO_DIE
        if self.is_calm or self.weather is Weather.PEACE or not is_struck:
            return ports
        edge = POINTS["worker after claim"] if self.is_successor_doomed else None
        at = CrashAt(edge or self.random.choice(points), 1)
        return {name: rigged(name, port, at, end) for name, port in ports.items()}

    def live(self, work):
        try:
            return work()
        except Killed:
            self.kills += 1
            return None

    def deliver(self, group, topic, answer):
        """Hand over what is not committed, and commit what was answered for."""
        first = self.committed.get((group, topic), 0)
        records = self.log.records(topic)[first:][: self.random.randint(1, 6)]
        if not records:
            return
        last = records[-1].position.offset + 1
        if self.parts.commits_first:
            self.committed[group, topic] = last
        failed = self.live(lambda: answer(records))
        if failed is not None:
            upto = min((position.offset for position in failed), default=last)
            known = self.committed.get((group, topic), 0)
            self.committed[group, topic] = max(known, upto)

    # What it left

    def history(self):
        rows = [
            Standing(
                id=row.id,
                label=row.body.metadata["label"] if row.body else row.id,
                status=str(row.status),
                generation=row.generation,
                turn=row.turn,
                attempt=row.attempt,
                losses=row.losses,
                max_attempts=row.body.max_attempts if row.body else 0,
                reason=row.reason,
                finished_at_ms=row.finished_at_ms,
            )
            for row in self.ledger.rows.values()
        ]
        views = MemoryRecords(self.hot).read([row.id for row in rows])
        known = [view for view in views if isinstance(view, TaskView)]
        return History(
            submits=self.submits,
            effects=self.effects,
            facts=[_told(entry) for entry in self.ledger.history.values()],
            rows=rows,
            records={view.id: (view.generation, str(view.status)) for view in known},
            expected_dead=frozenset({POISON}),
            kills=self.kills,
            in_flight=IN_FLIGHT if self.weather is Weather.PEACE else 0,
        )


def _told(entry):
    body = json.loads(bytes(entry.body))
    return Told(
        id=entry.id,
        kind=entry.kind,
        generation=entry.generation,
        turn=entry.turn,
        at_ms=entry.at_ms,
        **{
            name: body[name]
            for name in ("token", "attempt", "losses", "started_at_ms", "due_at_ms", "reason")
            if name in body
        },
    )
