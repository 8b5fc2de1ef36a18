"""A counted port behaves like the port, and its answers are counted."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core import codec
from taskmill.core.counting import Count, Span
from taskmill.core.errors import StoreUnavailable
from taskmill.core.refusal import unavailable
from taskmill.core.wake_up import WakeUp
from taskmill.dispatch.due import DuePublisher
from taskmill.stores.kafka.bus import KafkaBus
from taskmill.stores.memory.process import MemoryCounters
from taskmill.stores.watch import Watch
from taskmill.submission.relay import Relay
from tests.builders import (
    NOW,
    a_claim,
    a_fresh_envelope,
    a_log_record,
    a_source,
    a_success,
    an_envelope,
    cancel_requested,
    deferred,
    died,
    started,
    succeeded,
)
from tests.contracts.ledgers import batch_of
from tests.unit.world import World


@pytest.fixture
def world():
    return World()


@pytest.fixture
def counters():
    return MemoryCounters({"echo"})


def watched(name, port, counters):
    return Watch(counters).over(name, port, opener="a test")


def test_a_task_that_nobody_takes_is_counted(world, counters):
    world.admitted()
    parking = watched("parking", world.ports.parking, counters)
    (record,) = world.log.records("tasks.pending")
    parking.park(codec.open_raw(record.value))
    world.hot.restart()
    parking.park(codec.open_raw(record.value))
    assert counters.total(Count.PARKED, answer="parked") == 1
    assert counters.total(Count.PARKED, answer="cold") == 1


def test_a_batch_of_turns_is_counted_by_type_and_answer(world):
    counters = MemoryCounters({"echo", "mail"})
    leases = watched("leases", world.leases, counters)
    tasks = [a_fresh_envelope(type=name, generation=NOW) for name in ("echo", "mail", "echo")]
    claims = [a_claim(task, source=a_source(place)) for place, task in enumerate(tasks)]
    claims.append(a_claim(tasks[0], source=a_source(9)))
    *given, _ = leases.claim(claims)
    assert counters.total(Count.CLAIMS, type="echo", answer="claimed") == 2
    assert counters.total(Count.CLAIMS, type="mail", answer="claimed") == 1
    assert counters.total(Count.CLAIMS, type="echo", answer="held") == 1
    assert len(counters.times(Span.WAIT, type="echo")) == 2
    assert len(counters.times(Span.WAIT, type="mail")) == 1
    ends = [a_success(task, one.token) for task, one in zip(tasks, given, strict=True)]
    leases.settle([*ends, a_success(tasks[1], 1)])
    assert counters.total(Count.SETTLEMENTS, answer="settled") == 3
    assert counters.total(Count.SETTLEMENTS, answer="stale") == 1
    assert counters.total(Count.ATTEMPTS, type="echo", end="succeeded") == 2
    assert len(counters.times(Span.ATTEMPT, type="mail")) == 1


def test_rows_of_the_outbox_count_when_they_are_relayed_or_parked(world, counters):
    outbox = watched("outbox", world.outbox, counters)
    outbox.add([an_envelope()])
    world.outbox.put(b"no envelope", (an_envelope().id, "other", 1))
    Relay(world.stores(outbox=outbox)).run()
    assert counters.total(Count.OUTBOX, answer="relayed") == 1
    assert counters.total(Count.OUTBOX, answer="parked") == 1


def test_what_was_due_counts_by_its_kind(world, counters):
    world.admission.admit([world.request("a")])
    world.wait(timedelta(seconds=6))
    due = watched("due", world.due, counters)
    DuePublisher(world.stores(due=due, bus=watched("bus", world.log, counters))).publish()
    assert counters.total(Count.DUE, kind="submission") == 1
    world.wait(timedelta(hours=80))
    assert due.forget_expired(most=10) == counters.total(Count.FORGOTTEN) == 0


def test_a_publication_is_timed_and_a_failed_one_counted(world, counters):
    bus = watched("bus", world.log, counters)
    bus.send_wake_ups([WakeUp("echo", 0)])
    bus.flush()
    world.log.is_away = True
    bus.send_undecodable(a_log_record(b"?"), "no task")
    with pytest.raises(StoreUnavailable):
        bus.flush()
    assert len(counters.times(Span.PUBLISH)) == counters.total(Count.PUBLISH_FAILURES) == 1
    assert counters.total(Count.UNDECODABLE, topic="tasks.worker.*") == 1


@pytest.mark.parametrize(
    "send",
    [
        lambda bus: bus.send_pending([an_envelope()]),
        lambda bus: bus.send_wake_ups([WakeUp("echo", 0)]),
        lambda bus: bus.send_facts([started(an_envelope())]),
        lambda bus: bus.send_batch("tasks.events", b"{}"),
        lambda bus: bus.send_undecodable(a_log_record(b"?"), "no task"),
        lambda bus: bus.send_refused(a_log_record(b"?"), unavailable("no")),
    ],
)
def test_what_kafka_does_not_even_let_us_send_is_a_failed_publication(counters, send):
    """A topic that is missing or barred is told of before anything waits for an answer."""
    nowhere = KafkaBus("127.0.0.1:1", patience=timedelta(milliseconds=10))
    with pytest.raises(StoreUnavailable):
        send(watched("bus", nowhere, counters))
    assert counters.total(Count.PUBLISH_FAILURES) == 1
    assert counters.total(Count.UNDECODABLE) == 0


@pytest.mark.parametrize(
    ("result", "impossible"),
    [
        ([started, succeeded, cancel_requested], 0),
        ([succeeded, succeeded], 0),
        ([deferred, lambda task: died(replace(task, turn=2), token=9)], 0),
        ([succeeded, died], 1),
        ([succeeded, lambda task: started(replace(task, turn=2), token=9)], 1),
        ([died, lambda task: succeeded(replace(task, generation=task.generation + 1))], 0),
    ],
)
def test_facts_that_come_after_an_end_are_counted(world, counters, result, impossible):
    task = an_envelope()
    watched("ledger", world.ledger, counters).record(
        batch_of(task, *(tell(task) for tell in result))
    )
    assert counters.total(Count.CONTRADICTIONS) == impossible


def test_what_comes_late_or_twice_to_the_ledger_is_counted(world, counters):
    ledger = watched("ledger", world.ledger, counters)
    task = an_envelope()
    ledger.record(batch_of(task, succeeded(task)))
    assert counters.total(Count.LATE_ROWS) == 0
    ledger.record(batch_of(task, succeeded(task)))
    ledger.record(batch_of(started(task)))
    assert counters.total(Count.LATE_ROWS) == 2
