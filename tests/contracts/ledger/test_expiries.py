"""The ledger knows expired tasks, and forgets those that started, ended or were reported."""

from msgspec.structs import replace

from taskmill.core.task import Timing
from taskmill.core.time import Expiry
from tests.builders import a_fresh_envelope, a_new_id, cancelled, now_ms, started, succeeded
from tests.contracts.ledger.test_far_tasks import changed
from tests.contracts.ledgers import batch_of

HOUR = 3_600_000


def limited(*, expires_ms=-1_000, **changes):
    timing = Timing(expires_at_ms=now_ms() + expires_ms)
    return a_fresh_envelope(id=a_new_id(), timing=timing, **changes)


def record(ledger, *answer):
    ledger.ledger.record(batch_of(*answer))


def past(ledger, **how):
    return [one for some in ledger.expiries(**how).past() for one in some]


def expiry(task):
    return Expiry(id=task.id, expires_at_ms=task.timing.expires_at_ms)


def test_who_had_to_begin_by_now_is_told_the_longest_one_first(ledger):
    late, later, in_time = limited(), limited(expires_ms=-5_000), limited(expires_ms=HOUR)
    record(ledger, late, later, in_time, a_fresh_envelope(id=a_new_id()))
    assert past(ledger) == [expiry(later), expiry(late)]


def test_many_are_told_page_by_page(ledger):
    tasks = [limited(expires_ms=-1_000 - number // 2) for number in range(8)]
    record(ledger, *tasks)
    answer = past(ledger, at_a_time=3)
    assert sorted(one.id for one in answer) == sorted(task.id for task in tasks)


def test_who_began_or_ended_is_not_told(ledger):
    began, ended, over = limited(), limited(), limited()
    record(ledger, began, ended, over)
    record(ledger, started(began), succeeded(ended))
    record(ledger, cancelled(over, token=0, started_at_ms=None))
    assert past(ledger) == []


def test_who_began_before_the_submission_was_told_is_not_told(ledger):
    task = limited()
    record(ledger, started(task))
    record(ledger, task)
    assert past(ledger) == []


def test_an_expiry_that_was_dealt_with_does_not_come_again(ledger):
    task, other = limited(), limited()
    record(ledger, task, other)
    ledger.expiries().leave([expiry(task)])
    assert past(ledger) == [expiry(other)]


def test_a_later_life_has_an_expiry_of_its_own(ledger):
    first = limited()
    record(ledger, first)
    later = Timing(expires_at_ms=first.timing.expires_at_ms + 500)
    record(ledger, replace(first, generation=first.generation + 1, timing=later))
    record(ledger, first)
    ledger.expiries().leave([expiry(first)])
    assert past(ledger) == [Expiry(id=first.id, expires_at_ms=later.expires_at_ms)]


def test_a_change_that_drops_the_expiry_leaves_it_to_who_looks(ledger):
    """Only the record in Redis shows whether the change was the last one."""
    task = limited()
    record(ledger, task)
    record(ledger, changed(task))
    assert past(ledger) == [expiry(task)]
