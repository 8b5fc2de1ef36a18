"""A task with a time starts soon after it, never before, and survives a crash on any line."""

from datetime import timedelta

import pytest
from msgspec import Struct

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.lifetimes import LEASE
from taskmill.core.task import Timing
from taskmill.core.time import FAR, FAR_RECORD
from taskmill.core.view import Nowhere, TaskView, Unsure
from taskmill.orders.cancel import CancelAccepted
from taskmill.orders.change import ChangeAccepted, NotWaiting, TooLate, WantedChange
from taskmill.recovery.rebuild import Rebuild
from taskmill.submission.submission import Accepted, KeyReused, ReplayOf
from taskmill.testing.clock import MovableClock
from taskmill.testing.system import System
from taskmill.worker import Retry, serve
from tests.builders import a_request

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
DELAYS = [MINUTE, DAY, 365 * DAY]


class Anything(Struct):
    say: str = ""


class Line:
    """The whole queue in memory, with the time of each performance."""

    def __init__(self, answer="done"):
        self.begun = []
        self.asked = 0
        self.answer = answer
        worker = serve(Anything, self.perform, max_attempts=3)
        self.system = System({"echo": worker}, clock=MovableClock())

    def perform(self, _payload, task):
        self.begun.append((task.id, self.now, dict(task.metadata)))
        return self.answer() if callable(self.answer) else self.answer

    @property
    def now(self):
        return self.system.clock()

    def submit(self, key=None, **timing):
        more = {name: timing.pop(name) for name in ("fingerprint", "type") if name in timing}
        self.asked += 1
        more["submission"] = f"request {self.asked}"
        request = a_request(
            key, timing=Timing(**timing) if timing else None, created_at_ms=self.now, **more
        )
        (receipt,) = self.system.submit([request])
        return receipt

    def accepted(self, key=None, **timing):
        receipt = self.submit(key, **timing)
        assert isinstance(receipt, Accepted)
        self.system.run()
        return receipt.task.id

    def view(self, task_id):
        found = self.system.find(task_id)
        assert isinstance(found, TaskView), found
        return found

    def pass_ms(self, milliseconds):
        self.system.pass_time(timedelta(milliseconds=milliseconds))


@pytest.fixture
def line():
    return Line()


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("key", [None, "k"])
def test_a_task_begins_at_its_time(line, delay, key):
    begin = line.now
    task = line.accepted(key, delay_ms=delay)
    assert line.view(task).status == "scheduled"
    line.pass_ms(delay - 1)
    assert line.begun == []
    assert line.view(task).status == "scheduled"
    line.pass_ms(1)
    assert [(one, at) for one, at, _ in line.begun] == [(task, begin + delay)]
    assert line.view(task).status == "succeeded"


def test_a_task_of_the_past_begins_at_once(line):
    task = line.accepted(run_at_ms=line.now - DAY)
    assert line.view(task).status == "succeeded"


@pytest.mark.parametrize("key", [None, "k"])
def test_a_far_one_leaves_redis_but_for_its_key(line, key):
    task = line.accepted(key, delay_ms=365 * DAY)
    line.pass_ms(FAR_RECORD / timedelta(milliseconds=1) + 1)
    hot = line.system.stores.hot
    assert not hot.due
    record = hot.record(task)
    assert record.is_key_alone if key else record is None
    assert line.view(task).status == "scheduled"


@pytest.mark.parametrize("later", [0, DAY, 30 * DAY])
def test_a_key_names_a_far_task_until_it_has_ended(line, later):
    task = line.accepted("k", delay_ms=100 * DAY)
    line.pass_ms(later)
    again = line.submit("k", delay_ms=100 * DAY)
    assert isinstance(again, ReplayOf)
    assert (again.task.id, again.task.status) == (task, "scheduled")
    assert isinstance(line.submit("k", fingerprint="other"), KeyReused)
    line.pass_ms(100 * DAY - later)
    assert len(line.begun) == 1


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("later", [0, 30_000, 2 * HOUR])
def test_what_waits_can_be_cancelled(line, delay, later):
    task = line.accepted(delay_ms=delay)
    line.pass_ms(min(later, delay - 1))
    assert isinstance(line.system.cancel(task), CancelAccepted)
    line.pass_ms(delay)
    assert line.begun == []
    assert line.view(task).status == "cancelled"
    assert not line.system.stores.rows.far_tasks


@pytest.mark.parametrize("delay", DELAYS)
def test_a_cancelled_one_that_is_redriven_begins_at_once(line, delay):
    task = line.accepted(delay_ms=delay)
    line.system.cancel(task)
    line.system.run()
    line.system.redrive(task)
    line.system.run()
    assert len(line.begun) == 1
    assert line.view(task).status == "succeeded"
    line.pass_ms(delay)
    assert len(line.begun) == 1


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("later", [0, 30_000, 2 * HOUR])
def test_nothing_that_waits_is_lost_with_redis(line, key, delay, later):
    begin = line.now
    task = line.accepted(key, delay_ms=delay)
    line.pass_ms(min(later, delay - 20_000))
    line.system.stores.hot.forget()
    line.system.rebuild()
    if key:
        assert isinstance(line.submit(key, delay_ms=delay), ReplayOf)
    assert line.view(task).status == "scheduled"
    line.pass_ms(begin + delay - line.now - 1)
    assert line.begun == []
    line.pass_ms(1 + LEASE / timedelta(milliseconds=1))
    assert len(line.begun) == 1


def test_a_far_task_that_came_near_while_redis_was_away_is_brought_near(line):
    begin = line.now
    task = line.accepted("k", delay_ms=HOUR)
    line.system.stores.hot.restart()
    line.system.clock.move(timedelta(milliseconds=HOUR - 2 * MINUTE))
    line.system.rebuild()
    line.pass_ms(begin + HOUR - line.now)
    assert [one for one, _, _ in line.begun] == [task]


def test_a_far_task_survives_a_ledger_that_is_away_when_it_comes(line):
    begin = line.now
    line.system.stores.rows.is_away = True
    receipt = line.submit(delay_ms=HOUR)
    for reader in line.system.readers:
        if reader.name == "dispatcher":
            line.system.step(reader)
    line.system.stores.rows.is_away = False
    line.pass_ms(begin + HOUR - line.now)
    assert [one for one, _, _ in line.begun] == [receipt.task.id]


def test_a_dispatcher_that_comes_hours_late_loses_nothing(line):
    receipt = line.submit(delay_ms=2 * HOUR)
    for reader in line.system.readers:
        if reader.name != "dispatcher":
            line.system.step(reader)
    line.system.clock.move(timedelta(hours=5))
    line.system.run()
    assert [one for one, _, _ in line.begun] == [receipt.task.id]


def test_a_delay_that_was_taken_without_redis_counts_from_when_redis_knows_it(line):
    line.system.stores.hot.restart()
    receipt = line.submit(delay_ms=MINUTE)
    assert (receipt.is_deferred, receipt.task.status) == (True, "scheduled")
    line.system.clock.move(timedelta(seconds=30))
    line.system.stores.hot.open()
    line.system.stores.hot.lanes.open()
    begin = line.now
    line.system.run()
    line.pass_ms(MINUTE - 1)
    assert line.begun == []
    line.pass_ms(1)
    assert [at for _, at, _ in line.begun] == [begin + MINUTE]


def test_a_retry_of_a_delayed_task_waits_for_its_back_off_alone(line):
    answers = iter([Retry("not yet", timedelta(seconds=5)), "done"])
    line.answer = lambda: next(answers)
    begin = line.now
    line.accepted(delay_ms=MINUTE)
    line.pass_ms(2 * MINUTE)
    assert [at - begin for _, at, _ in line.begun] == [MINUTE, MINUTE + 5_000]


def test_a_task_that_is_told_too_late_has_expired(line):
    task = line.accepted(delay_ms=MINUTE, expires_at_ms=line.now + MINUTE - 1)
    line.pass_ms(MINUTE)
    seen = line.view(task)
    assert line.begun == []
    assert (seen.status, seen.ending.reason) == ("dead", "expired")
    row = line.system.stores.rows.find(task)
    assert (row.started_at_ms, row.attempt) == (None, 1)


def test_a_task_that_began_in_time_may_be_tried_again_after_it(line):
    answers = iter([Retry("not yet", timedelta(seconds=50)), "done"])
    line.answer = lambda: next(answers)
    task = line.accepted(expires_at_ms=line.now + 1_000)
    line.pass_ms(MINUTE)
    assert line.view(task).status == "succeeded"


def stand_still(line, *functions):
    """Pause the reading of these functions until the next call."""
    known = line.__dict__.setdefault("readers", line.system.readers)
    line.system.readers = [reader for reader in known if reader.name not in functions]


@pytest.mark.parametrize("timing", [{}, {"delay_ms": 30_000}], ids=str)
@pytest.mark.parametrize("key", [None, "k"])
def test_what_stands_in_line_expires_when_its_time_is_over(line, timing, key):
    end = line.now + MINUTE
    stand_still(line, "worker-echo")
    task = line.accepted(key, **timing, expires_at_ms=end)
    line.pass_ms(MINUTE)
    assert line.view(task).status in {"queued", "scheduled"}
    line.pass_ms(1)
    seen = line.view(task)
    assert (seen.status, seen.ending.reason, seen.started_at_ms) == ("dead", "expired", None)
    assert seen.ending.finished_at_ms == end + 1
    stand_still(line)
    line.pass_ms(HOUR)
    assert line.begun == []
    assert line.system.stores.rows.find(task) == line.view(task)
    assert line.system.stores.rows.expiries == {}


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("end", [1_000, 2 * HOUR])
def test_what_would_begin_too_late_expires_without_waiting_for_that(line, key, delay, end):
    end = line.now + min(end, delay - 1)
    task = line.accepted(key, delay_ms=delay, expires_at_ms=end)
    line.pass_ms(end - line.now + 1)
    assert line.view(task).ending.reason == "expired"
    assert line.system.stores.rows.find(task).status == "dead"
    assert not line.system.stores.rows.far_tasks
    line.pass_ms(delay)
    assert line.begun == []


def test_what_waits_for_a_worker_that_nobody_deployed_expires_before(line):
    task = line.accepted(type="unheard_of", expires_at_ms=line.now + MINUTE)
    line.pass_ms(MINUTE + 1)
    assert line.view(task).ending.reason == "expired"
    line.pass_ms(HOUR)
    assert line.system.stores.rows.find(task).ending.reason == "expired"


def test_what_is_put_off_expires_as_before(line):
    task = line.accepted(delay_ms=1_000, expires_at_ms=line.now + HOUR)
    line.system.change(task, WantedChange(delay_ms=HOUR - MINUTE))
    stand_still(line, "worker-echo")
    line.pass_ms(HOUR + 1)
    assert line.view(task).ending.reason == "expired"


def test_a_claim_in_the_last_moment_wins(line):
    task = line.accepted(delay_ms=MINUTE - 1, expires_at_ms=line.now + MINUTE)
    line.pass_ms(DAY)
    assert line.view(task).status == "succeeded"
    assert line.system.stores.rows.expiries == {}


def test_nothing_expires_while_redis_is_cold_and_all_does_when_it_is_back(line):
    stand_still(line, "worker-echo")
    task = line.accepted("k", expires_at_ms=line.now + MINUTE)
    line.system.stores.hot.forget()
    line.system.clock.move(timedelta(hours=1))
    line.system.run()
    assert line.system.stores.rows.find(task).status == "queued"
    stores, pause = line.system.stores, line.system.write_meanwhile
    Rebuild(stores, nonce="a shard's", grace=LEASE, pause=pause).run()
    line.system.run()
    assert line.view(task).status == "queued", "its lease was restored: somebody may run it"
    line.system.rebuild()
    line.system.run()
    assert line.view(task).ending.reason == "expired"


def test_an_expired_one_whose_death_nobody_told_is_told_by_the_scheduler(line):
    stand_still(line, "worker-echo")
    task = line.accepted(expires_at_ms=line.now + MINUTE)
    line.system.clock.move(timedelta(milliseconds=MINUTE + 1))
    line.system.stores.log.is_away = True
    with pytest.raises(StoreUnavailable):
        line.system.tick()
    line.system.stores.log.is_away = False
    line.system.stores.log._sent.clear()  # noqa: SLF001 - its author is dead
    line.pass_ms(MINUTE)
    assert line.view(task).ending.reason == "expired"
    assert line.system.stores.rows.find(task).status == "dead"
    assert line.system.stores.rows.expiries == {}


def test_an_expired_one_that_is_redriven_runs(line):
    task = line.accepted(delay_ms=MINUTE, expires_at_ms=line.now + 1)
    line.pass_ms(MINUTE)
    line.system.redrive(task)
    line.system.run()
    assert line.view(task).status == "succeeded"


@pytest.mark.parametrize("first", [MINUTE, DAY])
@pytest.mark.parametrize("second", [0, MINUTE // 2, 2 * DAY])
@pytest.mark.parametrize("later", [0, 20_000, 2 * HOUR])
@pytest.mark.parametrize("key", [None, "k"])
def test_another_time_is_the_time(line, first, second, later, key):
    task = line.accepted(key, delay_ms=first)
    line.pass_ms(min(later, first - 1))
    begin = line.now
    answer = line.system.change(task, WantedChange(delay_ms=second, metadata={"a": "b"}))
    assert isinstance(answer, ChangeAccepted)
    assert (answer.task.status, answer.task.run_at_ms) == ("scheduled", begin + second)
    line.system.run()
    if second:
        line.pass_ms(second - 1)
        assert line.begun == []
        assert line.view(task).run_at_ms == begin + second
        line.pass_ms(1)
    assert line.begun == [(task, begin + second, {"a": "b"})]
    line.pass_ms(3 * DAY)
    assert len(line.begun) == 1
    row = line.system.stores.rows.find(task)
    assert (row.status, row.spec.metadata) == ("succeeded", {"a": "b"})


def test_other_metadata_leave_the_time_as_it_is(line):
    begin = line.now
    task = line.accepted(delay_ms=DAY)
    line.pass_ms(HOUR)
    line.system.change(task, WantedChange(metadata={"a": "b"}))
    line.pass_ms(DAY)
    assert line.begun == [(task, begin + DAY, {"a": "b"})]


def test_a_change_that_redis_forgot_with_its_author_never_was(line):
    begin = line.now
    task = line.accepted(delay_ms=MINUTE)
    line.system.stores.log.is_away = True
    assert isinstance(line.system.change(task, WantedChange(delay_ms=DAY)), Unsure)
    line.system.stores.log.is_away = False
    line.system.stores.log._sent.clear()  # noqa: SLF001 - its author is dead
    line.system.stores.hot.forget()
    line.system.rebuild()
    line.pass_ms(begin + MINUTE - line.now)
    assert [at for _, at, _ in line.begun] == [begin + MINUTE]


def test_a_change_whose_author_died_is_told_by_the_scheduler(line):
    begin = line.now
    task = line.accepted(delay_ms=MINUTE)
    line.system.stores.log.is_away = True
    line.system.change(task, WantedChange(delay_ms=DAY))
    line.system.stores.log.is_away = False
    line.system.stores.log._sent.clear()  # noqa: SLF001 - its author is dead
    line.pass_ms(10_000)
    line.system.stores.hot.forget()
    line.system.rebuild()
    line.pass_ms(2 * DAY)
    assert [at for _, at, _ in line.begun] == [begin + DAY]


RECORDERS = [reader.name for reader in topics.RECORDERS]


@pytest.mark.parametrize("key", [None, "k"])
def test_a_far_task_that_is_put_off_while_the_ledger_is_hours_behind_begins_then(line, key):
    task = line.accepted(key, delay_ms=5 * HOUR)
    stand_still(line, *RECORDERS)
    begin = line.now
    assert isinstance(line.system.change(task, WantedChange(delay_ms=20 * HOUR)), ChangeAccepted)
    line.pass_ms(10 * HOUR)
    assert line.begun == []
    stand_still(line)
    line.pass_ms(DAY)
    assert [at - begin for _, at, _ in line.begun] == [20 * HOUR]


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("age", [0, 10])
def test_a_far_task_that_is_cancelled_while_the_ledger_is_hours_behind_never_runs(line, key, age):
    task = line.accepted(key, delay_ms=age * DAY + 5 * HOUR)
    line.pass_ms(age * DAY)
    stand_still(line, *RECORDERS)
    assert isinstance(line.system.cancel(task), CancelAccepted)
    line.pass_ms(10 * HOUR)
    stand_still(line)
    line.pass_ms(DAY)
    assert line.begun == []
    assert line.system.stores.rows.find(task).status == "cancelled"


def test_what_waits_for_its_next_attempt_can_be_changed(line):
    answers = iter([Retry("not yet", timedelta(hours=5)), "done"])
    line.answer = lambda: next(answers)
    task = line.accepted()
    begin = line.now
    assert isinstance(line.system.change(task, WantedChange(delay_ms=MINUTE)), ChangeAccepted)
    assert line.view(task).status == "scheduled"
    line.pass_ms(DAY)
    assert [at - begin for _, at, _ in line.begun] == [0, MINUTE]
    kinds = [type(fact).__name__ for fact in line.system.stores.log.facts()]
    assert kinds.index("TaskDeferred") < kinds.index("TaskChanged")
    assert line.system.stores.rows.find(task).attempt == 2


def test_what_has_ended_cannot_be_changed(line):
    task = line.accepted()
    assert isinstance(line.system.change(task, WantedChange(delay_ms=1)), NotWaiting)


def test_nothing_is_put_off_until_it_has_expired(line):
    task = line.accepted(delay_ms=MINUTE, expires_at_ms=line.now + HOUR)
    assert line.system.change(task, WantedChange(delay_ms=HOUR)) == TooLate(line.now + HOUR)
    assert isinstance(line.system.change(task, WantedChange(delay_ms=HOUR - 1)), ChangeAccepted)
    line.pass_ms(DAY)
    assert len(line.begun) == 1


def test_nobody_can_change_what_is_not_there(line):
    line.accepted()
    unknown = "01a31edd-2c00-7000-8000-000000000009"
    assert isinstance(line.system.change(unknown, WantedChange(delay_ms=1)), Nowhere)


def test_nothing_is_changed_in_a_redis_that_forgot(line):
    task = line.accepted(delay_ms=MINUTE)
    line.system.stores.hot.forget()
    assert isinstance(line.system.change(task, WantedChange(delay_ms=1)), Unsure)


def test_far_is_further_than_claim_adopts():
    assert FAR < FAR_RECORD
