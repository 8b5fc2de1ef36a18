"""A task's history is in order, and unusable records are kept."""

from msgspec.structs import replace

from taskmill.core.refusal import Dismissal
from taskmill.core.task import Millis
from taskmill.ledger.projection import LedgerBatch, Quarantined
from taskmill.ledger.quarantine import AfterRecord, Place
from tests.builders import (
    NOW,
    a_new_id,
    an_envelope,
    cancel_requested,
    deferred,
    died,
    lost,
    started,
    succeeded,
)
from tests.contracts.ledgers import batch_of

HEADERS = {"\0 odd ☃": b"\x00\xff", "": b""}


def kinds(ledger, task, most=100):
    entries = ledger.rows.history_of(task.id, most=most).entries
    return [(one.generation - task.generation, one.turn, one.kind) for one in entries]


def test_a_history_is_in_order_whatever_came_first(ledger):
    task = an_envelope(id=a_new_id())
    second = replace(task, turn=2, attempt=2)
    again = replace(task, generation=task.generation + 5_000, submitted=task.generation)
    late = {"at_ms": Millis(NOW + 900)}
    answer = [
        succeeded(again, at_ms=Millis(NOW + 6_000)),
        died(second, **late),
        started(second, at_ms=Millis(NOW + 800)),
        lost(second, at_ms=Millis(NOW + 800), token=6),
        deferred(task),
        again,
        task,
    ]
    for one in answer:
        ledger.ledger.record(batch_of(one))
    ledger.ledger.record(batch_of(died(an_envelope(id=a_new_id()))))
    assert kinds(ledger, task) == [
        (0, 1, "TaskSubmitted"),
        (0, 1, "TaskDeferred"),
        (0, 2, "AttemptLost"),
        (0, 2, "TaskStarted"),
        (0, 2, "TaskDied"),
        (5_000, 1, "TaskSubmitted"),
        (5_000, 1, "TaskSucceeded"),
    ]
    (redriven,) = [
        one
        for one in ledger.rows.history_of(task.id, most=9).entries
        if (one.generation, one.kind) == (again.generation, "TaskSubmitted")
    ]
    assert redriven.at_ms == again.generation


def test_of_a_long_history_the_latest_part_is_told(ledger):
    task = an_envelope(id=a_new_id())
    turns = [deferred(replace(task, turn=n)) for n in range(1, 9)]
    ledger.ledger.record(batch_of(task, cancel_requested(task), *turns))
    assert kinds(ledger, task, most=2) == [(0, 7, "TaskDeferred"), (0, 8, "TaskDeferred")]


def test_nobody_has_no_history(ledger):
    assert ledger.rows.history_of(a_new_id(), most=9).entries == []


def a_record(offset, *, at_ms=NOW, topic="tasks.pending"):
    return Quarantined(
        topic=topic,
        partition=0,
        offset=offset,
        member=0,
        reason="no parcel",
        value=b"\x00\xff",
        headers=HEADERS,
        at_ms=Millis(at_ms),
    )


def places(page):
    return [record.place for record in page.records]


def test_the_quarantine_is_walked_from_the_latest_on(ledger):
    records = [a_record(n, at_ms=NOW + n // 2) for n in range(5)]
    ledger.ledger.record(LedgerBatch(quarantined=records))
    first = ledger.kept.page(is_discarded=False, after=None, limit=3)
    assert [place.offset for place in places(first)] == [4, 3, 2]
    assert first.next == AfterRecord(Millis(NOW + 1), Place("tasks.pending", 0, 2, 0))
    rest = ledger.kept.page(is_discarded=False, after=first.next, limit=3)
    assert [place.offset for place in places(rest)] == [1, 0]
    assert rest.next is None
    latest = first.records[0]
    assert (latest.reason, latest.size, latest.header_names) == ("no parcel", 2, sorted(HEADERS))


def test_what_a_record_holds_is_told_of_one_at_a_time(ledger):
    ledger.ledger.record(LedgerBatch(quarantined=[a_record(1), a_record(2)]))
    page = ledger.kept.page(is_discarded=False, after=None, limit=9)
    found = ledger.kept.find(Place("tasks.pending", 0, 1, 0))
    assert found.record == page.records[1]
    assert (found.value, found.headers) == (b"\x00\xff", HEADERS)
    assert ledger.kept.find(Place("tasks.pending", 0, 9, 0)) is None


def test_a_discarded_record_is_kept_with_who_and_when_first(ledger):
    ledger.ledger.record(LedgerBatch(quarantined=[a_record(1), a_record(2)]))
    first = Dismissal(at_ms=Millis(NOW + 10), by="ann")
    place = Place("tasks.pending", 0, 1, 0)
    answer = ledger.kept.discard(place, first)
    again = ledger.kept.discard(place, Dismissal(at_ms=Millis(NOW + 20), by="bob"))
    assert answer == again
    assert answer.discarded == first
    waiting = ledger.kept.page(is_discarded=False, after=None, limit=9)
    discarded = ledger.kept.page(is_discarded=True, after=None, limit=9)
    assert [place.offset for place in places(waiting)] == [2]
    assert discarded.records == [answer]


def test_nobody_discards_what_is_not_there(ledger):
    discard = Dismissal(at_ms=NOW, by="ann")
    assert ledger.kept.discard(Place("tasks.pending", 0, 9, 0), discard) is None
