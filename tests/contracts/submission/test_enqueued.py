"""Enqueued requests wait, are held by one process, and end as tasks or parked."""

from contextlib import closing
from datetime import timedelta

import psycopg
import pytest
from msgspec.structs import replace

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.refusal import Dismissal, invalid, malformed
from taskmill.core.time import in_ms
from taskmill.ledger.projection import Applied, LedgerBatch
from taskmill.stores.memory.enqueued import MemoryRequests
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.enqueued import PostgresRequests
from taskmill.stores.postgres.ledger import PostgresLedger
from taskmill.submission.enqueued import (
    HELD_AT_MOST,
    LARGEST_REQUEST,
    LEDGER_MAY_LAG,
    MAY_BE_FORGOTTEN,
    OCTETS_HELD,
    Enqueue,
)
from tests.builders import a_fresh_envelope, a_new_id, now_ms
from tests.contracts.ledgers import batch_of
from tests.waiting import eventually

SOON = timedelta(milliseconds=200)
LONG = timedelta(minutes=10)


@pytest.fixture
def memory_ledger():
    return MemoryLedger()


@pytest.fixture(params=["memory", "postgres"])
def make_requests(request, memory_ledger):
    """Return several views of one table, like two processes."""
    if request.param == "memory":
        requests = MemoryRequests(now_ms, lambda: memory_ledger)
        yield lambda **_: requests
        return
    _, dsn = request.getfixturevalue("database")
    databases = []

    def make(*, held_at_most=HELD_AT_MOST):
        databases.append(Database(dsn))
        return PostgresRequests(databases[-1], held_at_most=held_at_most)

    yield make
    for database in databases:
        database.close()


@pytest.fixture
def requests(make_requests):
    return make_requests()


@pytest.fixture
def ledger(request, make_requests, memory_ledger):
    """Return the ledger in the same database as the requests."""
    if request.node.callspec.params["make_requests"] == "memory":
        yield memory_ledger
        return
    with closing(Database(request.getfixturevalue("database")[1])) as database:
        yield PostgresLedger(database)


def a_request_row(body=b'{"type":"echo"}', *, task_id=None, submission="s1"):
    return Enqueue(task_id=task_id or a_new_id(), submission=submission, request=body)


def line(requests):
    with requests.held(most=100) as held:
        return [row.task_id for row in held.rows]


def park(requests, task_id, code="invalid_payload"):
    with requests.held(most=100) as held:
        (row,) = [row for row in held.rows if row.task_id == task_id]
        held.park(row, invalid(code, "it does not fit", "/payload"))


def mark_done(requests, *ids):
    with requests.held(most=100) as held:
        held.mark_done([row for row in held.rows if row.task_id in ids])


def test_what_is_added_is_kept_as_it_is(requests):
    wish = a_request_row(b'{"type": "echo",  "payload": {"n": 1.10, "s": "\xe2\x98\x83 \\u0041"}}')
    before_ms = now_ms()
    requests.add([wish])
    with requests.held(most=10) as held:
        (row,) = held.rows
    assert (row.tenant, row.task_id, row.submission) == ("default", wish.task_id, "s1")
    assert row.request == wish.request
    assert before_ms - 1 <= row.created_at_ms <= now_ms()
    assert row.parked is None
    assert requests.find(wish.task_id) == row


def a_large_request_row(octets):
    body = b'{"type":"echo","payload":"%s"}' % (b"x" * octets)
    return a_request_row(body[: octets - 2] + b'"}')


def test_no_more_is_held_than_may_be_read_at_once(requests):
    wishes = [
        a_large_request_row(LARGEST_REQUEST) for _ in range(OCTETS_HELD // LARGEST_REQUEST + 2)
    ]
    requests.add(wishes)
    with requests.held(most=100) as held:
        assert sum(row.octets for row in held.rows) == OCTETS_HELD
        assert [row.request for row in held.rows] == [one.request for one in wishes[:-2]]
        held.mark_done(held.rows)
    assert line(requests) == [one.task_id for one in wishes[-2:]]


def test_what_is_too_large_to_be_a_request_is_not_read(requests):
    huge, good = a_large_request_row(LARGEST_REQUEST + 1), a_request_row()
    requests.add([huge, good])
    with requests.held(most=100) as held:
        assert [(row.task_id, row.request, row.octets) for row in held.rows] == [
            (huge.task_id, None, LARGEST_REQUEST + 1),
            (good.task_id, good.request, len(good.request)),
        ]
    assert requests.find(huge.task_id).request is None


def test_two_requests_under_one_key_stand_side_by_side(requests):
    task_id = a_new_id()
    requests.add([a_request_row(task_id=task_id, submission=word) for word in ("first", "second")])
    assert line(requests) == [task_id, task_id]
    assert requests.find(task_id).submission == "first"


def test_nothing_waits_where_nobody_asked(requests):
    assert not requests.is_any_waiting()
    assert line(requests) == []
    assert requests.find(a_new_id()) is None


def test_what_is_done_leaves_the_line_and_is_not_found_any_more(requests):
    done, waiting = a_request_row(), a_request_row()
    requests.add([done, waiting])
    mark_done(requests, done.task_id)
    assert line(requests) == [waiting.task_id]
    assert requests.find(done.task_id) is None
    assert requests.find(waiting.task_id) is not None
    assert requests.is_any_waiting()


def test_what_is_parked_leaves_the_line_and_tells_why(requests):
    stuck, good = a_request_row(), a_request_row()
    requests.add([stuck, good])
    park(requests, stuck.task_id)
    assert line(requests) == [good.task_id]
    (listed,) = requests.page(is_parked=True, before=None, most=10)
    assert requests.find(stuck.task_id) == replace(listed, request=stuck.request)
    assert (listed.request, listed.octets) == (None, len(stuck.request))
    assert listed.parked.reason == "invalid_payload"
    assert (listed.parked.detail, listed.parked.pointer) == ("it does not fit", "/payload")
    assert abs(listed.parked.at_ms - now_ms()) < 60_000


def test_the_parked_are_listed_from_the_latest_on(requests):
    wishes = [a_request_row() for _ in range(3)]
    for wish in wishes:
        requests.add([wish])
        park(requests, wish.task_id)
    third, second = requests.page(is_parked=True, before=None, most=2)
    (first,) = requests.page(is_parked=True, before=second.number, most=2)
    assert [row.task_id for row in (first, second, third)] == [wish.task_id for wish in wishes]


def test_those_that_wait_are_listed_apart(requests):
    wishes = [a_request_row() for _ in range(4)]
    requests.add(wishes)
    mark_done(requests, wishes[0].task_id)
    park(requests, wishes[1].task_id)
    listed = requests.page(is_parked=False, before=None, most=10)
    assert [row.task_id for row in listed] == [wishes[3].task_id, wishes[2].task_id]
    (last,) = requests.page(is_parked=False, before=listed[0].number, most=10)
    assert last == listed[1]


def test_what_was_parked_can_be_discarded_and_the_first_who_did_stays(requests):
    wishes = [a_request_row(task_id=a_new_id()), a_request_row()]
    requests.add([wishes[0], wishes[0], wishes[1]])
    for _ in range(2):
        with requests.held(most=1) as held:
            held.park(held.rows[0], invalid("invalid_payload", "it does not fit", "/payload"))
    ann, bob = Dismissal(at_ms=now_ms() - 1, by="ann"), Dismissal(at_ms=now_ms(), by="bob")
    first = requests.discard(wishes[0].task_id, ann)
    again = requests.discard(wishes[0].task_id, bob)
    assert first == again
    assert (first.discarded, first.parked.reason) == (ann, "invalid_payload")
    assert requests.page(is_parked=True, before=None, most=10) == []
    kept = requests.page(is_parked=True, is_discarded=True, before=None, most=10)
    assert [row.task_id for row in kept] == [wishes[0].task_id] * 2
    assert kept[0] == first
    assert (requests.backlog(most=10).parked, requests.backlog(most=10).waiting) == (0, 1)
    assert requests.discard(wishes[1].task_id, ann) is None
    assert requests.discard(a_new_id(), ann) is None


def test_what_was_discarded_is_not_taken_up_when_its_type_comes(requests):
    wish = a_request_row()
    requests.add([wish])
    park(requests, wish.task_id, "unknown_type")
    requests.discard(wish.task_id, Dismissal(at_ms=now_ms(), by="ann"))
    assert requests.take_up(["echo"], parked_within=LONG) == 0
    assert line(requests) == []


def test_who_waits_is_found_before_who_is_parked(requests):
    task_id = a_new_id()
    requests.add([a_request_row(task_id=task_id, submission="first")])
    park(requests, task_id)
    requests.add([a_request_row(task_id=task_id, submission="second")])
    assert requests.find(task_id).submission == "second"


def test_who_is_put_off_is_passed_over_for_a_while(requests):
    slow, good = a_request_row(), a_request_row()
    requests.add([slow, good])
    with requests.held(most=1) as held:
        held.put_off(held.rows, SOON)
    eventually(
        lambda: line(requests) == [good.task_id, slow.task_id],
        within=60,
        reason="it is tried again, after those that came meanwhile",
    )


def test_nothing_waits_that_was_put_off(requests):
    requests.add([a_request_row()])
    with requests.held(most=1) as held:
        held.put_off(held.rows, LONG)
    assert not requests.is_any_waiting()
    assert line(requests) == []
    assert requests.backlog(most=10).waiting == 1


def test_a_parked_request_waits_again_once_its_type_is_known(requests):
    late, unknown, misfit = (
        a_request_row(b'{"type":"late"}'),
        a_request_row(b'{"type":"unknown"}'),
        a_request_row(b'{"type":"late","payload":"\\u0000"}'),
    )
    requests.add([late, unknown, misfit])
    park(requests, late.task_id, "unknown_type")
    park(requests, unknown.task_id, "unknown_type")
    park(requests, misfit.task_id, "bad_request")
    assert requests.take_up(["echo", "late"], parked_within=LONG) == 1
    assert line(requests) == [late.task_id]
    assert requests.find(late.task_id).parked is None


def test_who_was_parked_long_ago_stays_so(requests):
    wish = a_request_row(b'{"type":"late"}')
    requests.add([wish])
    park(requests, wish.task_id, "unknown_type")
    assert requests.take_up(["late"], parked_within=-LONG) == 0


def test_the_backlog_tells_how_many_wait_and_since_when(requests):
    assert requests.backlog(most=10).oldest_at_ms is None
    wishes = [a_request_row() for _ in range(4)]
    requests.add(wishes)
    mark_done(requests, wishes[0].task_id)
    park(requests, wishes[1].task_id)
    answer = requests.backlog(most=10)
    assert (answer.waiting, answer.parked) == (2, 1)
    assert abs(answer.oldest_at_ms - now_ms()) < 60_000
    assert requests.backlog(most=1).waiting == 1


def look_back(requests):
    with requests.held(most=100) as held:
        return held.look_back(held.rows)


def test_the_ledger_tells_which_requests_are_tasks_already(requests, ledger):
    taken, other, unknown = (a_fresh_envelope(submission=word) for word in ("s1", "s2", "s3"))
    ledger.record(batch_of(taken, other))
    ledger.record(applied_to(7, as_of_ms=now_ms()))
    for one in (taken, unknown):
        requests.add([a_request_row(task_id=one.id, submission=one.submission)])
    requests.add([a_request_row(task_id=other.id, submission="another one under its key")])
    assert look_back(requests).found == {"s1"}


def applied_to(position, *, as_of_ms):
    run = Applied(topic=topics.PENDING, partition=1, first=0, next=position, as_of_ms=as_of_ms)
    return LedgerBatch(applied=[run])


@pytest.mark.parametrize(
    ("end", "age", "is_complete"),
    [
        (7, LEDGER_MAY_LAG * 2, True),
        (8, LEDGER_MAY_LAG * 2, False),
        (8, LEDGER_MAY_LAG / 2, True),
    ],
)
def test_the_ledgers_silence_counts_when_it_lacks_nothing_or_the_last_minutes_alone(
    requests, ledger, end, age, is_complete
):
    ledger.record(applied_to(7, as_of_ms=now_ms() - in_ms(age)))
    requests.add([a_request_row()])
    answer = look_back(requests)
    assert answer.is_complete({(topics.PENDING, 1): end}) is is_complete
    assert not answer.is_complete({(topics.PENDING, 2): 1})
    assert answer.is_complete({(topics.PENDING, 2): 0})


def test_a_request_of_half_an_hour_may_be_forgotten(request, requests, memory_ledger):
    requests.add([a_request_row()])
    with requests.held(most=1) as held:
        assert not held.rows[0].may_be_forgotten
    if isinstance(requests, MemoryRequests):
        kept = requests.kept[0]
        aged = kept.row.created_at_ms - in_ms(MAY_BE_FORGOTTEN) - 1
        kept.row = replace(kept.row, created_at_ms=aged)
    else:
        with psycopg.connect(request.getfixturevalue("database")[1]) as connection:
            connection.execute("UPDATE enqueued SET created_at = created_at - '31 min'::interval")
    with requests.held(most=1) as held:
        assert held.rows[0].may_be_forgotten


def test_what_one_holds_another_passes_over(make_requests):
    one, other = make_requests(), make_requests()
    wishes = [a_request_row() for _ in range(3)]
    for wish in wishes:
        one.add([wish])
    with one.held(most=2) as first, other.held(most=2) as second:
        assert [row.task_id for row in first.rows] == [wish.task_id for wish in wishes[:2]]
        assert [row.task_id for row in second.rows] == [wishes[2].task_id]


def test_who_fails_has_marked_nothing(requests):
    requests.add([a_request_row(), a_request_row()])

    def fail():
        with requests.held(most=10) as held:
            held.mark_done(held.rows[:1])
            held.park(held.rows[1], malformed("it is no JSON"))
            raise StoreUnavailable("Kafka", "it went away before the flush")

    with pytest.raises(StoreUnavailable):
        fail()
    assert len(line(requests)) == 2


def test_who_holds_rows_and_says_nothing_loses_them(database):
    """As a process does that was paused: what it does when it wakes up counts no more."""
    _, dsn = database
    with closing(Database(dsn)) as paused, closing(Database(dsn)) as other:
        one = PostgresRequests(paused, held_at_most=SOON)
        wish = a_request_row()
        one.add([wish])

        def hold_and_sleep():
            with one.held(most=10) as held:
                eventually(
                    lambda: line(PostgresRequests(other)) == [wish.task_id],
                    within=60,
                    reason="another one holds what the paused one held",
                )
                held.mark_done(held.rows)

        with pytest.raises(StoreUnavailable):
            hold_and_sleep()
        assert line(PostgresRequests(paused)) == [wish.task_id]


def test_the_line_is_found_by_its_index_though_nearly_all_is_done(database):
    _, dsn = database
    with psycopg.connect(dsn.replace("taskmill_app@", "taskmill_owner@")) as owner:
        owner.execute(
            "INSERT INTO enqueued (task_id, submission, request, done_at)"
            " SELECT gen_random_uuid(), 's', '{}', now() FROM generate_series(1, 20000)"
        )
        owner.execute("UPDATE enqueued SET done_at = NULL")
        owner.execute("ANALYZE enqueued")  # it now believes that all of them wait
        owner.execute("UPDATE enqueued SET done_at = now()")
    with psycopg.connect(dsn) as connection:
        plan = connection.execute(
            "EXPLAIN SELECT id FROM enqueued WHERE done_at IS NULL AND parked_at IS NULL"
            " AND not_before <= now() ORDER BY not_before, id LIMIT 1"
        ).fetchall()
    assert "enqueued_waiting" in str(plan)
