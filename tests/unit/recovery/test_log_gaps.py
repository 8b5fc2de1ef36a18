"""Records that the log lost are reported once and block no reader."""

import pytest

from taskmill.core.errors import StoreUnavailable
from taskmill.core.log import Reach
from taskmill.core.topics import EVENTS, PENDING, RECORDER_EVENTS, RECORDER_PENDING
from taskmill.ledger.projection import Applied, LedgerBatch
from taskmill.recovery.log_gaps import step_over
from taskmill.stores.memory.ledger import MemoryLedger

NEW = Reach(0, 0, None)


class Readers:
    """The recorder's position in one partition of each topic."""

    def __init__(self, *, pending=NEW, events=NEW):
        self._told = {(RECORDER_PENDING, 0): pending, (RECORDER_EVENTS, 0): events}

    def reach(self, readers):
        return {place: reach for place, reach in self._told.items() if place[0] in readers}


@pytest.fixture
def ledger():
    return MemoryLedger()


def record(ledger, first, following, topic=EVENTS):
    run = Applied(topic=topic, partition=0, first=first, next=following, as_of_ms=1)
    ledger.record(LedgerBatch(applied=[run]))


def stepped(ledger, *, before=None, **reach):
    gaps = step_over(Readers(**reach), ledger, ledger, set() if before is None else before)
    return [(gap.topic, gap.first, gap.next) for gap in gaps]


def test_a_log_that_is_new_has_lost_nothing(ledger):
    assert stepped(ledger) == []
    assert ledger.applied() == {}


def test_what_is_read_and_what_waits_are_no_gaps(ledger):
    record(ledger, 0, 7)
    assert stepped(ledger, events=Reach(0, 7, 7)) == []
    assert stepped(ledger, events=Reach(2, 90, 5)) == [], "recorded, and not committed yet"


def test_the_ledger_goes_on_behind_what_it_never_saw(ledger):
    record(ledger, 0, 5)
    record(ledger, 7, 9)
    assert stepped(ledger, events=Reach(7, 12, 9)) == [(EVENTS, 5, 9)]
    record(ledger, 9, 12)
    assert ledger.applied() == {(EVENTS, 0): 12}
    assert stepped(ledger, events=Reach(7, 12, 12)) == [], "it is told once"


def test_what_was_written_behind_the_step_and_committed_later_is_stepped_over_too(ledger):
    before = set()
    record(ledger, 0, 5)
    assert stepped(ledger, before=before, events=Reach(7, 20, 9)) == [(EVENTS, 5, 9)]
    record(ledger, 12, 15)
    assert stepped(ledger, before=before, events=Reach(7, 20, 15)) == [(EVENTS, 9, 15)]
    assert ledger.applied() == {(EVENTS, 0): 15}
    assert stepped(ledger, before=before, events=Reach(7, 20, 15)) == []
    assert before == set()


def test_what_the_log_still_has_is_told_each_time_and_not_stepped_over(ledger, caplog):
    """An older ledger was brought back: its readers must go back as well."""
    record(ledger, 0, 5)
    for _ in range(2):
        assert stepped(ledger, events=Reach(3, 20, 9)) == [(EVENTS, 5, 9)]
    assert ledger.applied() == {(EVENTS, 0): 5}
    assert {line.message for line in caplog.records} == {
        "the ledger has not applied records that the log still has"
    }


def test_a_partition_of_which_nothing_is_left_is_read_to_its_end(ledger):
    """Its reader finds nothing more, and so commits nothing."""
    record(ledger, 0, 5)
    assert stepped(ledger, events=Reach(9, 9, 5)) == [(EVENTS, 5, 9)]
    assert ledger.applied() == {(EVENTS, 0): 9}


def test_a_ledger_that_never_saw_a_topic_goes_on_where_the_topic_begins(ledger):
    reach = {"pending": Reach(40, 50, None), "events": Reach(0, 3, None)}
    assert stepped(ledger, **reach) == [(PENDING, 0, 40)]


def test_each_gap_is_logged_as_an_error(ledger, caplog):
    step_over(Readers(events=Reach(9, 9, 5)), ledger, ledger, set())
    (line,) = caplog.records
    assert (line.levelname, line.topic, line.first, line.next) == ("ERROR", EVENTS, 0, 9)


def test_while_the_ledger_is_away_nothing_is_stepped_over(ledger):
    ledger.is_away = True
    with pytest.raises(StoreUnavailable):
        stepped(ledger, events=Reach(9, 9, 5))
