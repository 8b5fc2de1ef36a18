"""In any sequence of calls, a lane in memory and one in Valkey answer and hold the same."""

import random
import time
from collections import defaultdict
from datetime import timedelta
from inspect import signature

import pytest

from taskmill.core.owed import Cold
from taskmill.core.task import Millis, Priority
from taskmill.lanes.caps import Caps
from taskmill.lanes.lane import (
    Alone,
    Entered,
    Filled,
    LanePause,
    Leave,
    LookLater,
    PutBack,
    Shelved,
    Take,
    member_of,
    place_of,
)
from taskmill.stores.memory.hot import MemoryHot
from taskmill.stores.redis.session import Session
from tests.builders import ECHO, now_ms
from tests.contracts.hot import InMemory, InValkey
from tests.contracts.lane_words import A_WHILE, BEFORE, HOUR, tasks

SEEDS = 30
STEPS = 120
QUICK = 0.9
"""Seconds within which no process counts as silent: a slower machine repeats the seed."""


FEW = Caps(
    line_tasks=6, line_bytes=4_000, lane_tasks=30, lane_bytes=18_000, small_tasks=2, small_bytes=900
)


class Several(tuple):
    """The answers to several tasks of one call."""

    __slots__ = ()


def _order(task):
    return task.order if isinstance(task, Shelved) else place_of(task.envelope).order


class Side:
    """One store, with its values for epochs and looks, which the steps only count."""

    def __init__(self, hot):
        self.hot = hot
        self.lanes = hot.lanes(lease=BEFORE, caps=FEW)
        self.cold_lanes = hot.cold_lanes(caps=FEW)
        self.epochs = [""]
        self.looks = defaultdict(lambda: [0])

    def enter(self, waiting, past):
        answer = self.lanes.enter(waiting, past=past)
        return Several(answer.answers), answer.wake

    def bring_in(self, waiting, over):
        some = [place_of(one.envelope) if one in over else one for one in waiting]
        answer = self.lanes.bring_in(sorted(some, key=_order))
        return Several(answer.answers), answer.wake

    def with_room(self, waiting):
        lines = sorted({place_of(one.envelope).line for one in waiting})
        return "DONE", self.lanes.with_room({ECHO: lines})

    def take(self, *, most, alone, partition, waits, left, epoch):  # noqa: PLR0913 - a take has many sides
        taken = self.lanes.take(
            Take(
                type=ECHO,
                most=most,
                alone=alone,
                partition=partition,
                waits=waits,
                leaves=self._leaves(left, epoch),
                epoch=self._epoch(epoch),
            )
        )
        if isinstance(taken, Cold):
            return "Cold", None
        came = self._seen(taken.epoch, taken.tasks)
        there = (taken.is_unwatched, taken.must_stay)
        return "TakeAnswer", (came, taken.is_alone, there, taken.wake)

    def leave(self, left, epoch):
        return "DONE", self.lanes.leave(ECHO, self._leaves(left, epoch))

    def put_back(self, some, look, alone):
        wake = self.lanes.put_back(
            [
                PutBack(type=ECHO, member=one, look=self._look(one, look), alone=alone)
                for one in some
            ]
        )
        return "DONE", tuple(wake)

    def look_later(self, some, look, after):
        self.lanes.look_later(
            [
                LookLater(type=ECHO, member=one, look=self._look(one, look), after=after)
                for one in some
            ]
        )
        return "DONE", None

    def watch(self, only):
        watched = dict(self.lanes.watch(most=1000, only=only))
        if ECHO not in watched:
            return "Cold", None
        answer = watched[ECHO]
        came = sorted(answer.tasks, key=lambda one: one.member)  # looks differ
        return "Watched", (self._seen(answer.epoch, came), answer.wake)

    def withdraw(self, some, epoch):
        return "DONE", self.lanes.withdraw(ECHO, some, epoch=self._epoch(epoch))

    def set_pauses(self, pauses, revision):
        wake = self.lanes.set_pauses(pauses, revision=revision)
        return "DONE", sorted(wake)

    def count(self):
        (count,) = self.lanes.count([ECHO])
        if isinstance(count, Cold):
            return "Cold", None
        has_taken = count.taken_at_ms is not None
        told = (count.classes, count.alone, count.in_flight, count.paused_until_ms)
        return "LaneCount", (has_taken, told)

    def ask_epoch(self):
        (epoch,) = self.lanes.epochs([ECHO])
        return "Cold" if epoch is None else "epoch", epoch and self._place(epoch)

    def hear_rings(self):
        return "DONE", self.hot.heard_rings(ECHO)

    def forget_who_takes(self):
        return "DONE", self.hot.forget_who_takes(ECHO)

    def become_another_server(self):
        return "DONE", self.hot.become_another_server()

    def forget_lanes(self):
        return "DONE", self.hot.forget_lanes()

    def open_lanes(self):
        if ECHO in self.cold_lanes.cold():
            return "DONE", None
        return "DONE", self.hot.open_lanes()

    def begin(self, nonce):
        return "DONE", self.cold_lanes.begin(nonce, [ECHO])

    def keep(self, nonce):
        return "DONE", self.cold_lanes.keep(nonce, [ECHO])

    def fill(self, nonce, waiting, after, over):
        filled = [
            place_of(one.envelope)
            if one in over
            else Filled(envelope=one.envelope, look_after=after if number % 2 else None)
            for number, one in enumerate(waiting)
        ]
        return Several(self.cold_lanes.fill(nonce, ECHO, filled)), None

    def open(self, nonce):
        return "DONE", self.cold_lanes.open(nonce, [ECHO])

    def abandon(self, nonce):
        return "DONE", self.cold_lanes.leave(nonce, [ECHO])

    def renew_epochs(self):
        return "DONE", self.cold_lanes.renew_epochs()

    # What it knows

    def content(self):
        return self.hot.lane_content(ECHO), set(self.cold_lanes.cold())

    def _seen(self, epoch, came):
        for one in came:
            self.looks[one.member].append(one.look)
        return self._place(epoch), *(str(one.member) for one in came), *(one.raw for one in came)

    def _place(self, epoch):
        if epoch not in self.epochs:
            self.epochs.append(epoch)
        return str(self.epochs.index(epoch))

    def _epoch(self, place):
        return self.epochs[max(place, -len(self.epochs))]

    def _leaves(self, left, epoch):
        return tuple(Leave(one, self._epoch(epoch)) for one in left)

    def _look(self, member, place):
        looks = self.looks[member]
        return looks[max(place, -len(looks))]


WEIGHTS = {
    "enter": 8,
    "bring_in": 3,
    "with_room": 2,
    "take": 12,
    "leave": 2,
    "put_back": 4,
    "look_later": 2,
    "watch": 2,
    "withdraw": 4,
    "set_pauses": 1,
    "count": 2,
    "ask_epoch": 1,
    "hear_rings": 1,
    "forget_who_takes": 1,
    "become_another_server": 0.2,
    "forget_lanes": 0.4,
    "begin": 1,
    "keep": 0.5,
    "fill": 2,
    "open": 1.5,
    "abandon": 0.2,
    "renew_epochs": 0.5,
}


class Steps:
    """Random calls, of which many concern the same tasks."""

    def __init__(self, seed):
        self._chance = random.Random(seed)
        self._known = []
        self._numbers = iter(range(100_000))

    def next(self):
        """Choose a method and its arguments."""
        (verb,) = self._chance.choices(list(WEIGHTS), WEIGHTS.values())
        known = signature(getattr(Side, verb)).parameters
        return verb, {name: self._word(name) for name in list(known)[1:]}

    def _word(self, name):
        return getattr(self, f"_{name}")()

    def _waiting(self):
        count = self._chance.choice([1, 1, 2, 5, 30])
        known = [self._chance.choice(self._known) for _ in range(2) if self._known]
        fresh = [self._task() for _ in range(count)]
        self._known += fresh
        return self._chance.sample([*fresh, *known], len(fresh) + len(known))

    def _over(self):
        return self._chance.sample(self._known, min(3, len(self._known)))

    def _only(self):
        return self._chance.choice([None, ECHO, ECHO, ECHO, ECHO])

    def _past(self):
        return self._chance.random() < 0.3

    def _task(self):
        ago = self._chance.choice([timedelta(), timedelta(), HOUR, 2 * HOUR])
        (task,) = tasks(
            1,
            ago=ago,
            index=next(self._numbers) % 7,
            turn=self._chance.choice([1, 1, 2]),
            priority=self._chance.choice(list(Priority)),
            tenant=self._chance.choice(["default", "default", "A", "a", "ä", "~"]),
            fairness_key=self._chance.choice([None, None, "k", "K", "ö", " "]),
        )
        return task

    def _some(self):
        known = [member_of(one.envelope) for one in self._known]
        return self._chance.sample(known, min(self._chance.choice([1, 3, 20]), len(known)))

    _left = _some

    def _most(self):
        return self._chance.choice([0, 1, 1, 2, 7, 40])

    def _alone(self):
        is_back = self._chance.random() < 0.5
        return self._chance.choice(list(Alone)) if is_back else Alone.NEVER

    def _partition(self):
        return self._chance.choice([None, 0, 0, 1, 2, 5, 6])

    def _waits(self):
        return self._chance.choice([timedelta(), A_WHILE, A_WHILE, HOUR, None])

    def _epoch(self):
        return self._chance.choice([-1, -1, -1, -1, -2, 0])

    def _look(self):
        return self._chance.choice([-1, -1, -1, -1, -2, 0])

    def _after(self):
        return self._chance.choice([BEFORE, A_WHILE, A_WHILE, HOUR])

    def _nonce(self):
        return self._chance.choice("nnnm")

    def _revision(self):
        return self._chance.choice([1, 2, 3, 4, 5, 6])

    def _pauses(self):
        ends = [None, Millis(0), Millis(1), Millis(now_ms() + 3_600_000)]
        paused = self._chance.sample([None, ECHO], self._chance.choice([0, 0, 1, 2]))
        return [LanePause(type=one, until_ms=self._chance.choice(ends)) for one in paused]


def run(seed, session):
    """Return the answers to a seed's steps; both stores agreed after each of them."""
    steps, given = Steps(seed), defaultdict(set)
    memory, server = Side(InMemory(MemoryHot(now_ms))), Side(InValkey(session))
    for number in range(STEPS):
        verb, named = steps.next()
        answer = getattr(memory, verb)(**named)
        where = f"seed {seed}, step {number}: {verb} {named}"
        assert getattr(server, verb)(**named) == answer, where
        assert server.content() == memory.content(), where
        word = answer[0]
        given[verb].update(word if isinstance(word, Several) else [word])
    return given


def run_quickly(seed, session):
    """Run a seed again if it was so slow that the clock may have decided what is different."""
    while True:
        began = time.monotonic()
        try:
            return run(seed, session)
        except AssertionError:
            if time.monotonic() - began < QUICK:
                raise


@pytest.fixture(scope="module")
def answers(valkey):
    session, given = Session(valkey), defaultdict(set)
    try:
        for seed in range(SEEDS):
            for verb, words in run_quickly(seed, session).items():
                given[verb] |= words
    finally:
        session.close()
    return given


EVERY_ANSWER = {
    "enter": set(Entered),
    "bring_in": set(Entered),
    "take": {"TakeAnswer", "Cold"},
    "watch": {"Watched", "Cold"},
    "count": {"LaneCount", "Cold"},
    "ask_epoch": {"epoch", "Cold"},
    "put_back": {"DONE"},
    "withdraw": {"DONE"},
    "set_pauses": {"DONE"},
    "fill": set(Entered),
}


@pytest.mark.parametrize("verb", EVERY_ANSWER)
def test_both_give_every_answer_alike(answers, verb):
    assert answers[verb] == EVERY_ANSWER[verb]
