"""The rule book: every change has a revision, and whoever sees one sees all before it."""

from contextlib import closing
from threading import Barrier, Thread

import psycopg
import pytest
from msgspec.structs import replace

from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import Millis
from taskmill.lanes.lane import LanePause
from taskmill.lanes.rules import EVERYTHING, PauseOrder, RuleBook, key_of
from taskmill.stores.memory.lanes.rules import MemoryRules
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.rules import PostgresRules
from tests.builders import now_ms

ECHO, OTHER = key_of("echo"), key_of("other")
UNTIL = Millis(1_794_009_600_001)
MINUTE = 60_000


@pytest.fixture(params=["memory", "postgres"])
def rules(request):
    if request.param == "memory":
        ledger = MemoryLedger()
        yield MemoryRules(lambda: ledger, now_ms)
        return
    _, dsn = request.getfixturevalue("database")
    with closing(Database(dsn)) as database:
        yield PostgresRules(database)


def an_order(key=ECHO, **changes):
    return PauseOrder(**{"key": key, "by": "ada"} | changes)


def test_a_new_book_is_empty(rules):
    assert rules.revision() == 0
    assert rules.book() == RuleBook(0, ())


def test_a_pause_is_kept_as_it_was_ordered(rules):
    order = an_order(until_ms=UNTIL, reason="the bank is down: 50 % é")
    change = rules.pause(order)
    assert change.before == RuleBook(0, ())
    (paused,) = change.after.pauses
    assert change.after.revision == rules.revision() == 1
    assert rules.book() == change.after
    assert abs(paused.at_ms - now_ms()) < MINUTE
    fields = (paused.key, paused.until_ms, paused.reason, paused.by)
    assert fields == (ECHO, UNTIL, "the bank is down: 50 % é", "ada")


def test_a_second_pause_of_the_same_replaces_the_first(rules):
    first = rules.pause(an_order(until_ms=UNTIL, reason="slow")).after
    change = rules.pause(an_order(by="bob"))
    assert change.before == first
    (paused,) = change.after.pauses
    assert (paused.until_ms, paused.reason, paused.by) == (None, None, "bob")
    assert change.after.revision == 2


def test_pauses_of_types_and_of_everything_are_apart(rules):
    for key in (OTHER, EVERYTHING, ECHO):
        rules.pause(an_order(key))
    book = rules.resume(OTHER).after
    assert [one.key for one in book.pauses] == [EVERYTHING, ECHO]
    assert book == rules.book()
    assert book.for_lanes() == [LanePause(type=None), LanePause(type="echo")]


def test_what_is_removed_has_a_revision_of_its_own(rules):
    paused = rules.pause(an_order()).after
    change = rules.resume(ECHO)
    assert change.before == paused
    assert change.after == rules.book() == RuleBook(2, ())
    assert rules.pause(an_order()).after.revision == 3


def test_without_a_pause_nothing_is_removed_and_no_revision_taken(rules):
    for _ in range(2):
        change = rules.resume(ECHO)
        assert change.before == change.after == RuleBook(0, ())
    assert rules.revision() == 0


def test_a_revision_is_passed_by_and_the_pauses_stay(rules):
    paused = rules.pause(an_order()).after
    assert rules.pass_by(0) == 1
    assert rules.pass_by(7) == rules.pass_by(7) == rules.revision() == 8
    assert rules.book() == RuleBook(8, paused.pauses)
    assert rules.pause(an_order()).after.revision == 9


def test_a_pause_whose_end_has_come_stays_in_the_book(rules):
    rules.pause(an_order(until_ms=Millis(now_ms() - MINUTE)))
    (paused,) = rules.book().pauses
    assert paused.is_over(now_ms())
    assert not replace(paused, until_ms=None).is_over(now_ms())


def test_changes_at_the_same_time_have_different_revisions_in_the_order_of_their_commits(database):
    _, dsn = database
    workers, times = 4, 10
    start, seen = Barrier(workers), []

    def change(number):
        with closing(Database(dsn)) as own:
            rules = PostgresRules(own)
            start.wait()
            seen.extend(rules.pause(an_order(key_of(f"type{number}"))) for _ in range(times))

    threads = [Thread(target=change, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.after.revision for one in seen) == list(range(1, workers * times + 1))
    books = {one.after.revision: one.after for one in seen}
    assert all(one.before == books.get(one.after.revision - 1, RuleBook(0, ())) for one in seen)


def test_the_application_may_not_empty_the_book(database):
    owner, dsn = database
    with psycopg.connect(dsn) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("DELETE FROM rules")
    with psycopg.connect(owner) as connection, pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute("INSERT INTO rule_book (revision) VALUES (7)")


def test_a_ledger_that_is_away_says_so():
    ledger = MemoryLedger()
    ledger.is_away = True
    memory = MemoryRules(lambda: ledger, now_ms)
    for ask in (memory.revision, memory.book, lambda: memory.pause(an_order())):
        with pytest.raises(StoreUnavailable):
            ask()
