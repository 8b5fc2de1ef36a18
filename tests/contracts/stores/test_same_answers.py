"""In any sequence of calls, memory and Valkey answer and store the same.

What is true of the one, as simulations and models show it, is so true of the other's scripts.
"""

import dataclasses
import random
from collections import defaultdict
from datetime import timedelta
from inspect import signature

import pytest
from msgspec.structs import replace

from taskmill.core.facts import TaskChanged
from taskmill.core.owed import Cleared, OwedKey, OwedKind
from taskmill.core.task import Status
from taskmill.core.view import Ending
from taskmill.dispatch.waiting import Delayed, DelayOrder
from taskmill.execution.lease import Beat, Claimed, Settled, Suspect, TurnOver
from taskmill.lanes.lane import TurnIsFree, TurnIsOver, member_of
from taskmill.ledger.projection import row_of
from taskmill.orders.control import (
    CancelOrder,
    ChangeOrder,
    Ordered,
    Redriven,
    RedriveOrder,
    TaskSnapshot,
)
from taskmill.recovery.placement import InFlight
from taskmill.recovery.restoration import hot_view
from taskmill.stores.memory.hot import MemoryHot
from taskmill.stores.redis.session import Session
from taskmill.submission.admission import Created
from tests.builders import (
    NEVER,
    a_claim,
    a_death,
    a_fresh_envelope,
    a_lease,
    a_request,
    a_source,
    a_success,
    cancel_requested,
    cancelled,
    died,
    now_ms,
)
from tests.contracts.hot import InMemory, InValkey, next_turn

SEEDS = 20
STEPS = 150
LABELS = ("keyed", "unkeyed")
UNKEYED = a_fresh_envelope().id
HOUR = timedelta(hours=1)
HOUR_MS = 3_600_000
NO_TIME = timedelta(0)
SECOND = timedelta(seconds=1)


class Side:
    """One store, with its values for generations and tokens, which the steps only count."""

    def __init__(self, hot):
        self.hot = hot
        self.lives = defaultdict(list)
        self.tokens = defaultdict(list)
        self.seen = {}
        self.turns = {}
        self.taken = {}

    # What the steps do

    def submit(self, label, *, submission, body):
        request = self._request(label, submission=submission, fingerprint=body)
        (verdict,) = self.hot.admission(hold=NO_TIME).admit([request])
        if isinstance(verdict, Created):
            self.lives[label].append(verdict.generation)
        return word(verdict), getattr(verdict, "owed", None) is not None

    def clear(self, label, *, life, turn, kind, is_held):
        """Clear an entry, or the one that was taken or ordered last."""
        if is_held and label in self.taken:
            return self.hot.admission().clear([self.taken[label]])[0], None
        envelope = self._envelope(label, life, turn)
        turn = envelope.turn
        name = OwedKey(id=envelope.id, generation=envelope.generation, turn=turn, kind=kind)
        return self.hot.admission().clear([name])[0], None

    def claim(self, label, *, life, turn, source, look, alone, lease, age):  # noqa: PLR0913 - a claim has many sides
        claim = a_claim(
            self._envelope(label, life, turn), source=a_source(source), look=look, alone=alone
        )
        (answer,) = self.hot.leases(lease=lease, adoption_age=age).claim([claim])
        match answer:
            case Claimed():
                self.tokens[label].append(answer.token)
                unreported = [
                    (self._place(label, one.token), one.losses) for one in answer.unreported
                ]
                return word(answer), answer.losses, unreported, answer.cancel_requested
            case TurnOver(facts):
                return word(answer), kinds(facts)
            case Suspect(losses):
                return word(answer), losses
            case _:
                return word(answer), None

    def inspect(self, label, *, life, turn, age):
        """Look at a turn as the tick of a lane does."""
        member = member_of(self._envelope(label, life, turn))
        (state,) = self.hot.turns(adoption_age=age).look([member])
        match state:
            case TurnIsOver(facts):
                return word(state), kinds(facts)
            case TurnIsFree(alone):
                return word(state), alone
            case _:
                return word(state), None

    def place(self, label, *, life, turn, waits, ahead_ms):
        """Place a task in a lane that is rebuilt: the ledger knows it as queued, or as retrying."""
        task = self._envelope(label, life, turn)
        row = row_of(task)
        if waits:
            row = replace(row, status=Status.RETRYING, due_at_ms=now_ms() + ahead_ms)
        (placement,) = self.hot.placements().place([hot_view(row, row.spec)])
        if not isinstance(placement, InFlight):
            return word(placement), None
        placed = placement.envelope
        return word(placement), (placed.generation == task.generation, placed.turn, placed.attempt)

    def extend(self, label, *, life, turn, token, lease):
        envelope = self._envelope(label, life, turn)
        (beat,) = self.hot.leases(lease=lease).extend(
            [a_lease(envelope, self._token(label, token))]
        )
        return beat, None

    def lapse(self, label):
        """Let the current lease expire now."""
        (snapshot,) = self.hot.control().see([self._request(label).id])
        if not isinstance(snapshot, TaskSnapshot):
            return "NOTHING", None
        envelope = self._request(label, generation=snapshot.task.generation, turn=snapshot.turn)
        lease = a_lease(envelope, snapshot.token)
        return self.hot.leases(lease=NO_TIME).extend([lease])[0], None

    def settle(self, label, *, life, turn, token, how, age):  # noqa: PLR0913 - as many as a claim
        envelope = self._envelope(label, life, turn)
        settlement = how(envelope, self._token(label, token))
        (answer,) = self.hot.leases(adoption_age=age).settle([settlement])
        facts = kinds(answer.facts) if isinstance(answer, Settled) else []
        return word(answer), facts

    def look(self, label):
        """Keep a task's snapshot: orders are based on snapshots, which may be old."""
        (snapshot,) = self.hot.control().see([self._request(label).id])
        if isinstance(snapshot, TaskSnapshot):
            self.seen[label] = snapshot
        return word(snapshot), None

    def cancel(self, label, *, is_running, is_fresh):
        snapshot = self._snapshot(label, is_fresh=is_fresh)
        if snapshot is None:
            return "NOTHING", None
        task = self._request(label, generation=snapshot.task.generation)
        facts = (cancel_requested(task),) if is_running else (cancelled(task, started_at_ms=None),)
        ending = None if is_running else Ending(finished_at_ms=now_ms())
        order = CancelOrder(id=task.id, seen=snapshot.moment, facts=facts, ending=ending)
        (answer,) = self.hot.control().cancel([order])
        self._note_hold(label, snapshot.owed_key(OwedKind.FACTS), answer)
        return word(answer), None

    def _note_hold(self, label, name, answer):
        if isinstance(answer, Ordered):
            self.taken[label] = dataclasses.replace(name, hold=answer.hold)

    def redrive(self, label, *, is_fresh):
        snapshot = self._snapshot(label, is_fresh=is_fresh)
        if snapshot is None or not snapshot.task.status.is_final:  # live tasks cannot be redriven
            return "NOTHING", None
        task = self._request(
            label, generation=snapshot.task.generation, submitted=snapshot.submitted
        )
        order = RedriveOrder(seen=snapshot.moment, envelope=task, facts=(died(task),), token=0)
        (answer,) = self.hot.control(hold=NO_TIME).redrive([order])
        if isinstance(answer, Redriven):
            self.lives[label].append(answer.generation)
        return word(answer), None

    def change(self, label, *, ahead_ms, is_fresh, hold):
        snapshot = self._snapshot(label, is_fresh=is_fresh)
        if snapshot is None:
            return "NOTHING", None
        task = self._envelope(label, self._life(label, snapshot.task.generation), snapshot.turn + 1)
        due_ms = now_ms() + ahead_ms
        fact = TaskChanged(
            id=task.id,
            generation=task.generation,
            turn=task.turn,
            at_ms=now_ms(),
            type=task.type,
            tenant=task.tenant,
            envelope=task,
        )
        order = ChangeOrder(seen=snapshot.moment, envelope=task, due_at_ms=due_ms, facts=(fact,))
        (answer,) = self.hot.control(hold=hold).change([order])
        name = dataclasses.replace(snapshot.owed_key(OwedKind.FACTS), turn=task.turn)
        self._note_hold(label, name, answer)
        return word(answer), None

    def delay(self, label, *, life, turn, ahead_ms, age):
        order = DelayOrder(
            envelope=self._envelope(label, life, turn), due_at_ms=now_ms() + ahead_ms
        )
        return self.hot.delays(adoption_age=age).delay([order])[0], None

    def take(self, *, hold):
        taken = self.hot.due(hold=hold).take(most=100)
        labels = {self._request(label).id: label for label in LABELS}
        self.taken |= {labels[name.id]: name for name, _ in taken}
        reply = (
            (
                labels[name.id],
                self._life(labels[name.id], name.generation),
                name.turn,
                name.kind,
                kinds(owed.facts),
                owed.task is not None and owed.task.turn,
            )
            for name, owed in taken
        )
        return "TAKEN", sorted(reply)

    def forget(self):
        return "DONE", self.hot.forget()

    def become_another_server(self):
        return "DONE", self.hot.become_another_server()

    def open(self):
        return "DONE", self.hot.open()

    # What is left

    def standing(self):
        """Return the state of each task, without its times."""
        tasks = [self._request(label) for label in LABELS]
        snapshots = self.hot.control().see([task.id for task in tasks])
        return {label: self._told(label, one) for label, one in zip(LABELS, snapshots, strict=True)}

    def _told(self, label, snapshot):
        if not isinstance(snapshot, TaskSnapshot):
            return word(snapshot)
        view, self.turns[label] = snapshot.task, snapshot.turn
        return {
            "status": view.status,
            "life": self._life(label, view.generation),
            "submitted in": self._life(label, snapshot.submitted),
            "turn": snapshot.turn,
            "token": self._place(label, snapshot.token),
            "attempt": view.attempt,
            "losses": view.losses,
            "has begun": view.started_at_ms is not None,
            "ending": view.ending and (view.ending.reason, view.ending.error_class),
            "result": view.result and bytes(view.result),
            "waiting": view.waiting and view.waiting.reason,
            "is asked to end": view.cancel_requested,
            "last": kinds(snapshot.last),
            "owed": {kind: kinds(owed.facts) for kind, owed in snapshot.owed.items()},
        }

    # How

    def _snapshot(self, label, *, is_fresh):
        if is_fresh:
            self.look(label)
        return self.seen.get(label)

    def _request(self, label, **changes):
        if label == "unkeyed":
            return a_request(id=UNKEYED, **changes)
        return a_request(label, **changes)

    def _envelope(self, label, life, turn):
        """Return what the log has of a life; before the first there was none."""
        lives = self.lives[label]
        generation = lives[life % len(lives)] if lives else now_ms() - 1
        if not lives:
            lives.append(generation)
        turn = turn or self.turns.get(label, 1)
        return self._request(label, generation=generation, turn=turn, attempt=turn)

    def _token(self, label, token):
        tokens = self.tokens[label]
        return tokens[token % len(tokens)] if tokens else 1

    def _place(self, label, token):
        tokens = self.tokens[label]
        return tokens.index(token) if token in tokens else token

    def _life(self, label, generation):
        return self.lives[label].index(generation)


def kinds(facts):
    return [type(fact).__name__ for fact in facts]


def word(answer):
    return type(answer).__name__


def a_retry_at_once(envelope, token):
    return next_turn(envelope, token, due_at_ms=now_ms() - 1_000)


def a_retry_in_an_hour(envelope, token):
    return next_turn(envelope, token, due_at_ms=now_ms() + HOUR_MS)


WEIGHTS = {
    "submit": 5,
    "clear": 3,
    "claim": 10,
    "inspect": 3,
    "place": 3,
    "extend": 2,
    "lapse": 2,
    "settle": 4,
    "look": 2,
    "cancel": 2,
    "redrive": 2,
    "change": 1,
    "delay": 3,
    "take": 2,
    "forget": 0.5,
    "become_another_server": 0.1,
    "open": 2,
}
"""Claims most of all: they have the most answers."""


def a_step(chance):
    """Choose a method and its arguments."""
    (verb,) = chance.choices(list(WEIGHTS), WEIGHTS.values())
    if verb in {"forget", "become_another_server", "open"}:
        return verb, {}
    words = {
        "submission": chance.choice("ab"),
        "body": chance.choice("xxy"),
        "life": chance.choice([-1, -1, -1, -2]),  # counted from the last one
        "turn": chance.choice([0, 0, 0, 1, 2, 3]),  # 0 is the present one
        "token": chance.choice([-1, -1, -2]),
        "source": chance.choice([1, 2]),
        "look": chance.choice([NEVER, NEVER, NEVER, 1]),
        "is_held": chance.random() < 0.5,
        "hold": chance.choice([NO_TIME, HOUR]),
        "alone": chance.random() < 0.5,
        "lease": chance.choice([HOUR, HOUR, NO_TIME]),
        "age": chance.choice([HOUR, HOUR, HOUR, -SECOND]),
        "how": chance.choice([a_success, a_death, a_retry_at_once, a_retry_in_an_hour]),
        "kind": chance.choice([OwedKind.SUBMISSION, OwedKind.TURN, OwedKind.FACTS]),
        "is_fresh": chance.random() < 0.7,
        "is_running": chance.random() < 0.5,
        "ahead_ms": chance.choice([-1_000, HOUR_MS]),
        "waits": chance.random() < 0.5,
    }
    known = signature(getattr(Side, verb)).parameters
    named = {name: word for name, word in words.items() if name in known}
    if "label" in known:
        named["label"] = chance.choice(LABELS)
    return verb, named


@pytest.fixture
def session(valkey):
    session = Session(valkey)
    yield session
    session.close()


@pytest.fixture(scope="module")
def answers(valkey):
    """Return every answer; both stores agreed after each step."""
    session, given = Session(valkey), defaultdict(set)
    try:
        for seed in range(SEEDS):
            chance = random.Random(seed)
            memory, server = Side(InMemory(MemoryHot(now_ms))), Side(InValkey(session))
            for number in range(STEPS):
                verb, named = a_step(chance)
                answer = getattr(memory, verb)(**named)
                where = f"seed {seed}, step {number}: {verb} {named}"
                assert getattr(server, verb)(**named) == answer, where
                assert server.standing() == memory.standing(), where
                given[verb].add(answer[0])
    finally:
        session.close()
    return given


EVERY_ANSWER = {
    "submit": {"Created", "AdmittedBefore", "Replayed", "Conflict", "Cold"},
    "clear": set(Cleared),
    "claim": {"Claimed", "Suspect", "HeldLease", "Late", "TurnOver", "Forgotten", "Cold"},
    "inspect": {"TurnLives", "TurnIsOver", "TurnIsFree", "TurnIsGone", "Cold"},
    "place": {"InLine", "InFlight", "InDueSet", "Cold"},
    "extend": set(Beat),
    "settle": {"Settled", "Stale", "CancelFirst", "Cold"},
    "look": {"TaskSnapshot", "Absent", "Cold"},
    "cancel": {"Ordered", "Moved", "Cold"},
    "redrive": {"Redriven", "Moved", "Cold"},
    "change": {"Ordered", "Moved", "Cold"},
    "delay": set(Delayed),
}


@pytest.mark.parametrize("verb", EVERY_ANSWER)
def test_both_give_every_answer_alike(answers, verb):
    assert answers[verb] - {"NOTHING"} == EVERY_ANSWER[verb]
