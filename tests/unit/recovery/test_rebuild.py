"""A rebuild waits for live processes and the ledger, and restarts after another loss."""

from copy import deepcopy
from datetime import timedelta

import pytest

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.lifetimes import LEASE
from taskmill.core.task import Status
from taskmill.core.view import Absent
from taskmill.lanes.lane import member_of
from taskmill.ledger.projection import row_of
from taskmill.recovery.rebuild import Rebuild
from taskmill.stores.memory.outbox import MemoryOutbox
from taskmill.stores.memory.recovery import MemoryColdShards
from taskmill.submission.submit import ReplayOf
from tests.builders import a_claim, a_fresh_envelope, a_success
from tests.unit.world import Instead, World


class Keeper(World):
    """A world with a rebuild; the recorder reads whenever time passes."""

    def rebuild(self, nonce="word", **changes):
        stores = self.stores(**changes)
        return Rebuild(stores, nonce=nonce, grace=LEASE, pause=self.wait).run()


@pytest.fixture
def world():
    world = Keeper()
    world.on_wait.append(world.record)
    return world


def test_an_open_store_costs_no_other_store_a_question(world):
    world.log.is_away = world.ledger.is_away = True
    assert world.rebuild() == 0


def test_everything_is_there_again(world):
    waiting, done = world.admitted("waiting", "done")
    (last,) = [one for one in world.take() if one.member == member_of(done)]
    (claimed,) = world.leases.claim([a_claim(done, look=last.look)])
    settlement = a_success(done, claimed.token)
    world.leases.settle([settlement])
    world.log.send_facts(settlement.facts)
    world.log.flush()
    world.hot.forget_shards()
    assert world.rebuild() == 2
    assert (world.status(waiting), world.status(done)) == (Status.QUEUED, Status.SUCCEEDED)
    world.wait(LEASE)
    world.watch()
    world.work()
    assert world.status(waiting) is Status.SUCCEEDED
    assert world.performed == [waiting.id]


def test_a_key_still_names_its_task(world):
    world.submit(world.request("k1"))
    world.dispatch()
    world.work()
    world.hot.forget()
    world.rebuild()
    (receipt,) = world.submit(world.request("k1", submission="another"))
    assert isinstance(receipt, ReplayOf)
    assert receipt.task.status is Status.SUCCEEDED


def test_the_end_of_the_log_is_noted_when_the_living_have_published(world):
    (task,) = world.admitted()
    # The worker settles, and cannot publish it yet.
    world.work(bus=Instead(world.log, flush=lambda: None))
    world.hot.forget()
    began = world.now

    def publish_late():
        if world.now - began > 5_000:
            world.log.flush()

    world.on_wait.insert(0, publish_late)
    world.rebuild()
    assert world.status(task) is Status.SUCCEEDED


def test_the_ledger_is_waited_for(world):
    world.on_wait.clear()
    (task,) = world.admitted()
    world.work()
    world.hot.forget()
    began = world.now

    def catch_up_late():
        if world.now - began > 60_000:
            world.record()

    world.on_wait.append(catch_up_late)
    world.rebuild()
    assert world.now - began > 60_000
    assert world.status(task) is Status.SUCCEEDED


@pytest.mark.parametrize("store", ["log", "ledger"])
def test_a_store_that_is_away_makes_it_wait_and_leaves_no_word(world, store):
    world.hot.forget()
    getattr(world, store).is_away = True
    with pytest.raises(StoreUnavailable):
        world.rebuild()
    getattr(world, store).is_away = False
    world.rebuild("another")
    assert world.hot.is_open


def test_a_store_that_goes_away_meanwhile_keeps_the_next_one_waiting_for_nothing(world):
    (task,) = world.admitted()
    world.hot.forget()

    def go_away():
        world.ledger.is_away = True

    world.on_wait.append(go_away)
    with pytest.raises(StoreUnavailable):
        world.rebuild()
    world.on_wait.remove(go_away)
    world.ledger.is_away = False
    assert world.rebuild("another") == 1
    assert world.status(task) is Status.QUEUED


def test_emptied_again_it_does_not_open_and_the_next_one_does(world):
    (task,) = world.admitted()
    world.hot.forget()
    began = world.now

    def forget_again():
        if world.now - began == 3_000:
            world.hot.forget()

    world.on_wait.append(forget_again)
    assert world.rebuild() == 0
    assert not world.hot.is_open
    assert world.rebuild("another") == 1
    assert world.status(task) is Status.QUEUED


def test_emptied_between_restoring_and_opening_it_does_not_open(world):
    world.admitted()
    world.hot.forget()

    def forget_behind(*, finished):
        yield from world.ledger.restorable(finished=finished)
        if not finished:
            world.hot.forget()

    world.rebuild(whole_rows=Instead(world.ledger, restorable=forget_behind))
    assert not world.hot.is_open


def test_what_ended_long_ago_ends_in_a_server_that_fell_back(world):
    (task,) = world.admitted()
    older = deepcopy(world.hot.records)
    world.work()
    world.hot.restart()
    world.hot.records = older
    verbs = {"restorable": lambda *, finished: iter(()), "unlisted": world.ledger.of}
    assert world.rebuild(whole_rows=Instead(world.ledger, **verbs)) == 1
    assert world.status(task) is Status.SUCCEEDED


def test_two_at_a_time_do_not_disturb_each_other(world):
    world.admitted()
    world.hot.forget()
    others = []
    world.on_wait.append(lambda: others.append(world.rebuild("another")))
    assert world.rebuild() == 1
    assert set(others) == {0}
    assert world.hot.is_open


def test_one_that_died_is_followed_by_another(world):
    (task,) = world.admitted()
    world.hot.forget()
    MemoryColdShards(world.hot).begin("of one that died")
    assert world.rebuild() == 0
    world.wait(timedelta(seconds=20))
    assert world.rebuild() == 1
    assert world.status(task) is Status.QUEUED


def test_a_task_in_the_outbox_is_restored_before_the_log_has_it(world):
    unsent = a_fresh_envelope(generation=world.now)
    world.hot.forget()
    outbox = MemoryOutbox()
    outbox.put(b"what only a newer version reads", (unsent.id, "newer", 1))
    outbox.add([unsent])
    assert world.rebuild(outbox=outbox) == 1
    assert world.status(unsent) is Status.QUEUED


def test_what_was_never_admitted_is_left_to_the_dispatcher(world):
    world.hot.forget()
    (receipt,) = world.submit(world.request("k1"))
    assert receipt.is_deferred
    world.rebuild()
    world.hot.lanes.open()
    (submitted,) = world.log.tasks(topics.PENDING)
    assert world.records.read([submitted.id]) == [Absent()]
    world.dispatch()
    world.work()
    assert world.performed == [submitted.id]
    (again,) = world.submit(world.request("k1", submission="another"))
    assert again.task.status is Status.SUCCEEDED


def test_a_row_without_its_submission_is_left_alone(world):
    world.hot.forget()
    task = a_fresh_envelope()
    world.ledger.rows[task.id] = row_of(task).__class__(
        **{name: getattr(row_of(task), name) for name in ("id", "type", "tenant", "status")},
        generation=task.generation,
        turn=1,
        rank=0,
    )
    assert world.rebuild() == 0
    assert world.hot.is_open
