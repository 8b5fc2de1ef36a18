"""The in-memory system with processes that can die, and the history it leaves."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from msgspec import Raw, Struct
from msgspec.structs import replace

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import TaskType, keyed_id, unkeyed_id
from taskmill.core.view import TaskView
from taskmill.execution.lease import Claimed, Settled
from taskmill.lanes.caps import USUAL_CAPS
from taskmill.lanes.lane import member_of
from taskmill.orders.redrive import Again, NotOver
from taskmill.settings.crash_points import POINTS, CrashAt
from taskmill.stores.crash import with_crash_point
from taskmill.submission.submission import Accepted, KeyReused, ReplayOf
from taskmill.worker import serve
from tests.builders import a_request
from tests.faults.deployed import Deployed
from tests.faults.history import Effect, History, Outcome, Redrive, Submit, TaskVersion, Told

TYPE = TaskType("probe")
WORK = topics.worker_of(TYPE)
IN_FLIGHT = 3
PATIENCE_SECONDS = 600.0
"""No handler here is so slow: nobody is cut off."""


class Killed(BaseException):
    """The process died at this line."""


class Anything(Struct):
    """Handlers read the metadata only."""


@dataclass(frozen=True)
class Parts:
    """The parts of the system; a broken variant replaces the class of a port, or the system."""

    ports: dict = field(default_factory=dict)
    system: type[Deployed] = Deployed


@dataclass
class Process:
    """Binds its ports on first use; *death* is the crash point at which it dies."""

    mortals: "Mortals"
    death: CrashAt | None = None
    may_die: Callable | None = lambda _labels: True
    """Says whether it may die with these tasks in its hands; None if it only loses an answer."""

    labels: set = field(default_factory=set)
    """The tasks that it holds."""

    is_dead: bool = False
    ports: dict = field(default_factory=dict)

    def port(self, name):
        if name not in self.ports:
            port = self.mortals.bind(name)
            if name == "leases":
                port = _Holding(port, self.labels)
            if self.death is not None:
                port = with_crash_point(name, port, self.death, opener="", end=self.strike)
            self.ports[name] = port
        return self.ports[name]

    def strike(self):
        if self.may_die is None:
            raise StoreUnavailable("Redis", "the answer was lost")
        if self.may_die(self.labels):
            self.die()

    def die(self):
        self.is_dead = True
        raise Killed


class _Holding:
    """Leases of a process, which notes what it holds."""

    def __init__(self, leases, labels):
        self._leases = leases
        self._labels = labels
        self.extend = leases.extend

    def claim(self, claims):
        answers = self._leases.claim(claims)
        pairs = zip(claims, answers, strict=True)
        self._labels |= {_label(one) for one, answer in pairs if isinstance(answer, Claimed)}
        return answers

    def settle(self, settlements):
        answers = self._leases.settle(settlements)
        pairs = zip(settlements, answers, strict=True)
        self._labels -= {_label(one) for one, answer in pairs if isinstance(answer, Settled)}
        return answers


def _label(one):
    return one.envelope.metadata["label"]


class Outlet:
    """A port as the current process has it; dead processes touch nothing more."""

    def __init__(self, name, port, mortals):
        self._name = name
        self._port = port
        self._mortals = mortals

    def __getattr__(self, verb):
        process = self._mortals.present
        if process is None:
            return getattr(self._port, verb)
        if process.is_dead:
            raise Killed
        return getattr(process.port(self._name), verb)


class Mortals:
    """A handler is *perform(task)*; a process chosen to die does so at a crash point of a port."""

    def __init__(self, perform, *, seed=0, parts=None, caps=USUAL_CAPS):
        self.kills = 0
        self.entered = {}
        self.submits = []
        self.redrives = []
        self.effects = []
        self.parts = parts or Parts()
        self._alive = []
        self._bound = {}
        worker = serve(Anything, lambda _, task: perform(task), concurrency=IN_FLIGHT)
        self.system = self.parts.system({TYPE: worker}, seed=seed, dress=self._dress, caps=caps)
        self.stores, self.clock = self.system.stores, self.system.clock
        self.hot, self.log = self.stores.hot, self.stores.log

    def _dress(self, name, port):
        # The very same object, since the system keeps it, too.
        port.__class__ = self.parts.ports.get(name, port.__class__)
        self._bound[name] = port
        return Outlet(name, port, self)

    @property
    def lane(self):
        return self.hot.lanes[TYPE]

    # Processes

    @property
    def present(self):
        """The current process; those below it are paused meanwhile."""
        return self._alive[-1] if self._alive else None

    def live(self, work, *, death=None, may_die=lambda _labels: True):
        """Let a process do some work; return None when it died during it."""
        process = Process(self, death, may_die)
        self._alive.append(process)
        try:
            return work()
        except Killed:
            self.kills += 1
            return None
        finally:
            self._alive.pop()

    def bind(self, name):
        """Return a port as another process has it: its bus is its own."""
        if name == "lanes":
            return _Entering(self._bound[name], self.entered)
        return _producer(self.log) if name == "bus" else self._bound[name]

    # What clients do

    def submit(  # noqa: PLR0913 - a request has many parts
        self, label, *, key=None, body=None, entropy="", timing=None, death=None, kind=TYPE
    ):
        """Submit once, and return the result."""
        request = a_request(
            key,
            id=keyed_id("default", kind, key) if key else self._an_id(f"{label} {entropy}"),
            type=kind,
            submission=f"{label} {entropy}",
            fingerprint=body or label,
            created_at_ms=self.clock(),
            timeout_seconds=PATIENCE_SECONDS,
            payload=Raw(b"{}"),
            metadata={"label": label},
            timing=timing,
        )
        answer = self.live(lambda: self.system.submit([request]), death=death)
        outcome, task_id = _told_to_client(answer)
        self.submits.append(
            Submit(
                label=label,
                body=body or label,
                key=key,
                id=task_id,
                outcome=outcome,
                run_at_ms=_run_at_ms(answer),
            )
        )
        return self.submits[-1]

    def _an_id(self, submission):
        """Return an id as a gateway does, but deterministic: a replay produces it again."""
        seen = f"{submission} {len(self.submits)}".encode()
        return unkeyed_id(self.clock(), sha256(seen).digest()[:10])

    def change(self, task_id, wanted, *, death=None):
        return self.live(lambda: self.system.change(task_id, wanted), death=death)

    def cancel(self, task_id, *, death=None):
        return self.live(lambda: self.system.cancel(task_id), death=death)

    def redrive(self, task_id, *, death=None):
        answer = self.live(lambda: self.system.redrive(task_id), death=death)
        outcome = Outcome.OK if isinstance(answer, Again) else Outcome.UNKNOWN
        if isinstance(answer, NotOver):
            outcome = Outcome.FAIL
        self.redrives.append(Redrive(id=task_id, outcome=outcome))
        return answer

    def repeat(self, chance):
        """Enter a task again, as a slow scheduler does."""
        if self.entered:
            self._bound["lanes"].enter([chance.choice(list(self.entered.values()))], past=True)

    # What handlers do

    def take_effect(self, task):
        self.effects.append(
            Effect(
                label=task.metadata["label"],
                generation=task.generation,
                is_owned=False,
                token=task.idempotency_token,
            )
        )

    # What is left

    def is_quiet(self):
        rows = self.stores.rows
        is_owed = self.hot.due or rows.far_tasks or rows.shelved or self.lane.tasks
        is_open = self.hot.is_open and self.lane.is_open
        return (
            is_open
            and not is_owed
            and not any(
                self.log.records(one.topic, since=self.log.position(one))
                for one in self.system.readers
            )
        )

    def history(self, **more):
        rows = list(self.stores.rows.rows.values())
        views = self.stores.records.read([row.id for row in rows])
        known = [view for view in views if isinstance(view, TaskView)]
        return History(
            submits=self.submits,
            redrives=self.redrives,
            effects=self.effects,
            facts=[_told(entry) for entry in self.stores.rows.history.values()],
            rows=[_standing(row) for row in rows],
            records={view.id: (view.generation, str(view.status)) for view in known},
            kills=self.kills,
            **more,
        )


class _Entering:
    """Lanes of a process, of which everybody can see what entered."""

    def __init__(self, lanes, entered):
        self._lanes = lanes
        self._entered = entered

    def __getattr__(self, verb):
        return getattr(self._lanes, verb)

    def enter(self, tasks, **how):
        self._entered.update((member_of(one.envelope), one) for one in tasks)
        return self._lanes.enter(tasks, **how)


def deaths(function):
    """Return the crash points of this function, wherever its ports are bound."""
    result = [edge for name, edge in POINTS.items() if name.startswith(function)]
    return [CrashAt(replace(edge, where=""), 1) for edge in result]


def _producer(log):
    """Return another process's bus for this log: what it has not flushed dies with it."""
    bus = object.__new__(type(log))
    vars(bus).update(vars(log), _sent=[])  # a process of its own has a buffer of its own
    return bus


def _told_to_client(answer):
    match answer:
        case [Accepted(task=task, is_deferred=True) | ReplayOf(task=task, is_deferred=True)] if (
            task.spec.idempotency_key
        ):
            return Outcome.DEFERRED, task.id
        case [Accepted(task=task) | ReplayOf(task=task)]:
            return Outcome.OK, task.id
        case [KeyReused()]:
            return Outcome.FAIL, None
        case _:
            return Outcome.UNKNOWN, None


def _run_at_ms(answer):
    match answer:
        case [Accepted(task=task) | ReplayOf(task=task)]:
            return task.run_at_ms
        case _:
            return None


def _standing(row):
    return TaskVersion(
        id=row.id,
        label=row.spec.metadata["label"] if row.spec else row.id,
        status=str(row.status),
        generation=row.generation,
        turn=row.turn,
        attempt=row.attempt,
        losses=row.losses,
        max_attempts=row.spec.max_attempts if row.spec else 0,
        reason=row.reason,
        finished_at_ms=row.finished_at_ms,
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
