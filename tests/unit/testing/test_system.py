"""The in-memory system: each function alone, faults in between, and nothing lost."""

from datetime import timedelta

from msgspec import Struct

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import Status
from taskmill.submission.submission import Accepted
from taskmill.testing.system import System
from taskmill.worker import serve
from tests.builders import ECHO, a_request

DISPATCHER = topics.DISPATCHER
ECHO_WORKER = topics.worker_of(ECHO)


class Anything(Struct):
    say: str = ""


def a_system(**how):
    performed = []
    worker = serve(Anything, lambda one: performed.append(one.say))
    return System({"echo": worker}, **how), performed


def request(system, **changes):
    now = system.clock()
    entropy = system.chance.randbytes(16).hex()
    return a_request(entropy, created_at_ms=now, submission=entropy, **changes)


def test_each_step_is_one_invocation():
    system, performed = a_system()
    (receipt,) = system.submit([request(system)])
    assert isinstance(receipt, Accepted)
    assert not system.step(ECHO_WORKER)
    assert system.step(DISPATCHER)
    assert performed == []
    assert system.step(ECHO_WORKER)
    assert performed == ["hello"]
    system.run()
    assert system.stores.rows.rows[receipt.task.id].status is Status.SUCCEEDED


def test_what_a_dead_gateway_left_unpublished_is_done_all_the_same():
    system, performed = a_system()
    (created,) = system.stores.admission.admit([request(system)])
    assert created.generation == system.clock()
    system.run()
    assert performed == []
    system.pass_time(timedelta(seconds=6))
    assert performed == ["hello"]


def test_a_record_that_failed_comes_again():
    system, performed = a_system()
    system.submit([request(system)])
    system.stores.hot.restart()
    assert not system.step(DISPATCHER)
    system.stores.hot.open()
    system.stores.hot.lanes.open()
    system.run()
    assert performed == ["hello"]


def test_a_function_may_be_given_less_than_what_waits():
    system, _ = a_system()
    system.submit([request(system)])
    system.submit([request(system)])
    assert system.step(DISPATCHER, most=1)
    assert system.stores.log.position(DISPATCHER) == 1


def test_a_hot_state_that_forgot_is_filled_from_the_ledger():
    system, performed = a_system()
    (receipt,) = system.submit([request(system)])
    system.stores.hot.forget()
    assert system.rebuild() == 1
    system.run()
    system.pass_time(timedelta(minutes=1))
    assert performed == ["hello"]
    assert system.find(receipt.task.id).status is Status.SUCCEEDED


def test_a_type_that_nobody_takes_waits_and_dies():
    system, _ = a_system()
    (receipt,) = system.submit([request(system, type="nobody")])
    system.run()
    assert system.stores.rows.rows[receipt.task.id].status is Status.QUEUED
    system.pass_time(timedelta(minutes=11))
    row = system.stores.rows.rows[receipt.task.id]
    assert (row.status, row.reason) == (Status.DEAD, "unknown_type")


class AwayTwice:
    """A bus whose flush fails twice."""

    def __init__(self, bus):
        self._bus = bus
        self._left = 2

    def __getattr__(self, name):
        return getattr(self._bus, name)

    def flush(self):
        if self._left and self._bus._sent:  # noqa: SLF001 - it fails where something would be lost
            self._left -= 1
            self._bus._sent.clear()  # noqa: SLF001 - what a broken connection loses
            raise StoreUnavailable("Kafka", "the connection broke")
        self._bus.flush()


def test_a_port_can_be_dressed():
    system, performed = a_system(
        dress=lambda name, port: AwayTwice(port) if name == "bus" else port
    )
    system.submit([request(system)])
    assert [kept.is_published for kept in system.stores.spill.kept] == [False]
    try:
        system.run()
    except StoreUnavailable:
        system.run()
    assert performed == ["hello"]
