"""The recorder folds the log; only what the ledger cannot store goes to quarantine."""

import pytest

from taskmill.core import topics
from taskmill.core.errors import LedgerRefused, StoreUnavailable
from taskmill.core.log import LogRecord, Position
from taskmill.core.task import Status
from tests.builders import NOW, a_log_record, a_position, an_envelope, died
from tests.unit.world import World


@pytest.fixture
def world():
    return World()


def a_record(value, offset=0, topic=topics.PENDING, headers=None):
    return LogRecord(
        position=Position(topic, 0, offset), at_ms=NOW, value=value, headers=headers or {}
    )


def test_a_life_in_the_log_is_a_row_in_the_ledger(world):
    (task,) = world.admitted()
    world.work()
    world.record()
    view = world.ledger.find(task.id)
    assert view.status is Status.SUCCEEDED
    assert world.ledger.payload(task.id, task.generation) == bytes(task.payload)


@pytest.mark.parametrize("order", [(topics.EVENTS, topics.PENDING), (topics.PENDING,) * 2])
def test_order_and_repetition_of_topics_change_nothing(world, order):
    world.admitted(None, None)
    world.work()
    world.record(topics.PENDING, topics.EVENTS)
    rows, history = dict(world.ledger.rows), dict(world.ledger.history)
    world.record(*order)
    assert (world.ledger.rows, world.ledger.history) == (rows, history)


def test_how_far_it_came_is_written_with_it(world):
    world.admitted(None, None)
    world.record()
    assert world.ledger.applied() == {(topics.PENDING, 0): 1}


def test_what_is_no_parcel_goes_into_quarantine_and_the_rest_goes_on(world):
    (task,) = world.admitted()
    (good,) = world.log.records(topics.PENDING)
    world.record_all([good, a_record(b"\xff", 1), a_record(None, 2)])
    assert world.ledger.find(task.id) is not None
    assert {place[2] for place in world.ledger.quarantined} == {1, 2}
    assert world.ledger.applied() == {(topics.PENDING, 0): 3}


def test_a_dead_letter_is_kept_under_its_first_place(world):
    world.log.send_undecodable(a_log_record(b"\0", a_position(7), who="else"), "no batch")
    world.log.flush()
    world.record(topics.DLQ)
    (kept,) = world.ledger.quarantined.values()
    assert (kept.topic, kept.offset, kept.reason) == ("tasks.worker.echo", 7, "no batch")
    assert (kept.value, kept.headers) == (b"\0", {"who": b"else"})


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"topic": b"t"},
        {"topic": b"\xff", "partition": b"0", "offset": b"0", "reason": b""},
        {"topic": b"t", "partition": b"x", "offset": b"0", "reason": b""},
    ],
)  # fmt: skip - each case in a line
def test_a_dead_letter_without_a_place_is_kept_where_it_stands(world, headers):
    world.record_all([a_record(b"x", 5, topics.DLQ, headers)])
    (kept,) = world.ledger.quarantined.values()
    assert (kept.topic, kept.offset, kept.value) == (topics.DLQ, 5, b"x")


class Picky:
    """A ledger that cannot store some tasks."""

    def __init__(self, ledger, unholdable):
        self._ledger = ledger
        self._unholdable = unholdable

    def record(self, batch):
        answer = {row.id for row in batch.rows} | {entry.id for entry in batch.history}
        if answer & self._unholdable:
            raise LedgerRefused("it holds what cannot be held")
        self._ledger.record(batch)


@pytest.mark.parametrize("bad", [(), (0,), (6,), (2, 3), (0, 3, 6), range(7)])
def test_exactly_what_the_ledger_cannot_hold_goes_into_quarantine(world, bad):
    tasks = world.admitted(*[None] * 7)
    unholdable = {tasks[index].id for index in bad}
    records = [*world.log.records(topics.PENDING), a_record(b"\xff", 1)]
    world.record_all(records, ledger=Picky(world.ledger, unholdable))
    assert set(world.ledger.rows) == {task.id for task in tasks} - unholdable
    kept = {(one.offset, one.member) for one in world.ledger.quarantined.values()}
    assert kept == {(0, index) for index in bad} | {(1, 0)}
    assert world.ledger.applied() == {(topics.PENDING, 0): 2}


def test_a_ledger_that_is_away_makes_the_batch_come_again(world):
    world.admitted()
    world.ledger.is_away = True
    with pytest.raises(StoreUnavailable):
        world.record()


def test_an_empty_batch_writes_nothing(world):
    world.record_all([])
    assert world.ledger.applied() == {}


def test_the_copy_of_a_death_is_no_odd_record(world):
    world.log.send_facts([died(an_envelope())])
    world.log.flush()
    world.record_all(world.log.records(topics.DLQ))
    assert world.ledger.quarantined == {}
    assert world.ledger.history == {}
    assert world.ledger.applied() == {(topics.DLQ, 0): 1}
