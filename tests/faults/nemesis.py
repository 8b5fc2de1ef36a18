"""Injects faults by a seeded schedule, only into what the test's own system started."""

import os
import random
import signal
from contextlib import contextmanager, suppress
from threading import Event, Thread

from tests.faults.run import now_ms


class Nemesis:
    """Strikes at random moments with one of its faults, until it is stopped."""

    def __init__(self, blows, *, seed, between=(0.5, 2.0)):
        self.seed = seed
        self.strikes = []
        self.last_ms = now_ms()
        self._blows = list(blows)
        self._between = between
        self._random = random.Random(seed)
        self._is_over = Event()
        self._failure = None

    @contextmanager
    def at_work(self):
        thread = Thread(target=self._work)
        thread.start()
        try:
            yield self
        finally:
            self._is_over.set()
            thread.join()
        if self._failure is not None:
            raise self._failure

    def _work(self):
        try:
            for blow in self._in_rounds():
                if self._is_over.wait(self._random.uniform(*self._between)):
                    return
                answer = blow(self._random)
                if answer:
                    self.strikes.append(answer)
                    self.last_ms = now_ms()
        except Exception as failure:  # noqa: BLE001 - raised again where the test waits
            self._failure = failure

    def _in_rounds(self):
        """Yield each fault before any is repeated."""
        while True:
            yield from self._random.sample(self._blows, len(self._blows))


def kill(stack, *names, number=signal.SIGKILL):
    """Return a fault that signals one process of these functions, or of any."""

    def strike(chance):
        pids = stack.pids(*names)
        if not pids:
            return None
        with suppress(ProcessLookupError):
            os.kill(chance.choice(pids), number)
            return f"{signal.Signals(number).name} {' '.join(names)}"

    return strike


def freeze(stack, seconds, *names):
    """Return a fault that stops one process for a while, and then continues it."""

    def strike(chance):
        pids = stack.pids(*names)
        if not pids:
            return None
        pid = chance.choice(pids)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            Event().wait(chance.uniform(0, seconds))
            os.kill(pid, signal.SIGCONT)
        return f"frozen {' '.join(names)}"

    return strike


def cut(stack, store):
    """Return a fault that resets every connection to a store."""
    return lambda _chance: f"{stack.ground.proxies[store].reset()} lines to {store} reset"


def slow(stack, store, seconds):
    """Return a fault that delays all traffic to and from a store for a while."""

    def strike(chance):
        weather = stack.ground.proxies[store].weather
        weather.latency_seconds = chance.uniform(0, 0.05)
        Event().wait(chance.uniform(0, seconds))
        weather.latency_seconds = 0.0
        return f"{store} slow"

    return strike


def swallow(stack, store, seconds):
    """Return a fault that silences the connections to a store for a while."""

    def strike(chance):
        weather = stack.ground.proxies[store].weather
        weather.is_black_hole = True
        Event().wait(chance.uniform(0, seconds))
        weather.is_black_hole = False
        return f"{store} silent"

    return strike
