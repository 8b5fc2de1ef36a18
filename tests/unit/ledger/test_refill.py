"""What a line cannot hold waits in the ledger, and loses neither its order nor itself."""

from datetime import timedelta

import pytest
from msgspec import Struct

from taskmill.core.errors import StoreFull
from taskmill.core.lifetimes import ADOPTION_AGE
from taskmill.core.task import Priority, Status, TaskType, Timing
from taskmill.core.time import FAR_RECORD
from taskmill.core.view import Absent, TaskView
from taskmill.lanes.caps import Caps
from taskmill.lanes.pauses import pause, resume
from taskmill.lanes.rules import PauseOrder, key_of
from taskmill.ledger.refill import ShelfRefill
from taskmill.orders.cancel import CancelAccepted
from taskmill.orders.change import ChangeAccepted, WantedChange
from taskmill.recovery.reconcile import PATIENCE, Reconciler
from taskmill.stores.memory.lanes import MemoryColdLanes
from taskmill.testing.clock import MovableClock
from taskmill.testing.system import System
from taskmill.worker import serve
from tests.builders import a_request
from tests.unit.world import Instead

ECHO = TaskType("echo")
CAPS = Caps(line_tasks=10, small_tasks=5)
SOON = timedelta(seconds=15)


class Anything(Struct):
    say: str = ""


class Died(BaseException):
    """Ends a process between two of its lines."""


class Queue:
    """The whole queue in memory, with lines of ten tasks; its type is paused."""

    def __init__(self):
        self.performed = []
        worker = serve(Anything, lambda _, task: self.performed.append(task.id))
        self.system = System({"echo": worker}, clock=MovableClock(), caps=CAPS)
        self.stores = self.system.stores
        self.asked = 0
        pause(PauseOrder(key=key_of(ECHO), by="ada"), self.stores)

    @property
    def shelved(self):
        return self.stores.rows.shelved

    @property
    def waiting(self):
        return len(self.stores.hot.lanes[ECHO].tasks)

    def submit(self, count, *, keyed=False, **changes):
        """Submit tasks one after the other, and return their ids."""
        return [self._submit(keyed=keyed, **changes) for _ in range(count)]

    def _submit(self, *, keyed, **changes):
        self.system.clock.move(timedelta(milliseconds=1))
        self.asked += 1
        request = a_request(
            f"key {self.asked}" if keyed else None,
            **{"created_at_ms": self.system.clock(), "submission": f"r{self.asked}"} | changes,
        )
        (receipt,) = self.system.submit([request])
        return receipt.task.id

    def backlog(self, count=50, **changes):
        ids = self.submit(count, **changes)
        self.system.run()
        return ids

    def resume(self):
        resume(key_of(ECHO), self.stores)
        self.system.pass_time(SOON)

    def record(self, task_id):
        (record,) = self.stores.records.read([task_id])
        return record


@pytest.fixture
def queue():
    return Queue()


def test_a_line_holds_its_cap_and_everything_runs_in_order(queue):
    ids = queue.backlog(50)
    assert (queue.waiting, len(queue.shelved)) == (10, 40)
    queue.resume()
    assert queue.performed == ids
    assert not queue.shelved


def test_each_line_keeps_its_own_order(queue):
    high = queue.backlog(20, priority=Priority.HIGH)
    low = queue.backlog(20, priority=Priority.LOW)
    queue.resume()
    assert [one for one in queue.performed if one in high] == high
    assert [one for one in queue.performed if one in low] == low


def test_newcomers_pass_nothing_that_is_shelved(queue):
    first = queue.backlog(15)
    resume(key_of(ECHO), queue.stores)
    second = queue.submit(15)
    queue.system.pass_time(SOON)
    assert queue.performed == first + second


def test_a_shelved_task_costs_nothing_in_redis_once_the_ledger_has_it(queue):
    ids = queue.backlog(12)
    assert [isinstance(queue.record(one), Absent) for one in ids] == [False] * 10 + [True] * 2


def test_a_key_names_its_shelved_task(queue):
    queue.backlog(10)
    (shelved,) = queue.backlog(1, keyed=True)
    assert isinstance(queue.record(shelved), Absent)
    assert queue.stores.hot.records[shelved].is_key_alone
    queue.resume()
    assert queue.performed.count(shelved) == 1


def test_readers_find_a_shelved_task_in_the_ledger(queue):
    *_, shelved = queue.backlog(11)
    found = queue.system.find(shelved)
    assert isinstance(found, TaskView)
    assert found.status is Status.QUEUED


def test_a_shelved_task_can_be_cancelled(queue):
    *others, shelved = queue.backlog(12)
    assert isinstance(queue.system.cancel(shelved), CancelAccepted)
    queue.resume()
    assert queue.performed == others
    assert not queue.shelved
    assert not queue.stores.hot.lanes[ECHO].shelf


def test_a_shelved_task_can_be_changed(queue):
    *others, shelved = queue.backlog(12)
    changed = queue.system.change(shelved, WantedChange(priority=Priority.CRITICAL))
    assert isinstance(changed, ChangeAccepted)
    queue.resume()
    assert queue.performed == [shelved, *others]
    assert not queue.shelved


def test_a_shelved_task_expires_in_time(queue):
    queue.backlog(10)
    (shelved,) = queue.submit(1, timing=_until(queue, seconds=30))
    queue.system.run()
    queue.system.pass_time(timedelta(minutes=1))
    assert queue.stores.rows.rows[shelved].status is Status.DEAD
    queue.resume()
    assert shelved not in queue.performed


def test_what_is_shelved_for_long_is_neither_lost_nor_missed(queue):
    ids = queue.backlog(30)
    queue.system.pass_time(max(ADOPTION_AGE, FAR_RECORD) * 3)
    reconciler = Reconciler(queue.stores)
    for _ in range(3):
        assert not reconciler.reconcile().total()
        queue.system.pass_time(2 * PATIENCE)
    queue.resume()
    assert queue.performed == ids


def test_a_full_redis_shelves_what_is_new(queue):
    lanes = queue.stores.lanes

    def full(*_asked, **_how):
        raise StoreFull("Redis", "its memory is full")

    queue.stores.lanes = Instead(lanes, enter=full, bring_in=full)
    ids = queue.backlog(5)
    assert len(queue.shelved) == 5
    queue.stores.lanes = lanes
    queue.resume()
    assert queue.performed == ids


def test_without_the_ledger_the_lane_goes_on_and_the_rest_waits(queue):
    ids = queue.backlog(15)
    queue.stores.rows.is_away = True
    queue.stores.hot.lanes[ECHO].pauses = {}
    assert queue.stores.lanes.watch(most=1)
    queue.stores.rows.is_away = False
    queue.resume()
    assert queue.performed == ids


@pytest.mark.parametrize("loses", ["forget_lanes", "forget"])
def test_nothing_is_lost_with_redis(queue, loses):
    ids = queue.backlog(35)
    keyed = queue.backlog(5, keyed=True)
    getattr(queue.stores.hot, loses)()
    queue.system.rebuild()
    assert queue.waiting <= 10
    assert queue.stores.hot.lanes[ECHO].shelf
    newcomers = queue.backlog(3)
    assert len(queue.shelved) >= 30
    queue.resume()
    assert queue.performed == ids + keyed + newcomers


def test_records_that_were_lost_while_the_lane_lives_are_made_again(queue):
    """Whether those that were in line had started is not known at first, so others pass them."""
    ids = queue.backlog(35) + queue.backlog(5, keyed=True)
    queue.stores.hot.forget_shards()
    queue.system.rebuild()
    queue.resume()
    assert sorted(queue.performed) == sorted(ids)
    assert queue.performed[-10:] == ids[:10]
    assert queue.performed[:-10] == ids[10:]


def test_a_rebuilt_lane_shelves_what_its_lines_do_not_hold(queue):
    ids = queue.backlog(10)
    queue.stores.hot.forget_lanes()
    few = Caps(line_tasks=4, small_tasks=1)
    queue.stores.cold_lanes = MemoryColdLanes(queue.stores.hot, queue.stores.catalogue, caps=few)
    queue.system.rebuild()
    assert (queue.waiting, len(queue.shelved)) == (4, 6)
    queue.resume()
    assert queue.performed == ids


LINES = [
    ("lanes", "enter"),
    ("shelved_records", "shelve"),
    ("bus", "send_facts"),
    ("bus", "flush"),
    ("ledger", "record"),
    ("shelf", "note_ended"),
    ("shelved_records", "unshelve"),
    ("lanes", "bring_in"),
    ("shelf", "leave"),
]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("port", "method"), LINES)
@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_death_on_any_line_loses_nothing(queue, port, method, after, call):
    ids = queue.submit(25)
    mortal(queue.stores, port, method, after=after, call=call)
    survive(queue.system.run)
    resume(key_of(ECHO), queue.stores)
    for _ in range(3):
        survive(lambda: queue.system.pass_time(SOON))
    assert queue.performed == ids
    assert not queue.shelved


def looks_of_a_refill(queue):
    """Let a scheduler refill; return how often it asked the ledger what is on shelves."""
    shelf, asked = queue.stores.shelf, []

    def noted(method):
        def ask(**how):
            asked.append(method)
            return getattr(shelf, method)(**how)

        return ask

    queue.stores.shelf = Instead(shelf, **{one: noted(one) for one in ("last", "with_records")})
    ShelfRefill(queue.stores).run()
    queue.stores.shelf = shelf
    return asked


def test_a_refill_asks_the_ledger_once_while_nothing_is_on_a_shelf(queue):
    queue.backlog(5)
    assert looks_of_a_refill(queue) == ["last"]
    queue.submit(10)
    queue.system.run()
    assert {"last", "with_records"} == set(looks_of_a_refill(queue))


def mortal(stores, port, method, *, after, call):
    """Let the process die at one call of a method."""
    whole, left = getattr(stores, port), [call]
    inner = getattr(whole, method)

    def dying(*asked, **how):
        left[0] -= 1
        if left[0] == 0 and not after:
            raise Died
        answer = inner(*asked, **how)
        if left[0] == 0:
            raise Died
        return answer

    setattr(stores, port, Instead(whole, **{method: dying}))


def survive(act):
    """Start the process again when it has died."""
    try:
        act()
    except Died:
        act()


def _until(queue, **span):
    latest = queue.system.clock() + timedelta(**span) // timedelta(milliseconds=1)
    return Timing(expires_at_ms=latest)
