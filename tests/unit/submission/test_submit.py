"""Each key is submitted once; accepted tasks are in the log, and no decision is lost."""

from datetime import timedelta

import pytest
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core import codec, topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import Status
from taskmill.core.view import TaskView
from taskmill.stores.memory.outbox import MemoryOutbox
from taskmill.submission.submission import (
    Accepted,
    KeyReused,
    NotConfirmed,
    NotTaken,
    ReplayOf,
    Unreadable,
)
from taskmill.submission.submit import LATEST_TO_SPILL
from tests.builders import a_new_id
from tests.unit.world import Away, World


@pytest.fixture
def world():
    return World()


def nothing_takes_anything(world):
    world.log.is_away = world.outbox.is_away = True


def kept(world):
    return [codec.open_envelope(row.envelope) for row in world.outbox.unsent(after=0, most=100)]


def test_what_is_accepted_stands_in_the_log(world):
    request = world.request()
    (receipt,) = world.submit(request)
    (published,) = world.log.tasks(topics.PENDING)
    assert isinstance(receipt, Accepted)
    assert not receipt.is_deferred
    assert (published.id, published.generation) == (request.id, receipt.task.generation)
    assert not world.hot.due


def test_the_same_request_is_answered_with_its_task(world):
    world.submit(world.request("k", submission="first"))
    (receipt,) = world.submit(world.request("k", submission="second"))
    assert isinstance(receipt, ReplayOf)
    assert receipt.task.status is Status.QUEUED
    assert len(world.log.tasks(topics.PENDING)) == 1


def test_a_submission_that_is_repeated_is_accepted_again(world):
    request = world.request("k")
    (first,), (again,) = world.submit(request), world.submit(request)
    assert again == first


def test_another_request_under_the_key_is_refused(world):
    first = world.request("k")
    world.submit(first)
    receipts = world.submit(world.request("k", submission="second", fingerprint="f2"))
    assert receipts == [KeyReused(first.id)]


def test_receipts_come_in_the_order_of_the_requests(world):
    known = world.request("k", submission="first")
    world.submit(known)
    receipts = world.submit(
        world.request(),
        world.request("k", submission="second"),
        world.request("k", submission="third", fingerprint="f2"),
        world.request(),
    )
    assert [type(one) for one in receipts] == [Accepted, ReplayOf, KeyReused, Accepted]


def test_without_the_log_nothing_is_known_of_what_was_admitted_and_it_stays_owed(world):
    request = world.request("k")
    nothing_takes_anything(world)
    assert world.submit(request) == [NotConfirmed()]
    assert [name.id for name in world.hot.due] == [request.id]


def test_what_could_not_be_published_is_published_when_it_is_due(world):
    nothing_takes_anything(world)
    request = world.request()
    world.submit(request)
    world.log.is_away = False
    assert world.publish_due() == 0
    world.let_holds_end()
    assert world.publish_due() == 1
    assert [task.id for task in world.log.tasks(topics.PENDING)] == [request.id]


def test_a_replay_publishes_what_its_winner_still_owes(world):
    nothing_takes_anything(world)
    world.submit(world.request("k", submission="first"))
    world.log.is_away = False
    (receipt,) = world.submit(world.request("k", submission="second"))
    assert isinstance(receipt, ReplayOf)
    (published,) = world.log.tasks(topics.PENDING)
    assert published.submission == "first"
    assert not world.hot.due


def test_a_replay_that_cannot_publish_what_is_owed_is_not_answered(world):
    nothing_takes_anything(world)
    world.submit(world.request("k", submission="first"))
    assert world.submit(world.request("k", submission="second")) == [NotConfirmed()]


@pytest.mark.parametrize("key", [None, "k"])
def test_without_redis_a_request_is_accepted_as_deferred(world, key):
    (receipt,) = world.submit(world.request(key), admission=Away(), records=Away())
    assert isinstance(receipt, Accepted)
    assert receipt.is_deferred
    (published,) = world.log.tasks(topics.PENDING)
    assert (published.deferred, published.generation) == (True, 0)


def test_without_redis_the_log_and_the_outbox_a_request_is_not_confirmed(world):
    nothing_takes_anything(world)
    receipts = world.submit(world.request("k"), admission=Away(), records=Away())
    assert receipts == [NotConfirmed()]


def test_without_redis_the_ledger_knows_a_key(world):
    request = world.request("k", submission="first")
    world.submit(request)
    world.record()
    again, other = (
        world.request("k", submission="second", fingerprint=word) for word in ("f1", "f2")
    )
    replay, reused = world.submit(again, other, admission=Away(), records=Away())
    assert isinstance(replay, ReplayOf)
    assert not replay.is_deferred
    assert reused == KeyReused(request.id)
    assert len(world.log.tasks(topics.PENDING)) == 1


def test_without_redis_and_the_ledger_a_key_is_deferred(world):
    world.ledger.is_away = world.outbox.is_away = True
    (receipt,) = world.submit(world.request("k"), admission=Away(), records=Away())
    assert isinstance(receipt, Accepted)
    assert receipt.is_deferred


def test_a_replay_of_what_is_deferred_is_deferred_itself(world):
    """Redis may still give the key to another request that came before."""
    world.submit(world.request("k", submission="first"), admission=Away(), records=Away())
    world.record()
    (replay,) = world.submit(
        world.request("k", submission="second"), admission=Away(), records=Away()
    )
    assert isinstance(replay, ReplayOf)
    assert replay.is_deferred


def test_a_replay_that_nobody_can_read_is_not_answered(world):
    world.submit(world.request("k", submission="first"))
    world.ledger.is_away = True
    receipts = world.submit(world.request("k", submission="second"), records=Away())
    assert receipts == [Unreadable()]


def test_an_unkeyed_request_never_asks_the_ledger(world):
    world.ledger.is_away = True
    assert world.submit(world.request(), ledger=None)


class ForgetsBeforeClear:
    """Loses all data between publishing and clearing."""

    def __init__(self, world):
        self.admit = world.admission.admit
        self._world = world

    def clear(self, published):
        self._world.hot.forget()
        return self._world.admission.clear(published)


def test_a_redis_that_forgot_before_the_clearing_makes_the_answer_deferred(world):
    (receipt,) = world.submit(world.request("k"), admission=ForgetsBeforeClear(world))
    assert isinstance(receipt, Accepted)
    assert receipt.is_deferred
    assert len(world.log.tasks(topics.PENDING)) == 1


class ClearsNothing:
    def __init__(self, world):
        self.admit = world.admission.admit
        self.clear = Away().clear


def test_a_clearing_that_fails_makes_the_answer_deferred_and_leaves_it_owed(world):
    (receipt,) = world.submit(world.request("k"), admission=ClearsNothing(world))
    assert receipt.is_deferred
    assert len(world.hot.due) == 1


def test_a_cold_shard_is_like_no_redis(world):
    world.hot.restart()
    (receipt,) = world.submit(world.request(id=a_new_id()))
    assert isinstance(receipt, Accepted)
    assert receipt.is_deferred


def test_an_answer_shows_the_task_as_it_was_taken(world):
    request = world.request("k", metadata={"a": "1"})
    (receipt,) = world.submit(request)
    assert [receipt.task] == list(world.records.read([request.id]))
    assert isinstance(receipt.task, TaskView)


def test_without_the_log_a_task_is_accepted_into_the_outbox(world):
    world.log.is_away = True
    request = world.request("k")
    (receipt,) = world.submit(request)
    assert isinstance(receipt, Accepted)
    assert (receipt.is_spilled, receipt.is_deferred) == (True, False)
    assert kept(world) == [replace(request, generation=receipt.task.generation)]
    assert not world.hot.due, "the row is what is owed"


def test_without_redis_and_the_log_a_task_is_accepted_into_the_outbox_as_deferred(world):
    world.log.is_away = True
    (receipt,) = world.submit(world.request("k"), admission=Away(), records=Away())
    assert (receipt.is_spilled, receipt.is_deferred) == (True, True)
    assert [(one.deferred, one.generation) for one in kept(world)] == [(True, 0)]


def test_while_the_log_is_known_to_be_away_nothing_waits_for_it(world):
    world.log.is_known_away = world.log.is_away = True
    (receipt,) = world.submit(world.request(), bus=SendsNothing(world))
    assert receipt.is_spilled


class SendsNothing:
    def __init__(self, world):
        self.is_shut = world.log.is_shut
        self.is_in_doubt = world.log.is_in_doubt
        self.send_pending = Away().send_pending


@pytest.mark.parametrize("why", ["full", "away"])
def test_what_neither_the_log_nor_the_outbox_can_take_is_refused_before_anything_is_decided(
    world, why
):
    world.log.is_known_away = world.log.is_away = True
    outbox = MemoryOutbox(cap=1) if why == "full" else world.outbox
    outbox.is_away = why == "away"
    requests = [world.request(id=a_new_id()) for _ in range(2)]
    assert world.submit(*requests, outbox=outbox) == [NotTaken()] * 2
    assert not world.hot.records
    assert not outbox.kept


@pytest.mark.parametrize("why", ["full", "away"])
def test_without_room_a_log_in_doubt_is_tried_before_anything_is_decided(world, why):
    world.log.is_doubted = world.log.is_away = True
    outbox = MemoryOutbox(cap=0)
    outbox.is_away = why == "away"
    assert world.submit(world.request("k"), outbox=outbox) == [NotTaken()]
    assert not world.hot.records
    world.log.is_away = False
    (receipt,) = world.submit(world.request("k"), outbox=outbox)
    assert isinstance(receipt, Accepted)
    assert len(world.log.tasks(topics.PENDING)) == 1


def test_past_the_cap_nothing_is_known_of_what_was_admitted(world):
    world.log.is_away = True
    assert world.submit(world.request(), outbox=MemoryOutbox(cap=0)) == [NotConfirmed()]
    assert len(world.hot.due) == 1


def test_a_batch_is_kept_whole(world):
    world.log.is_away = True
    receipts = world.submit(*(world.request(id=a_new_id()) for _ in range(3)))
    assert [one.is_spilled for one in receipts] == [True] * 3
    assert len(kept(world)) == 3


def test_a_replay_keeps_in_the_outbox_what_its_winner_still_owes(world):
    nothing_takes_anything(world)
    world.submit(world.request("k", submission="first"))
    world.outbox.is_away = False
    (receipt,) = world.submit(world.request("k", submission="second"))
    assert isinstance(receipt, ReplayOf)
    assert [one.submission for one in kept(world)] == ["first"]
    assert not world.hot.due


def test_a_replay_of_what_the_outbox_keeps_keeps_nothing_more(world):
    world.log.is_away = True
    world.submit(world.request("k", submission="first"))
    (receipt,) = world.submit(world.request("k", submission="second"))
    assert isinstance(receipt, ReplayOf)
    assert len(kept(world)) == 1


def test_without_redis_the_outbox_knows_a_key(world):
    world.log.is_away = True
    request = world.request("k", submission="first")
    world.submit(request)
    again, other = (
        world.request("k", submission="second", fingerprint=word) for word in ("f1", "f2")
    )
    replay, reused = world.submit(again, other, admission=Away(), records=Away())
    assert (type(replay), replay.task.id) == (ReplayOf, request.id)
    assert reused == KeyReused(request.id)
    assert len(kept(world)) == 1


class TakesLong:
    """A log that fails so late that nothing may be decided any more."""

    def __init__(self, world):
        self.is_shut = world.log.is_shut
        self.is_in_doubt = world.log.is_in_doubt
        self._world = world

    def send_pending(self, _envelopes):
        self._world.wait(LATEST_TO_SPILL + timedelta(milliseconds=1))
        raise StoreUnavailable("Kafka", "it took too long")


def test_what_comes_too_late_for_the_outbox_stays_owed(world):
    assert world.submit(world.request(), bus=TakesLong(world)) == [NotConfirmed()]
    assert kept(world) == []
    assert len(world.hot.due) == 1


def test_what_the_log_refuses_for_good_waits_in_the_outbox_whose_relay_finds_it(world):
    payload = Raw(b'"%b"' % (b"x" * 2_200_000))
    (receipt,) = world.submit(world.request(id=a_new_id(), payload=payload))
    assert receipt.is_spilled
    assert [row.task_id for row in world.outbox.parked(most=9)] == []
    world.relay()
    (parked,) = world.outbox.parked(most=9)
    assert parked.why.startswith("Kafka refuses a record: ")
