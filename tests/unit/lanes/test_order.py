"""The place of a task in its line: what it follows from, and that it lasts as long as it should."""

from datetime import timedelta

import pytest
from msgspec import Struct

from taskmill.core import codec
from taskmill.core.task import Millis, Priority, Status, Timing
from taskmill.core.time import is_delayed
from taskmill.core.view import TaskView
from taskmill.lanes.order import order_of
from taskmill.lanes.pauses import pause, resume
from taskmill.lanes.rules import PauseOrder, key_of
from taskmill.ledger.projection import envelope_of
from taskmill.orders.change import ChangeAccepted, WantedChange
from taskmill.submission.submission import Accepted
from taskmill.testing.clock import MovableClock
from taskmill.testing.system import System
from taskmill.worker import Retry, Snooze, serve
from tests.builders import NOW, a_request, an_envelope

MINUTE, DAY = 60_000, 86_400_000
FIRST = NOW - DAY


@pytest.mark.parametrize(
    ("fields", "order"),
    [
        ({}, NOW * 1000),
        ({"index": 17}, NOW * 1000 + 17),
        ({"submitted": FIRST, "index": 999}, FIRST * 1000 + 999),
        ({"generation": 0, "created_at_ms": FIRST}, FIRST * 1000),
        ({"turn": 3, "attempt": 2}, NOW * 1000),
        ({"timing": Timing(run_at_ms=NOW + 5), "index": 2}, (NOW + 5) * 1000 + 2),
        ({"timing": Timing(delay_ms=5)}, (NOW + 5) * 1000),
        ({"timing": Timing(delay_ms=0)}, NOW * 1000),
        ({"timing": Timing(run_at_ms=NOW + 5), "turn": 2}, (NOW + 5) * 1000),
        ({"timing": Timing(run_at_ms=NOW)}, NOW * 1000),
        ({"timing": Timing(run_at_ms=FIRST)}, NOW * 1000),
        ({"timing": Timing(run_at_ms=NOW + 5, said_ms=NOW + 5, turn=2), "turn": 2}, NOW * 1000),
        ({"timing": Timing(expires_at_ms=NOW + 5)}, NOW * 1000),
        ({"order_ms": NOW + 7, "index": 3}, (NOW + 7) * 1000 + 3),
        ({"order_ms": NOW + 7, "timing": Timing(run_at_ms=NOW + 9)}, (NOW + 7) * 1000),
        ({"order_ms": FIRST, "submitted": NOW}, FIRST * 1000),
    ],
    ids=str,
)
def test_the_order_follows_from_the_envelope(fields, order):
    assert order_of(an_envelope(**fields)) == order


def test_every_order_has_sixteen_digits():
    far = an_envelope(timing=Timing(run_at_ms=253_402_300_799_999), index=999)
    assert order_of(far) == 9_999_999_999_999_999


class Anything(Struct):
    say: str = ""


class Queue:
    """The whole queue in memory; its type is paused until it is let run."""

    def __init__(self, *answers):
        self.answers = list(answers) or ["done"]
        self.started = []
        worker = serve(Anything, self.perform, max_attempts=5)
        self.system = System({"echo": worker}, clock=MovableClock())
        self.stop()

    def perform(self, _payload, task):
        self.started.append(task.id)
        return self.answers.pop(0)

    def stop(self):
        pause(PauseOrder(key=key_of("echo"), by="a test"), self.system.stores)

    def work(self):
        resume(key_of("echo"), self.system.stores)
        self.system.run()
        self.stop()

    @property
    def now(self):
        return self.system.clock()

    def submitted(self, **fields):
        request = a_request(created_at_ms=self.now, **fields)
        (receipt,) = self.system.submit([request])
        assert isinstance(receipt, Accepted)
        self.system.run()
        return receipt.task

    def changed(self, task, **wanted):
        answer = self.system.change(task.id, WantedChange(**wanted))
        assert isinstance(answer, ChangeAccepted), answer
        self.system.run()

    def pass_ms(self, milliseconds):
        self.system.pass_time(timedelta(milliseconds=milliseconds))

    def due_ms(self, task):
        return self.system.find(task.id).due_at_ms

    def view(self, task):
        found = self.system.find(task.id)
        assert isinstance(found, TaskView), found
        return found

    def owed(self, task):
        """Return the envelope that Redis owes to the lane, or that stands in it."""
        (snapshot,) = self.system.stores.control.see([task.id])
        owed = [one.task for one in snapshot.owed.values() if one.task is not None]
        held = self.system.stores.hot.lanes["echo"].tasks.items()
        there = [(member.turn, one.raw) for member, one in held if member.id == task.id]
        return owed[0] if owed else codec.open_envelope(max(there)[1])

    def recorded(self, task):
        """Return the envelope that a rebuild would make of the ledger's row."""
        (row,) = self.system.stores.rows.of([task.id])
        return envelope_of(row, row.spec)

    def order(self, task):
        """Return the task's order, which the ledger must know as well as Redis."""
        owed, recorded = self.owed(task), self.recorded(task)
        assert (owed.turn, order_of(owed)) == (recorded.turn, order_of(recorded))
        assert (owed.priority, owed.fairness_key) == (recorded.priority, recorded.fairness_key)
        return order_of(owed)


def test_a_task_keeps_its_order_over_retries():
    queue = Queue(Retry("busy"), Retry("busy"))
    task = queue.submitted(index=7)
    order = task.generation * 1000 + 7
    assert queue.order(task) == order
    for _ in range(2):
        queue.work()
        assert queue.view(task).status is Status.RETRYING
        assert queue.order(task) == order
        queue.pass_ms(DAY)
        assert queue.order(task) == order


def test_a_snooze_takes_the_order_of_its_end_and_later_turns_keep_it():
    queue = Queue(Snooze(timedelta(minutes=1), "early"), Retry("busy"), Retry("busy"))
    task = queue.submitted(index=7)
    queue.work()
    order = queue.due_ms(task) * 1000 + 7
    assert order == (queue.now + MINUTE) * 1000 + 7 == queue.order(task)
    queue.pass_ms(MINUTE)
    for _ in range(2):
        queue.work()
        queue.pass_ms(DAY)
        assert queue.order(task) == order
    assert len(queue.started) == 3


def test_the_last_of_two_snoozes_counts():
    queue = Queue(*[Snooze(timedelta(minutes=1), "early")] * 2)
    task = queue.submitted()
    for _ in range(2):
        queue.work()
        last_ms = queue.due_ms(task)
        queue.pass_ms(MINUTE)
        assert queue.order(task) == last_ms * 1000


@pytest.mark.parametrize("timing", [None, Timing(delay_ms=MINUTE)], ids=["at once", "after a wait"])
def test_another_priority_of_a_task_in_line_leaves_its_order(timing):
    queue = Queue()
    task = queue.submitted(timing=timing, index=3)
    queue.pass_ms(2 * MINUTE)
    order = queue.order(task)
    assert queue.view(task).status in {Status.QUEUED, Status.SCHEDULED}
    assert order == (task.generation + (MINUTE if timing else 0)) * 1000 + 3
    queue.changed(task, priority=Priority.CRITICAL)
    assert (queue.owed(task).turn, queue.order(task)) == (2, order)
    assert not is_delayed(queue.owed(task)), "it is due now"
    assert queue.view(task).spec.priority is queue.owed(task).priority is Priority.CRITICAL
    queue.pass_ms(MINUTE)
    queue.work()
    view = queue.view(task)
    assert view.status is Status.SUCCEEDED
    assert view.started_at_ms - view.run_at_ms == (2 if timing else 3) * MINUTE


def test_another_priority_leaves_the_time_of_a_scheduled_task():
    queue = Queue()
    task = queue.submitted(timing=Timing(delay_ms=DAY))
    due_ms = queue.due_ms(task)
    queue.changed(task, priority=Priority.LOW)
    assert queue.due_ms(task) == due_ms == queue.recorded(task).order_ms
    queue.pass_ms(due_ms - queue.now - 1)
    queue.work()
    assert queue.started == []
    queue.pass_ms(1)
    queue.work()
    assert queue.started == [task.id]
    assert order_of(queue.recorded(task)) == due_ms * 1000


@pytest.mark.parametrize("is_snoozed", [False, True])
def test_another_priority_leaves_time_and_order_of_a_task_that_waits_for_its_next_attempt(
    is_snoozed,
):
    wait = timedelta(minutes=1)
    queue = Queue(Snooze(wait, "early") if is_snoozed else Retry("busy", wait), Retry("busy"))
    task = queue.submitted()
    queue.work()
    order, due_ms = queue.order(task), queue.due_ms(task)
    assert order == (due_ms if is_snoozed else task.generation) * 1000
    queue.changed(task, priority=Priority.HIGH)
    assert (queue.order(task), queue.due_ms(task)) == (order, due_ms)
    queue.pass_ms(MINUTE)
    queue.work()
    assert len(queue.started) == 2
    assert queue.order(task) == order, "and its later turns keep it"


def test_another_time_is_another_order():
    queue = Queue(Snooze(timedelta(minutes=1), "early"))
    task = queue.submitted()
    queue.work()
    queue.changed(task, delay_ms=2 * MINUTE, priority=Priority.LOW)
    assert queue.order(task) == (queue.now + 2 * MINUTE) * 1000
    queue.changed(task, run_at_ms=Millis(queue.now))
    assert queue.order(task) == task.generation * 1000, "it waits for nothing"


def test_a_rebuild_keeps_order_and_priority():
    queue = Queue(Snooze(timedelta(minutes=1), "early"))
    task = queue.submitted(fairness_key="a customer", index=4)
    queue.work()
    order = queue.order(task)
    queue.changed(task, priority=Priority.CRITICAL)
    queue.system.stores.hot.forget()
    queue.system.rebuild()
    assert queue.order(task) == order
    assert queue.owed(task).priority is Priority.CRITICAL
    assert queue.owed(task).fairness_key == "a customer"
    assert queue.view(task).spec.priority is Priority.CRITICAL


def test_a_redriven_task_has_its_priority_and_the_order_of_its_submission():
    queue = Queue(Snooze(timedelta(minutes=1), "early"))
    task = queue.submitted(index=4)
    queue.work()
    queue.changed(task, priority=Priority.HIGH)
    queue.system.cancel(task.id)
    queue.pass_ms(DAY)
    queue.system.redrive(task.id)
    queue.system.run()
    assert queue.view(task).generation > task.generation
    assert queue.order(task) == task.generation * 1000 + 4
    assert queue.view(task).spec.priority is queue.owed(task).priority is Priority.HIGH


def test_a_redrive_that_comes_before_the_ledger_has_read_a_change_keeps_it():
    queue = Queue()
    task = queue.submitted(timing=Timing(delay_ms=MINUTE))
    wanted = WantedChange(priority=Priority.CRITICAL, metadata={"a": "b"})
    assert isinstance(queue.system.change(task.id, wanted), ChangeAccepted)
    queue.system.cancel(task.id)
    assert queue.recorded(task).priority is Priority.NORMAL, "it has read none of this"
    queue.system.redrive(task.id)
    for _ in range(2):
        spec = queue.view(task).spec
        assert (spec.priority, spec.metadata) == (Priority.CRITICAL, {"a": "b"})
        queue.system.run()
    assert queue.recorded(task).priority is queue.owed(task).priority is Priority.CRITICAL
