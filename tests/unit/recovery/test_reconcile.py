"""Only persistent disagreements are repaired."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core import codec, topics
from taskmill.core.task import Status
from taskmill.core.time import in_ms
from taskmill.dispatch.waiting import ParkAnswer
from taskmill.execution.outcome import Retry, Succeeded
from taskmill.lanes.enter import enter
from taskmill.lanes.lane import member_of
from taskmill.ledger.projection import row_of
from taskmill.recovery.divergence import ABOUT, Divergence
from taskmill.recovery.reconcile import MOST_MENDED, MOST_SUSPECTED, Reconciler
from taskmill.stores.memory.dispatch import MemoryParking
from taskmill.stores.memory.hot import UNLISTED, record_of
from taskmill.stores.memory.recovery import MemoryTaskVersions
from tests.builders import ECHO, a_claim, a_fresh_envelope, a_success, died
from tests.unit.world import Instead, World

MINUTE = timedelta(minutes=1)
AT_LAST = timedelta(seconds=1)
READERS = topics.readers([ECHO])


class Office(World):
    """A world with a reconciler, and readers with known positions."""

    def __post_init__(self):
        super().__post_init__()
        self.ports.task_versions = MemoryTaskVersions(
            lambda: self.ledger, self.clock, behind=AT_LAST
        )
        self.reconciler = self.a_reconciler()

    def a_reconciler(self, **others):
        return Reconciler(self.stores(**others))

    def commit(self, *readers):
        """Let these readers reach the end; without names, all of them."""
        for reader in readers or READERS:
            self.log.commit(reader, len(self.log.records(reader.topic)))

    def lose_from_lane(self, *tasks):
        """Let the lane forget these, as nothing in the product does."""
        lane = self.hot.lanes[ECHO]
        for task in tasks:
            assert lane.withdraw(member_of(task))

    def reconcile(self, looks=3):
        """Look a few times, a minute apart; return what was repaired."""
        mended = {}
        for _ in range(looks):
            self.wait(MINUTE)
            for kind, number in self.reconciler.reconcile().items():
                mended[kind] = mended.get(kind, 0) + number
        return mended


@pytest.fixture
def world():
    return Office()


def test_where_both_agree_nothing_is_done(world):
    world.admitted("a", "b")
    world.work()
    world.record()
    world.commit()
    assert world.reconcile() == {}


def test_facts_that_never_reached_the_log_are_published(world):
    world.admitted()
    world.work()
    (task,) = world.admitted()
    world.record()
    (claim,) = world.leases.claim([a_claim(task)])
    world.leases.settle([a_success(task, claim.token)])
    world.commit()
    assert world.reconcile() == {Divergence.LEDGER_BEHIND: 1}
    world.record()
    assert world.ledger.find(task.id).status is Status.SUCCEEDED


def test_a_ledger_that_is_still_reading_is_waited_for(world):
    world.admitted()
    world.record()
    world.work()
    world.commit(topics.DISPATCHER, topics.RECORDER_PENDING)
    assert world.reconcile() == {}


def test_a_record_behind_the_ledger_is_raised(world):
    (task,) = world.admitted()
    world.log.send_facts([died(task, token=1)])
    world.log.flush()
    world.record()
    assert world.reconcile() == {Divergence.RECORD_BEHIND: 1}
    assert world.status(task) is Status.DEAD


def test_what_a_scheduler_had_before_it_when_it_died_is_found_by_another(world):
    (task,) = world.admitted()
    world.log.send_facts([died(task, token=1)])
    world.log.flush()
    world.record()
    deadly = Instead(world.ports.control, see=lambda *_: 1 / 0)
    world.reconciler = world.a_reconciler(control=deadly)
    with pytest.raises(ZeroDivisionError):
        world.reconcile(looks=1)
    world.reconciler = world.a_reconciler()
    assert world.reconcile() == {Divergence.RECORD_BEHIND: 1}
    assert world.status(task) is Status.DEAD


def test_what_a_scheduler_suspected_when_it_died_is_found_by_another(world):
    """The ledger says that it is over, so that it does not stand with the unfinished ones."""
    (task,) = world.admitted()
    world.log.send_facts([died(task, token=1)])
    world.log.flush()
    world.record()
    assert world.reconcile(looks=1) == {}
    assert list(world.reconciler.suspected) == [task.id]
    world.reconciler = Reconciler(world.reconciler.stores)
    assert world.reconcile() == {Divergence.RECORD_BEHIND: 1}
    assert world.status(task) is Status.DEAD


def test_a_task_that_stands_in_no_line_is_put_there(world):
    (task,) = world.admitted()
    world.record()
    world.commit()
    world.lose_from_lane(task)
    assert world.reconcile(looks=1) == {}
    assert world.reconcile(looks=1) == {Divergence.NOT_QUEUED: 1}
    assert [one.id for one in world.waiting()] == [task.id]
    assert world.reconcile(looks=3) == {}, "it stands in line now"


def test_what_waits_or_runs_in_its_lane_is_left_alone(world):
    world.admitted("a", "b")
    world.record()
    world.commit()
    assert len(world.take(most=1)) == 1
    assert world.reconcile(looks=5) == {}
    assert world.reconciler.suspected == {}, "a backlog is not even suspected"


def test_a_lane_that_is_rebuilt_is_waited_for(world):
    (task,) = world.admitted()
    world.record()
    world.commit()
    world.lose_from_lane(task)
    world.hot.lanes[ECHO].restart()
    assert world.reconcile(looks=5) == {}


def test_what_the_dispatcher_has_yet_to_pass_on_is_no_orphan(world):
    (task,) = world.admitted()
    world.record()
    world.lose_from_lane(task)
    world.commit(*(reader for reader in READERS if reader != topics.DISPATCHER))
    assert world.reconcile(looks=10) == {}
    world.commit()
    assert world.reconcile() == {Divergence.NOT_QUEUED: 1}


def test_what_is_owed_or_due_later_is_left_alone(world):
    world.submit(world.request())
    world.admitted()
    world.work(lambda _: Retry("busy"))
    world.record()
    world.commit()
    owed = {name.id for name in world.hot.due}
    waiting = {one.id for one in world.ledger.rows.values() if not one.status.is_final}
    assert waiting <= owed | {task.id for task in world.log.tasks(topics.PENDING)}
    for name, (_, what) in list(world.hot.due.items()):
        world.hot.due[name] = (world.now + 10**9, what)
    assert Divergence.NOT_QUEUED not in world.reconcile(looks=1)


def test_what_is_parked_for_a_worker_is_left_alone(world):
    (task,) = world.admitted()
    world.record()
    world.commit()
    parking = MemoryParking(world.hot, patience=timedelta(hours=1), again_after=timedelta(hours=1))
    assert parking.park([codec.as_raw(codec.encode(task))]) == [ParkAnswer.PARKED]
    assert world.reconcile(looks=5) == {}


def test_a_lost_record_of_an_old_task_is_made_anew_and_put_in_line(world):
    (task,) = world.admitted()
    world.record()
    world.hot.remove(task.id)
    assert world.reconcile() == {}, "a young one is adopted by whoever claims it"
    world.wait(timedelta(hours=1))
    assert world.reconcile(looks=2) == {Divergence.RECORD_MISSING: 1}
    world.wait(MINUTE)
    world.publish_due()
    world.work()
    assert world.status(task) is Status.SUCCEEDED


def test_a_lost_record_of_a_finished_task_is_nobodys_loss(world):
    (task,) = world.admitted()
    world.work()
    world.record()
    world.hot.remove(task.id)
    world.wait(timedelta(hours=2))
    assert world.reconcile() == {}


def test_what_moves_between_two_looks_is_not_suspected_any_more(world):
    (task,) = world.admitted()
    world.record()
    world.commit()
    world.lose_from_lane(task)
    world.reconcile(looks=1)
    assert list(world.reconciler.suspected) == [task.id]
    enter([codec.as_raw(codec.encode(task))], world.ports)
    world.work()
    world.record()
    world.commit()
    assert world.reconcile() == {}
    assert world.reconciler.suspected == {}


def test_a_cold_redis_is_the_rebuilds_business(world):
    world.admitted()
    world.record()
    world.commit()
    world.hot.forget()
    assert world.reconcile() == {}


def test_two_looks_in_a_row_prove_nothing(world):
    (task,) = world.admitted()
    world.record()
    world.commit()
    world.lose_from_lane(task)
    world.wait(MINUTE)
    assert not world.reconciler.reconcile()
    assert not world.reconciler.reconcile()


def test_a_run_mends_so_many_and_the_next_one_the_rest(world):
    count = MOST_MENDED + 7
    tasks = [a_fresh_envelope(generation=world.now, created_at_ms=world.now) for _ in range(count)]
    world.log.send_pending(tasks)
    world.log.flush()
    world.record()
    world.wait(timedelta(hours=2))
    assert world.reconcile(looks=2) == {Divergence.RECORD_MISSING: MOST_MENDED}
    assert world.reconcile(looks=1) == {Divergence.RECORD_MISSING: 7}


def test_a_backlog_is_not_remembered_as_a_whole(world):
    count = MOST_SUSPECTED + 500
    task = a_fresh_envelope(generation=world.now, created_at_ms=world.now)
    for number in range(count):
        one = replace(task, id=f"{task.id[:-12]}{number:012x}", submission=str(number))
        world.hot.records[one.id] = record_of(one)
        world.ledger.rows[one.id] = row_of(one)
    world.wait(MINUTE)
    assert world.reconciler.reconcile() == {}
    assert len(world.reconciler.suspected) == MOST_SUSPECTED


def test_what_ended_leaves_the_unfinished_ones_a_while_later(world):
    (task,) = world.admitted()
    world.record()
    world.reconcile(looks=1)
    world.work()
    world.record()
    task_versions = world.reconciler.stores.task_versions
    world.reconcile(looks=1)
    assert [one.id for one in task_versions.unfinished(after=None, most=10)] == [task.id]
    world.wait(timedelta(hours=4))
    world.reconcile(looks=1)
    assert task_versions.unfinished(after=None, most=10) == []


def test_each_disagreement_is_told_and_has_its_remedy():
    assert set(ABOUT) == set(Divergence)


def test_a_handler_that_takes_its_time_is_left_alone(world):
    (task,) = world.admitted()
    world.record()
    world.commit()
    found = []

    def slow(_):
        found.append(world.reconcile(looks=5))
        return Succeeded()

    world.work(slow)
    assert found == [{}]
    assert in_ms(MINUTE) * 5 <= world.now - task.created_at_ms


def test_what_the_due_set_lost_is_due_again(world):
    world.admission.admit([a_fresh_envelope()])
    (name,) = world.hot.due
    world.hot.due[name] = (UNLISTED, world.hot.due[name][1])
    assert world.reconcile(looks=1) == {Divergence.UNLISTED: 1}
    assert world.hot.due[name][0] == world.clock()
