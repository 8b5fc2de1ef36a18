"""The in-memory system under a seed: it dies, pauses and repeats itself at random."""

import random
from collections import Counter
from datetime import timedelta
from enum import Enum

from taskmill.core import topics
from taskmill.core.task import TaskType, Timing
from taskmill.execution.outcome import Retry, Succeeded
from taskmill.lanes.caps import USUAL_CAPS
from taskmill.orders.change import WantedChange
from tests.faults.mortals import TYPE, WORK, Mortals, deaths

NOBODYS = TaskType("nobodys")
FAR_MS = 612_000
"""Twelve seconds later it is near."""
LONG_MS = 5_000
LONGEST_REBUILD_MS = 120_000
CHANCE_TO_DIE = 0.15
CHANCE_TO_HARM = 0.4
CHANCE_TO_FORGET = 0.05
CHANCE_TO_LOSE = 0.5
DEEPEST_PAUSE = 2
POISON = "poison"
STRANGER = "stranger"
"""A task of a type that no worker takes: it waits for one, and dies."""
DOOMED = frozenset({POISON, STRANGER})
MOST_ROUNDS = 300
MOST_LOSSES = 2
"""After one more a task is poison."""

(AFTER_CLAIM,) = deaths("worker after claim")


class Weather(Enum):
    """What may happen; the seed decides the rest."""

    POISON = "poison"
    """One task kills every process that performs it, and the platform strikes others."""

    STORM = "storm"
    """The platform strikes each task twice."""

    OBLIVION = "oblivion"
    """Redis loses its records, its lanes, or both, and answers of it are lost; nobody pauses."""

    PEACE = "peace"
    """Nobody dies, so that nothing may run twice, whatever is published twice."""


class Simulation:
    def __init__(self, seed, *, parts=None, tasks=12, caps=USUAL_CAPS):
        self.random = random.Random(seed)
        self.weather = tuple(Weather)[seed % len(Weather)]
        self.waiting = [f"t{number}" for number in range(tasks)]
        self.waiting += [POISON] if self.weather is Weather.POISON else []
        if self.weather is not Weather.OBLIVION:  # then the reconciler finds it
            self.waiting.insert(tasks // 2, STRANGER)
        self.is_calm = False
        self.depth = 0
        self.is_successor_doomed = False
        self.harm = Counter()
        self.timings = {label: self.timing() for label in self.waiting if label != POISON}
        self.mortals = Mortals(self.perform, seed=seed, parts=parts, caps=caps)
        self.jobs = ("scheduler", "nearing", "watching")
        if caps != USUAL_CAPS:
            self.jobs += ("shelving",)

    def run(self):
        """Run at random, then let everything come to rest, and return what happened."""
        for _ in range(20 * len(self.waiting)):
            if self.random.random() < 0.2:
                self.submit()
            self.step()
        self.is_calm = True
        while self.waiting:
            self.submit()
        for _ in range(MOST_ROUNDS):
            self.pass_time(1_500)
            self.skip_what_is_far()
            for work in (self.schedule, self.route, self.work):
                work()
            for reader in topics.RECORDERS:
                self.write(reader)
            if self.mortals.is_quiet():
                break
        return self.mortals.history(
            expected_dead=DOOMED,
            in_flight=0 if self.weather is Weather.PEACE else None,
        )

    def step(self):
        if self.weather is Weather.OBLIVION and self.random.random() < CHANCE_TO_FORGET:
            self.forget()
        self.random.choice(
            (
                self.schedule,
                self.route,
                self.work,
                self.work,
                self.write,
                self.write,
                self.repeat,
                self.change,
                lambda: self.pass_time(self.random.choice((10, 300, 2_500, 7_000))),
            )
        )()

    def forget(self):
        hot = self.mortals.hot
        self.random.choice((hot.forget, hot.forget_shards, hot.forget_lanes, hot.restart))()

    def rebuild(self):
        """Rebuild what is cold; a rebuild that waits for ever, as of a broken system, is killed."""
        system, clock = self.mortals.system, self.mortals.clock
        until = clock() + LONGEST_REBUILD_MS

        def pause(span):
            if clock() > until:
                self.mortals.present.die()
            system.write_meanwhile(span)

        self.mortals.live(lambda: system.rebuild(pause=pause), death=self.death("rebuild"))

    def pass_time(self, milliseconds):
        self.mortals.clock.move(timedelta(milliseconds=milliseconds))

    def skip_what_is_far(self):
        """Skip the time in which nothing is due."""
        due_ms = self.mortals.system.next_due_ms()
        if due_ms is not None and due_ms - self.mortals.clock() > LONG_MS:
            self.pass_time(due_ms - self.mortals.clock())

    def timing(self):
        """Choose when a task should start: at once, soon, or so late that the ledger keeps it."""
        far_ms = 20_000 if self.weather is Weather.OBLIVION else FAR_MS
        delay_ms = self.random.choice((None, None, None, 0, 2_000, 20_000, far_ms))
        return None if delay_ms is None else Timing(delay_ms=delay_ms)

    def change(self):
        """Change a task's time, if it still waits."""
        known = [one.id for one in self.mortals.submits if one.id is not None]
        if known and self.weather is not Weather.OBLIVION:
            delay_ms = self.random.choice((0, 1_000, 20_000, FAR_MS))
            death = self.death("gateway after the script of change")
            wanted = WantedChange(delay_ms=delay_ms)
            self.mortals.change(self.random.choice(known), wanted, death=death)

    def repeat(self):
        self.mortals.repeat(self.random)

    # Its processes

    def submit(self):
        """Submit the next task; submit it again later when there was no answer."""
        if self.waiting:
            label = self.waiting[0]
            asked = self.mortals.submit(
                label,
                key=label,
                entropy=self.random.random(),
                timing=self.timings.get(label),
                death=self.death("gateway"),
                kind=NOBODYS if label == STRANGER else TYPE,
            )
            if asked.id is not None:
                self.waiting.pop(0)

    def schedule(self):
        function = self.random.choice(self.jobs)
        self.mortals.live(self.mortals.system.tick, death=self.death(function))
        if self.weather is Weather.OBLIVION:
            self.rebuild()

    def route(self):
        self.read(topics.DISPATCHER, "dispatcher")

    def write(self, reader=None):
        self.read(reader or self.random.choice(topics.RECORDERS[:2]), "recorder")

    def read(self, reader, function):
        most = self.random.randint(1, 6)
        step = self.mortals.system.step
        self.mortals.live(lambda: step(reader, most=most), death=self.death(function))

    def work(self):
        step, strikes = self.mortals.system.step, self.random.random() < CHANCE_TO_HARM
        death = self.death("worker") if strikes or self.is_successor_doomed else None
        loses = self.weather is Weather.OBLIVION and self.random.random() < CHANCE_TO_LOSE
        may_die = None if loses else self.may_harm
        self.mortals.live(lambda: step(WORK, most=1), death=death, may_die=may_die)

    def death(self, function):
        """Choose where a process dies, if at all."""
        is_struck = function == "worker" or self.random.random() < CHANCE_TO_DIE
        if self.is_calm or self.weather is Weather.PEACE or not is_struck:
            return None
        return AFTER_CLAIM if self.is_successor_doomed else self.random.choice(deaths(function))

    def may_harm(self, labels):
        """Return whether the platform may kill the process of these tasks, which counts it.

        A poison task is lost twice in company. A healthy one that is lost once more than twice,
        beside it and by the platform, ends as `poison`: a known limit, and not tested here.
        """
        to_come = max(MOST_LOSSES - self.harm[POISON], 0) if self.weather is Weather.POISON else 0
        if any(self.harm[label] + to_come >= MOST_LOSSES for label in labels - {POISON}):
            return False
        self.harm.update(labels)
        return True

    # Its handler

    def perform(self, task):
        process = self.mortals.present
        if process.is_dead:
            process.die()
        if task.metadata["label"] == POISON:
            self.harm.update(process.labels)
            process.die()
        if not self.is_calm and self.depth < DEEPEST_PAUSE:
            if self.weather is Weather.PEACE:
                self.meet()
            elif (
                self.weather is not Weather.OBLIVION
                and self.pauses()
                and self.may_harm(process.labels)
            ):
                self.pause()
            if task.attempt < task.max_attempts and self.random.random() < CHANCE_TO_DIE:
                return Retry("not today", timedelta(seconds=1))
        self.mortals.take_effect(task)
        return Succeeded("done")

    def meet(self):
        """Let time pass, too little for a lease to expire, while other processes run."""
        self.depth += 1
        for _ in range(self.random.randrange(6)):
            self.random.choice((self.repeat, self.work, self.route, self.schedule))()
        self.depth -= 1

    def pauses(self):
        return self.random.random() < CHANCE_TO_HARM

    def pause(self):
        """Pause for so long that others may take over what is held here."""
        self.depth += 1
        if self.weather is Weather.STORM and self.random.random() < CHANCE_TO_HARM:
            self.outlive_the_successor()
        else:
            self.pass_time(self.random.choice((10, 7_000)))
            for _ in range(self.random.randrange(12)):
                self.step()
        self.depth -= 1

    def outlive_the_successor(self):
        """Wake up after the successor died, with no other in its place."""
        self.pass_time(7_000)
        self.mortals.live(self.mortals.system.tick)
        self.is_successor_doomed = True
        self.work()
        self.is_successor_doomed = False
