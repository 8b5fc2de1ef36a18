"""Whoever ran beside a task that killed their process comes back soon, and dies of it never."""

import random
import signal
import time
from threading import Event, Thread

from tests.faults.lanes import await_empty, waiting_in
from tests.faults.nemesis import kill
from tests.faults.run import a_seed, last_end_ms, now_ms
from tests.faults.scale import scaled
from tests.faults.stack import PLACES, WORKER
from tests.waiting import eventually

TASKS = 2 * PLACES
SECONDS = scaled(4, 10)
BACK_WITHIN_MS = 10_000
"""After this long the tasks of a killed worker run again, where places are free."""

POISON = 2
BUSY_SECONDS = 0.5
STILL_BUSY_SECONDS = scaled(5, 600)
"""For this long both processes stay busy after the poison has run twice, unless it dies before."""

TAKERS_KILLED = scaled(12, 1_000)
QUICK_SECONDS = 0.05
AHEAD = 400
"""So many tasks wait, at least, while takers are killed."""

MOST_LOSSES = 3


def test_a_hundred_tasks_of_killed_processes_run_again_together(stack, run, figures):
    run.submit_many([run.request(n, sleep_seconds=SECONDS) for n in range(TASKS)])
    eventually(lambda: len(starts_ms(stack, run)) == TASKS, within=60, reason="all of them run")
    killed_ms = now_ms()
    stack.signal(signal.SIGKILL, WORKER)
    run.await_ends()
    history = run.verify(kills=2, in_flight=PLACES)
    back_ms = max(max(times) for times in starts_ms(stack, run).values()) - killed_ms
    cost_ms = last_end_ms(history) - killed_ms
    figures.tell(
        "dead company",
        f"{TASKS} tasks of {SECONDS} s lose both processes: all run again after"
        f" {back_ms / 1000:.1f} s, the last end is {cost_ms / 1000:.1f} s after the kill",
    )
    assert {row.losses for row in history.rows} == {1}
    assert back_ms <= BACK_WITHIN_MS
    assert cost_ms <= BACK_WITHIN_MS + 2 * SECONDS * 1000
    await_empty(stack)


def test_poison_is_found_though_all_processes_are_always_busy(stack, run, figures):
    """Whoever died beside it twice runs alone as well, and nobody but the poison is dead."""
    poison = [run.request(n, ill="kill") for n in range(POISON)]
    run.expected_dead.update(one["idempotency_key"] for one in poison)
    with Busy(run, BUSY_SECONDS, first=POISON):
        eventually(lambda: len(starts_ms(stack, run)) >= PLACES, within=60, reason="many run")
        for one in poison:  # side by side, one may lose its process before it leaves a trace
            run.submit([one])
            twice_ms = wait_for_second_death(stack, run, one["idempotency_key"])
        eventually(
            lambda: dead(run) == POISON or now_ms() - twice_ms > STILL_BUSY_SECONDS * 1000,
            within=STILL_BUSY_SECONDS + 60,
            reason="both processes were busy for long",
        )
        meanwhile = dead(run)
    run.await_ends(within=300)
    history = run.verify(kills=MOST_LOSSES * POISON, in_flight=2 * PLACES)
    ends = {row.label: row for row in history.rows}
    innocent = [row.losses for label, row in ends.items() if label not in run.expected_dead]
    figures.tell(
        "dead company",
        f"{POISON} poison tasks among {len(innocent):,} on two busy processes: "
        f"{meanwhile} found while they were busy, {sum(innocent)} losses of innocent ones,"
        f" at most {max(innocent)} of one",
    )
    found = [(ends[one].reason, ends[one].losses) for one in sorted(run.expected_dead)]
    assert found == [("poison", MOST_LOSSES)] * POISON
    await_empty(stack)


def test_kills_of_takers_leak_no_places(stack, run, figures):
    """At the end nothing waits, nothing is in flight, and no count is left."""
    chance = random.Random(a_seed())
    with Busy(run, QUICK_SECONDS) as busy:
        strike, kills, began = kill(stack, WORKER), 0, time.monotonic()
        while kills < TAKERS_KILLED:
            Event().wait(chance.uniform(0.2, 0.8))
            kills += strike(chance) is not None
        took = time.monotonic() - began
    run.await_ends(within=600)
    after = time.monotonic() - began - took
    run.expected_dead.update(row.label for row in run.rows() if row.reason == "poison")
    history = run.verify(kills=kills, in_flight=PLACES)
    await_empty(stack)
    losses = sum(row.losses for row in history.rows)
    figures.tell(
        "dead company",
        f"{kills:,} kills of takers in {took:.0f} s amid {busy.submitted:,} tasks: no place"
        f" is left in flight {after:.0f} s later, {losses:,} losses",
    )


class Busy:
    """Keeps both processes busy with short tasks, as long as it lasts."""

    def __init__(self, run, seconds, first=0):
        self._run, self._seconds, self._first = run, seconds, first
        self._is_over = Event()
        self._thread = Thread(target=self._work)
        self.submitted = 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _work(self):
        while not self._is_over.wait(0.05):
            if waiting_in(self._run.stack) < AHEAD:
                self._submit_some()

    def _submit_some(self):
        first = self._first + self.submitted
        some = range(first, first + PLACES)
        self._run.submit([self._run.request(n, sleep_seconds=self._seconds) for n in some])
        self.submitted += PLACES


def wait_for_second_death(stack, run, label):
    """Wait until a poison task has run twice; return when."""

    def ran_twice():
        return len(starts_ms(stack, run).get(label, ())) >= 2

    eventually(ran_twice, within=120, reason="the poison has run twice")
    return now_ms()


def dead(run):
    return sum(row.status == "dead" for row in run.rows())


def starts_ms(stack, run):
    """Return the moments at which each task began."""
    begun = {}
    for line in stack.left(set(run.ids)):
        if line["kind"] == "start":
            begun.setdefault(line["label"], []).append(line["at_ms"])
    return begun
