"""Batches of a newer version wait until they can be decoded, and are returned once."""

from types import SimpleNamespace

import pytest

from taskmill.core import topics
from taskmill.core.errors import NEWER_VERSION, StoreUnavailable
from taskmill.ledger.quarantine import PUT_BACK
from taskmill.ledger.record import Recorder
from taskmill.recovery.newer_versions import BatchReturn
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.memory.log import MemoryLog
from taskmill.stores.memory.quarantine import MemoryNewerBatches, MemoryQuarantine
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.ledger import PostgresLedger
from taskmill.stores.postgres.quarantine import PostgresNewerBatches, PostgresQuarantine
from tests.builders import a_log_record, a_position, now_ms

SECOND = b'{"v":2,"tasks":[{"shape":"unknown"}]}'
THIRD = b'{"v":3}'


class Kept:
    def __init__(self, ledger, newer, another, quarantine):
        self.ledger, self.newer, self.quarantine = ledger, newer, quarantine
        self.another = another
        self.log = MemoryLog(now_ms)

    def put_back(self, readable):
        stores = SimpleNamespace(newer_batches=self.newer, bus=self.log)
        return BatchReturn(stores).put_back(readable=readable)

    def marks(self, *, is_discarded):
        page = self.quarantine.page(is_discarded=is_discarded, after=None, limit=10)
        return {self.value_of(one): one.discarded and one.discarded.by for one in page.records}

    def value_of(self, record):
        return self.quarantine.find(record.place).value


@pytest.fixture(params=["memory", "postgres"])
def kept(request):
    """Return the quarantine after two newer batches and one record that was never a batch."""
    if request.param == "memory":
        ledger = MemoryLedger()
        newer = MemoryNewerBatches(lambda: ledger, now_ms)
        fill(ledger)
        yield Kept(ledger, newer, newer, MemoryQuarantine(lambda: ledger))
        return
    _, dsn = request.getfixturevalue("database")
    databases = [Database(dsn) for _ in range(3)]
    ledger = PostgresLedger(databases[0])
    fill(ledger)
    yield Kept(
        ledger,
        PostgresNewerBatches(databases[1]),
        PostgresNewerBatches(databases[2]),
        PostgresQuarantine(databases[0]),
    )
    for database in databases:
        database.close()


def fill(ledger):
    log = MemoryLog(now_ms)
    for offset, value in enumerate([SECOND, THIRD, b"\x00 never a parcel"]):
        at = a_position(offset, topic=topics.PENDING)
        log.send_undecodable(a_log_record(value, at), NEWER_VERSION)
        log.send_batch(topics.EVENTS, value)
    log.flush()
    Recorder(SimpleNamespace(ledger=ledger)).record(log.records(topics.DLQ))
    Recorder(SimpleNamespace(ledger=ledger)).record(log.records(topics.EVENTS))


def test_what_cannot_be_read_yet_stays(kept):
    assert kept.put_back(readable=1) == 0
    assert kept.marks(is_discarded=True) == {}


def test_what_can_be_read_goes_back_into_its_topics_once_and_is_marked(kept):
    assert kept.put_back(readable=2) == 2
    for topic in (topics.PENDING, topics.EVENTS):
        assert [one.value for one in kept.log.records(topic)] == [SECOND]
    assert kept.marks(is_discarded=True) == {SECOND: PUT_BACK}
    assert set(kept.marks(is_discarded=False)) == {THIRD, b"\x00 never a parcel"}
    assert kept.put_back(readable=2) == 0


def test_without_the_log_it_stays_and_goes_back_later(kept):
    kept.log.is_away = True
    with pytest.raises(StoreUnavailable):
        kept.put_back(readable=3)
    kept.log.is_away = False
    assert kept.put_back(readable=3) == 4


def test_what_one_holds_another_passes_over(kept):
    with (
        kept.newer.held(readable=3, most=10) as held,
        kept.another.held(readable=3, most=10) as rest,
    ):
        assert (len(held.batches), len(rest.batches)) == (4, 0)
    assert kept.put_back(readable=3) == 4


def test_in_quarantine_it_says_why(kept):
    page = kept.quarantine.page(is_discarded=False, after=None, limit=10)
    reasons = {one.reason for one in page.records if kept.value_of(one) in {SECOND, THIRD}}
    assert reasons == {NEWER_VERSION}
