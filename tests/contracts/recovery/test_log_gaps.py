"""Records past their retention in a real broker block no reader of the ledger."""

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from taskmill.core.errors import StoreUnavailable
from taskmill.core.topics import PENDING, RECORDERS
from taskmill.recovery.log_gaps import step_over
from taskmill.stores.kafka.bus import KafkaBus
from taskmill.stores.kafka.ends import KafkaLogEnds
from taskmill.stores.kafka.readers import KafkaReaders
from tests.builders import a_fresh_envelope
from tests.contracts.ledgers import PostgresTables
from tests.waiting import eventually

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
RECORDS = 30


@pytest.fixture
def ledger(database):
    owner, app = database
    tables = PostgresTables(app, owner)
    yield tables
    tables.close()


@pytest.fixture
def readers(brokers):
    readers = KafkaReaders(brokers)
    eventually(lambda: answers(readers), within=60, reason="the broker knows groups")
    yield readers
    readers.close()


def answers(readers):
    try:
        return readers.reach(RECORDERS)
    except StoreUnavailable:
        return False


@pytest.fixture
def ends(brokers):
    """Return where the topic of submissions ends, by partition."""
    ends = KafkaLogEnds(brokers)
    yield lambda: {place: end for place, end in ends.ends().items() if place[0] == PENDING}
    ends.close()


def fill(brokers):
    bus = KafkaBus(brokers)
    for _ in range(RECORDS):
        bus.send_pending([a_fresh_envelope()])
    bus.flush()
    bus.close()


def lose(brokers, places):
    admin = AdminClient({"bootstrap.servers": brokers, "log_level": 0})
    gone = [TopicPartition(topic, number, end) for (topic, number), end in places.items()]
    for done in admin.delete_records(gone).values():
        done.result(timeout=30)


def test_the_ledger_is_said_to_be_where_the_log_begins(brokers, ledger, readers, ends):
    fill(brokers)
    lost = ends()
    lose(brokers, lost)
    applied = ledger.whole()
    gaps = step_over(readers, applied, ledger.ledger, set())
    assert {(gap.topic, gap.partition): gap.next for gap in gaps if gap.topic == PENDING} == lost
    assert applied.applied().items() >= lost.items()
    assert step_over(readers, applied, ledger.ledger, set()) == []
    fill(brokers)
    assert step_over(readers, applied, ledger.ledger, set()) == [], "what waits is not lost"
    assert sum(ends().values()) == sum(lost.values()) + RECORDS
