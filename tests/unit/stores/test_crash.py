"""A process crashes at the named point only."""

import pytest

from taskmill.core.ports import Bus
from taskmill.dispatch.ports import Delays, DueSet, ShelvedRecords
from taskmill.execution.ports import Leases
from taskmill.lanes.ports import Lanes, Turns
from taskmill.ledger.ports import FarTasks, Ledger
from taskmill.orders.ports import Control
from taskmill.recovery.ports import ColdShards
from taskmill.schedules.ports import Firing
from taskmill.settings.crash_points import POINTS, Edge, crash_at
from taskmill.stores.crash import EXIT_CODE, die, with_crash_point
from taskmill.submission.ports import Admission

PORTS = {
    "admission": Admission,
    "bus": Bus,
    "control": Control,
    "delays": Delays,
    "due": DueSet,
    "far": FarTasks,
    "leases": Leases,
    "lanes": Lanes,
    "ledger": Ledger,
    "firing": Firing,
    "shards": ColdShards,
    "shelved_records": ShelvedRecords,
    "turns": Turns,
}


class Ended(BaseException):
    pass


def end():
    raise Ended


class Bus_:  # noqa: N801 - it stands in for a bus
    def __init__(self):
        self.flushed = 0

    def send_facts(self, facts):
        """Accept the arguments."""

    def flush(self):
        self.flushed += 1


class Delays_:  # noqa: N801 - it stands in for delays
    def delay(self, envelopes):
        """Accept the arguments."""


class Due:
    waiting = ()

    def take(self, *, most):
        return self.waiting[:most]


def fatal(name, port, at, *, opener="scheduler"):
    return with_crash_point(name, port, at, opener=opener, end=end)


@pytest.mark.parametrize("point", POINTS)
def test_each_point_lies_at_a_call_that_the_port_has(point):
    edge = POINTS[point]
    assert callable(getattr(PORTS[edge.port], edge.method))


def test_the_nth_call_that_carries_something_ends_the_process():
    delays = fatal(
        "delays", Delays_(), crash_at("nearing before the due set write:2"), opener="nearing"
    )
    delays.delay([])
    delays.delay(["one"])
    with pytest.raises(Ended):
        delays.delay(["two"])


def test_a_flush_counts_when_something_was_sent():
    port = Bus_()
    bus = fatal("bus", port, crash_at("worker after the facts before the leave:1"))
    bus.flush()
    bus.send_facts(["one"])
    with pytest.raises(Ended):
        bus.flush()
    assert port.flushed == 2


def test_an_answer_counts_when_it_holds_something():
    port = Due()
    due = fatal("due", port, crash_at("scheduler after take:1"))
    assert due.take(most=5) == ()
    port.waiting = ("one",)
    with pytest.raises(Ended):
        due.take(most=5)


def test_other_ports_stay_as_they_are():
    port = Due()
    assert fatal("due", port, crash_at("worker after claim:1")) is port


def test_a_bus_of_others_is_not_the_relay_s():
    port, at = Bus_(), crash_at("relay after publish before mark:1")
    assert fatal("bus", port, at) is port
    bus = fatal("bus", port, at, opener="relaying")
    bus.send_facts(["one"])
    with pytest.raises(Ended):
        bus.flush()


def test_the_process_ends_as_if_it_had_been_killed(monkeypatch):
    codes = []
    monkeypatch.setattr("os._exit", codes.append)
    die()
    assert codes == [EXIT_CODE]


@pytest.mark.parametrize("text", ["worker after claim", "worker after claim:0", "nowhere:1", ":1"])
def test_what_is_no_point_is_refused_with_a_sentence(text):
    with pytest.raises(ValueError, match=r"must be|names an unknown point"):
        crash_at(text)


def test_a_point_is_read():
    assert crash_at("recorder after commit:10").nth == 10
    assert crash_at("recorder after commit:10").edge == Edge("ledger", "record", "after")
