"""A lane is filled from ledger and records once whatever it lost has come to rest."""

from datetime import timedelta

import pytest

from taskmill.core.errors import StoreUnavailable
from taskmill.core.lifetimes import LEASE
from taskmill.core.owed import Cleared, Cold, OwedKind
from taskmill.core.task import Status, Timing
from taskmill.core.time import in_ms
from taskmill.execution.lease import Beat
from taskmill.lanes.lane import Leave, member_of
from taskmill.lanes.rules import EVERYTHING, PauseOrder
from taskmill.recovery.placement import Overwritten
from taskmill.recovery.rebuild import Rebuild
from taskmill.recovery.rebuild_lanes import LaneRebuild
from tests.builders import a_claim, a_lease, a_success
from tests.contracts.hot import next_turn
from tests.unit.world import Instead, World

HOUR_MS = 3_600_000


class Keeper(World):
    """A world with both rebuilds; the recorder reads whenever time passes."""

    def rebuild_shards(self, grace=LEASE):
        return Rebuild(self.stores(), nonce="word", grace=grace, pause=self.wait).run()

    def rebuild(self, nonce="word", **changes):
        stores = self.stores(**changes)
        return LaneRebuild(stores, nonce=nonce, grace=LEASE, pause=self.wait).run()

    @property
    def lane(self):
        return self.hot.lanes["echo"]

    def in_line(self):
        return [task for task in self.waiting() if member_of(task) not in self.lane.flight]

    def in_flight(self):
        return [task for task in self.waiting() if member_of(task) in self.lane.flight]

    def claim(self, task):
        """Claim what was taken; return the token."""
        (claimed,) = self.leases.claim([a_claim(task)])
        return claimed.token

    def retry(self, task, token, *, due_at_ms):
        """Settle a retry, which the worker does not publish."""
        settlement = next_turn(task, token, due_at_ms=due_at_ms)
        self.leases.settle([settlement])
        return settlement

    def publish(self, settlement):
        self.log.send_facts(settlement.facts)
        self.log.flush()
        self.record()


@pytest.fixture
def world():
    world = Keeper()
    world.on_wait.append(world.record)
    return world


def ids(tasks):
    return [task.id for task in tasks]


def test_a_live_lane_costs_no_other_store_a_question(world):
    world.log.is_away = world.ledger.is_away = True
    assert world.rebuild() == 0


def test_a_rebuild_says_whether_it_saw_a_cold_lane(world):
    rebuild = LaneRebuild(world.stores(), nonce="one", grace=LEASE, pause=world.wait)
    rebuild.run()
    assert not rebuild.saw_cold
    world.hot.forget()
    rebuild.run()
    assert rebuild.saw_cold, "though it waits for the shards"


def test_what_waited_waits_again_in_its_order(world):
    tasks = world.admitted(*"abcdef")
    before = [one.member for one in world.take()]
    world.hot.forget_lanes()
    assert world.rebuild() == len(tasks)
    assert [one.member for one in world.take()] == before
    world.wait(LEASE)


def test_processes_are_started_for_what_waits(world):
    world.admitted()
    world.hot.forget_lanes()
    before = len(world.log.records("tasks.worker.echo"))
    world.rebuild()
    assert len(world.log.records("tasks.worker.echo")) > before


def test_after_a_loss_of_everything_the_shards_come_first(world):
    (task,) = world.admitted()
    world.hot.forget()
    epoch = world.lane.epoch
    assert world.rebuild() == 0
    assert (world.lane.is_open, world.lane.epoch) == (False, epoch)
    world.rebuild_shards()
    assert world.rebuild() == 1
    world.work()
    assert world.performed == [task.id]


def test_a_fresh_lane_opens_without_waiting(world):
    (done,) = world.admitted()
    world.work()
    world.record()
    world.hot.forget_lanes()
    began = world.now
    assert world.rebuild() == 0
    assert world.lane.is_open
    assert world.now == began
    assert world.status(done) is Status.SUCCEEDED


def test_what_was_submitted_last_is_not_missed_by_a_lane_that_seems_fresh(world):
    world.on_wait.clear()
    (task,) = world.admitted()
    world.hot.forget_lanes()
    world.on_wait.append(world.record)
    world.rebuild()
    assert ids(world.in_line()) == [task.id]


def test_what_was_taken_before_is_claimed_while_the_rebuild_waits(world):
    (task,) = world.admitted()
    world.take()
    world.hot.forget_lanes()
    began = world.now

    def claim_late_and_beat():
        if world.now - began == 4_000:
            world.claim(task)

    world.on_wait.append(claim_late_and_beat)
    world.rebuild()
    assert ids(world.in_flight()) == [task.id]
    assert world.take() == ()


def test_the_ledger_is_waited_for(world):
    (task,) = world.admitted()
    world.record()
    world.on_wait.clear()
    world.take()
    settlement = world.retry(task, world.claim(task), due_at_ms=world.now + HOUR_MS)
    world.log.send_facts(settlement.facts)
    world.log.flush()
    world.hot.forget_lanes()
    began = world.now

    def catch_up_late():
        if world.now - began > 60_000:
            world.record()

    world.on_wait.append(catch_up_late)
    assert world.rebuild() == 0
    assert world.now - began > 60_000


def test_the_end_of_the_log_is_noted_when_the_living_have_published(world):
    (task,) = world.admitted()
    world.record()
    world.on_wait.clear()
    world.take()
    settlement = world.retry(task, world.claim(task), due_at_ms=world.now + HOUR_MS)
    world.hot.forget_lanes()
    began = world.now

    def publish_late_and_record_later():
        if world.now - began == 5_000:
            world.log.send_facts(settlement.facts)
            world.log.flush()
        if world.now - began > 60_000:
            world.record()

    world.on_wait.append(publish_late_and_record_later)
    assert world.rebuild() == 0


def test_t1_a_turn_whose_hold_ran_out_stays_owed(world):
    """A scheduler enters a turn and sleeps; the fill leaves it to the due set; it wakes up."""
    (task,) = world.admitted()
    world.publish(world.retry(task, world.claim(task), due_at_ms=world.now))
    world.take()
    world.lane.leave(member_of(task))
    entries = world.due.take(most=10)
    assert [name.turn for name, _ in entries if name.kind is OwedKind.TURN] == [2]
    world.hot.forget_lanes()
    assert world.rebuild() == 0
    assert world.due.clear([name for name, _ in entries]) == [Cleared.LATE] * len(entries)
    world.publish_due()
    assert [(one.id, one.turn) for one in world.in_line()] == [(task.id, 2)]


def test_t2_what_was_said_before_a_shard_was_lost_takes_nothing_out(world):
    (task,) = world.admitted()
    world.record()
    (epoch,) = world.ports.lanes.epochs(["echo"])
    world.take()
    world.leases.settle([a_success(task, world.claim(task))])
    world.hot.forget_shards()
    world.rebuild_shards()
    world.ports.lanes.leave("echo", [Leave(member_of(task), epoch)])
    assert ids(world.in_flight()) == [task.id]


def test_t3_what_only_the_shard_knows_survives_its_loss(world):
    """A retry is settled and not published: lane and shard are lost, one after the other."""
    (task,) = world.admitted()
    world.take()
    world.retry(task, world.claim(task), due_at_ms=world.now + HOUR_MS)
    world.hot.forget_lanes()
    world.rebuild()
    assert [(one.id, one.turn) for one in world.in_line()] == [(task.id, 1)]
    world.hot.forget_shards()
    world.rebuild_shards()
    world.wait(LEASE)
    world.work()
    assert world.performed == [task.id]


def test_t3_what_the_ledger_knows_to_be_owed_starts_at_its_time(world):
    (task,) = world.admitted()
    world.take()
    world.publish(world.retry(task, world.claim(task), due_at_ms=world.now + HOUR_MS))
    world.hot.forget_lanes()
    assert world.rebuild() == 0
    world.wait(timedelta(hours=1))
    world.publish_due()
    assert [(one.id, one.turn) for one in world.in_line()] == [(task.id, 2)]


def test_t4_an_end_that_nobody_published_is_published(world):
    (task,) = world.admitted()
    world.take()
    world.leases.settle([a_success(task, world.claim(task))])
    world.hot.forget_lanes()
    assert world.rebuild() == 1
    world.work()
    world.record()
    assert world.performed == []
    assert world.ledger.find(task.id).status is Status.SUCCEEDED
    assert world.waiting() == []


def test_t7_a_lease_of_nobody_known_holds_its_place(world):
    (task,) = world.admitted()
    world.take()
    token = world.claim(task)

    def beat():
        world.leases.extend([a_lease(task, token)])
        world.hot.record(task.id).holding.source = None

    world.on_wait.append(beat)
    world.hot.forget_lanes()
    world.rebuild()
    assert ids(world.in_flight()) == [task.id]


def test_t11_a_lease_that_has_lapsed_is_closed(world):
    (task,) = world.admitted()
    world.take()
    token = world.claim(task)
    world.hot.forget_lanes()
    world.rebuild()
    assert ids(world.in_line()) == [task.id]
    assert world.leases.extend([a_lease(task, token)]) == [Beat.LOST]


def test_what_runs_is_in_flight_by_the_turn_of_its_record(world):
    (task,) = world.admitted()
    world.take()
    following = world.retry(task, world.claim(task), due_at_ms=world.now).next.owed.task
    token = world.claim(following)
    world.on_wait.append(lambda: world.leases.extend([a_lease(following, token)]))
    world.hot.forget_lanes()
    world.rebuild()
    assert [(one.turn, one.attempt) for one in world.in_flight()] == [(2, 2)]
    world.leases.settle([a_success(following, token)])


def test_a_lane_lost_beside_a_task_due_in_hours_starts_it_at_its_time(world):
    near = world.request(timing=in_future(world, minutes=5))
    far = world.request(timing=in_future(world, hours=5))
    world.submit(near, far)
    world.dispatch()
    world.hot.forget_lanes()
    world.rebuild()
    assert world.waiting() == []
    world.wait(timedelta(minutes=5))
    world.publish_due()
    assert ids(world.in_line()) == [near.id]


def test_what_was_never_admitted_is_left_to_the_dispatcher(world):
    world.hot.forget()
    (receipt,) = world.submit(world.request("k1"))
    assert receipt.is_deferred
    world.rebuild_shards()
    assert world.rebuild() == 0
    world.dispatch()
    assert ids(world.in_line()) == [receipt.task.id]


@pytest.mark.parametrize("store", ["log", "ledger"])
def test_a_store_that_is_away_makes_it_wait_and_leaves_no_word(world, store):
    (task,) = world.admitted()
    world.hot.forget_lanes()
    getattr(world, store).is_away = True
    with pytest.raises(StoreUnavailable):
        world.rebuild()
    getattr(world, store).is_away = False
    assert world.rebuild("another") == 1
    assert ids(world.in_line()) == [task.id]


def test_a_store_that_goes_away_meanwhile_keeps_the_next_one_waiting_for_nothing(world):
    (task,) = world.admitted()
    world.hot.forget_lanes()

    def go_away():
        world.ledger.is_away = True

    world.on_wait[:] = [go_away]
    with pytest.raises(StoreUnavailable):
        world.rebuild()
    world.ledger.is_away = False
    world.on_wait[:] = [world.record]
    assert world.rebuild("another") == 1
    assert ids(world.in_line()) == [task.id]


def test_emptied_again_it_does_not_open_and_the_next_one_does(world):
    (task,) = world.admitted()
    world.hot.forget_lanes()
    began = world.now

    def forget_again():
        if world.now - began == 3_000:
            world.hot.forget_lanes()

    world.on_wait.append(forget_again)
    assert world.rebuild() == 0
    assert not world.lane.is_open
    assert world.rebuild("another") == 1
    assert ids(world.in_line()) == [task.id]


def test_a_shard_lost_meanwhile_puts_it_off(world):
    """The rebuild of the shard restores leases, which live when the lane would be filled."""
    (task,) = world.admitted()
    world.hot.forget_lanes()
    began = world.now

    def lose_and_restore():
        if world.now - began == 3_000:
            world.hot.forget_shards()
        if world.now - began == 5_000:
            world.rebuild_shards(grace=timedelta(0))

    world.on_wait.append(lose_and_restore)
    assert world.rebuild() == 0
    assert not world.lane.is_open
    world.rebuild_shards()
    assert world.rebuild("another") == 1
    assert ids(world.in_line()) == [task.id]


def unreadable(world):
    """Return the port as it answers when the records were overwritten."""
    return Instead(world.ports.placements, place=lambda views: [Overwritten()] * len(views))


def test_an_unreadable_record_holds_the_place_of_its_task_and_no_lane_up(world):
    (task,) = world.admitted()
    world.take()
    world.hot.forget_lanes()
    assert world.rebuild(placements=unreadable(world)) == 1
    assert world.lane.is_open
    assert ids(world.in_flight()) == [task.id]


def test_what_had_an_unreadable_record_runs_once_that_is_restored(world):
    (task,) = world.admitted()
    world.hot.forget_lanes()
    world.rebuild(placements=unreadable(world))
    world.wait(timedelta(seconds=1))
    world.watch()
    world.work()
    assert world.performed == [task.id]


def test_an_unreadable_record_starts_nothing_early(world):
    later = world.request(timing=in_future(world, minutes=5))
    world.submit(later)
    world.dispatch()
    world.hot.forget_lanes()
    assert world.rebuild(placements=unreadable(world)) == 0
    assert world.waiting() == []
    world.wait(timedelta(minutes=5))
    world.publish_due()
    assert ids(world.in_line()) == [later.id]


def test_shards_that_are_lost_while_records_are_read_put_it_off(world):
    world.admitted()
    world.hot.forget_lanes()
    placements = Instead(world.ports.placements, place=lambda views: [Cold()] * len(views))
    assert world.rebuild(placements=placements) == 0
    assert not world.lane.is_open
    assert world.rebuild("another") == 1


def test_two_at_a_time_do_not_disturb_each_other(world):
    world.admitted()
    world.hot.forget_lanes()
    others = []
    world.on_wait.append(lambda: others.append(world.rebuild("another")))
    assert world.rebuild() == 1
    assert set(others) == {0}


def test_one_that_died_is_followed_by_another(world):
    (task,) = world.admitted()
    world.hot.forget_lanes()
    world.ports.cold_lanes.begin("of one that died", ["echo"])
    assert world.rebuild() == 0
    world.wait(timedelta(seconds=20))
    assert world.rebuild() == 1
    assert ids(world.in_line()) == [task.id]


def test_a_pause_is_set_before_anything_can_be_taken(world):
    (task,) = world.admitted()
    world.hot.forget_lanes()
    world.ports.rules.pause(PauseOrder(key=EVERYTHING, by="ada"))
    world.rebuild()
    assert world.take() == ()
    assert ids(world.in_line()) == [task.id]


def in_future(world, **span):
    return Timing(run_at_ms=world.now + in_ms(timedelta(**span)))
