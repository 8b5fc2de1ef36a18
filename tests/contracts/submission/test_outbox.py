"""Outbox rows are found, counted and published once, in memory and in PostgreSQL."""

import pytest
from msgspec import Raw

from taskmill.core import codec
from taskmill.core.errors import StoreUnavailable
from taskmill.stores.memory.outbox import MemoryOutbox
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.outbox import PostgresOutbox
from taskmill.submission.outbox import Lost, OutboxBacklog, ParkedTask
from tests.builders import a_fresh_envelope, a_request


@pytest.fixture(params=["memory", "postgres"])
def make_outbox(request):
    """Return several views of one outbox, like two processes."""
    if request.param == "memory":
        outbox = MemoryOutbox(cap=5)
        yield lambda: outbox
        return
    _, dsn = request.getfixturevalue("database")
    databases = []

    def make():
        databases.append(Database(dsn))
        return PostgresOutbox(databases[-1], cap=5)

    yield make
    for database in databases:
        database.close()


@pytest.fixture
def outbox(make_outbox):
    return make_outbox()


def line(outbox):
    return [codec.open_envelope(row.envelope).id for row in outbox.unsent(after=0, most=100)]


def test_what_is_added_is_kept_as_it_is(outbox):
    task = a_fresh_envelope(payload=Raw(b'{"n": 1.10,  "s": "\xe2\x98\x83 \\u0041"}'))
    outbox.add([task])
    (row,) = outbox.unsent(after=0, most=10)
    assert row.envelope == codec.encode(task)
    assert outbox.find(task.id) == task


def test_what_is_added_again_stands_once(outbox):
    tasks = [a_fresh_envelope() for _ in range(3)]
    outbox.add(tasks[:2])
    outbox.add(tasks)
    assert sorted(line(outbox)) == sorted(task.id for task in tasks)


def test_two_submissions_of_a_key_stand_side_by_side(outbox):
    first, second = (a_request("k", submission=word) for word in ("first", "second"))
    outbox.add([first])
    outbox.add([second])
    assert len(line(outbox)) == 2
    assert outbox.find(first.id).submission == "first"


def test_what_was_admitted_is_found_before_what_was_deferred(outbox):
    deferred = a_request("k", submission="deferred", deferred=True)
    older, newer = (a_request("k", submission=f"s{n}", generation=n) for n in (7, 8))
    outbox.add([deferred])
    outbox.add([older, newer])
    assert outbox.find(deferred.id) == newer


def test_nothing_is_found_of_a_task_that_is_not_kept(outbox):
    outbox.add([a_fresh_envelope()])
    assert outbox.find(a_fresh_envelope().id) is None


def test_there_is_room_up_to_the_cap(make_outbox):
    outbox = make_outbox()
    assert outbox.has_room(5)
    assert not outbox.has_room(6)
    outbox.add([a_fresh_envelope() for _ in range(4)])
    assert [outbox.has_room(1), outbox.has_room(2)] == [True, False]
    assert [make_outbox().has_room(1), make_outbox().has_room(2)] == [True, False]


def test_near_the_cap_it_is_seen_at_once_what_others_added(make_outbox):
    one, another = make_outbox(), make_outbox()
    one.add([a_fresh_envelope() for _ in range(4)])
    assert one.has_room(1)
    another.add([a_fresh_envelope()])
    assert not one.has_room(1)


def test_what_is_published_makes_room_and_is_not_found_any_more(outbox, make_outbox):
    task = a_fresh_envelope()
    outbox.add([task])
    with outbox.held(most=10) as held:
        held.mark_published(held.rows)
    assert outbox.find(task.id) is None
    assert line(outbox) == []
    assert make_outbox().has_room(5)


def test_what_is_parked_leaves_the_line_and_is_told_to_be_lost(outbox):
    stuck, good = a_fresh_envelope(), a_fresh_envelope()
    outbox.add([stuck])
    outbox.add([good])
    park_the_head(outbox, "too large")
    assert line(outbox) == [good.id]
    assert outbox.find(stuck.id) == Lost("too large")
    assert outbox.parked(most=10) == [ParkedTask(task_id=stuck.id, why="too large")]
    assert outbox.backlog(most=10) == OutboxBacklog(waiting=1, parked=1)


def test_what_is_unsent_is_found_before_what_is_lost(outbox):
    first, second = (a_request("k", submission=word) for word in ("first", "second"))
    outbox.add([first])
    park_the_head(outbox, "too large")
    outbox.add([second])
    assert outbox.find(first.id) == second


def park_the_head(outbox, why):
    with outbox.held(most=1) as held:
        held.park(held.rows[0], why)


def test_the_line_is_read_from_a_place_on(outbox):
    tasks = [a_fresh_envelope() for _ in range(3)]
    for task in tasks:
        outbox.add([task])
    first, second = outbox.unsent(after=0, most=2)
    (third,) = outbox.unsent(after=second.number, most=2)
    assert first.number < second.number < third.number
    assert third.envelope == codec.encode(tasks[2])


def test_what_one_holds_another_passes_over(make_outbox):
    one, other = make_outbox(), make_outbox()
    tasks = [a_fresh_envelope() for _ in range(3)]
    for task in tasks:
        one.add([task])
    with one.held(most=2) as first, other.held(most=2) as second:
        assert [row.envelope for row in first.rows] == [codec.encode(one) for one in tasks[:2]]
        assert [row.envelope for row in second.rows] == [codec.encode(tasks[2])]


def test_a_relay_that_fails_marks_nothing(outbox):
    tasks = [a_fresh_envelope() for _ in range(2)]
    outbox.add(tasks)

    def fail():
        with outbox.held(most=10) as held:
            held.mark_published(held.rows)
            raise StoreUnavailable("Kafka", "it went away before the flush")

    with pytest.raises(StoreUnavailable):
        fail()
    assert len(line(outbox)) == 2
