"""Routes each task to its worker, and admits what Redis could not admit before."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core import codec, topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import SubmissionDropped, TaskAdmitted
from tests.builders import a_position
from tests.unit.world import Away, Instead, World

SECOND = timedelta(seconds=1, milliseconds=1)


@pytest.fixture
def world():
    return World()


def submit_without_redis(world, *requests):
    world.submit(*requests, admission=Away(), records=Away())


def wake_ups(world):
    return [one.value for one in world.log.records("tasks.worker.echo")]


def test_a_task_enters_its_lane_and_a_worker_is_woken(world):
    world.submit(world.request())
    assert world.dispatch() == set()
    assert world.waiting() == world.log.tasks(topics.PENDING)
    assert wake_ups(world) == [codec.WAKE_UP]


def test_a_task_that_comes_again_is_in_its_lane_once(world):
    world.submit(world.request())
    world.dispatch()
    world.dispatch()
    assert len(world.waiting()) == 1
    assert len(wake_ups(world)) == 1, "one process is on its way"


def test_a_wake_up_that_the_log_refuses_stops_nobody(world):
    world.submit(world.request())
    assert world.dispatch(bus=Instead(world.log, send_wake_ups=Away().send_wake_ups)) == set()
    assert len(world.waiting()) == 1
    world.wait(SECOND)
    world.watch()
    assert wake_ups(world) == [codec.WAKE_UP], "the tick wakes again"


def test_a_wake_up_that_cannot_be_sent_loses_no_record(world):
    world.log.send_batch(topics.PENDING, b"no task")
    world.log.flush()
    world.submit(world.request())

    def drop(_wake_ups):
        world.log.drop()
        raise StoreUnavailable("Kafka", "it is away")

    assert world.dispatch(bus=Instead(world.log, send_wake_ups=drop)) == set()
    assert [one.value for one in world.log.records(topics.DLQ)] == [b"no task"]


def test_a_task_goes_in_line_without_redis(world):
    world.submit(world.request())
    assert world.dispatch(admission=Away()) == set()
    assert len(world.waiting()) == 1


def test_a_deferred_task_is_admitted_as_a_fact(world):
    submit_without_redis(world, world.request("k"))
    assert world.dispatch() == set()
    (task,) = world.waiting()
    (fact,) = world.log.facts()
    assert (task.generation, task.deferred) == (world.now, False)
    assert (type(fact), fact.envelope) == (TaskAdmitted, task)
    assert not world.hot.due


@pytest.mark.parametrize("admission", [Away(), None], ids=["away", "cold"])
def test_a_deferred_task_waits_for_redis_and_the_others_go_on(world, admission):
    submit_without_redis(world, world.request("k"))
    world.submit(world.request())
    world.hot.forget_shards()
    assert world.dispatch(admission=admission or world.admission) == {
        a_position(0, topic=topics.PENDING)
    }
    assert len(world.waiting()) == 1
    assert world.log.facts() == []


def test_a_deferred_duplicate_is_dropped_as_a_fact_of_the_first(world):
    first, second = (world.request("k", submission=word) for word in ("first", "second"))
    submit_without_redis(world, first, second)
    world.dispatch()
    (task,) = world.waiting()
    admitted, dropped = world.log.facts()
    assert task.submission == "first"
    assert (type(dropped), dropped.submission, dropped.verdict) == (
        SubmissionDropped,
        "second",
        "replayed",
    )
    assert dropped.generation == admitted.generation


def test_a_deferred_conflict_is_dropped_as_a_fact_of_the_first(world):
    other = world.request("k", submission="second", fingerprint="f2")
    submit_without_redis(world, world.request("k", submission="first"), other)
    world.dispatch()
    assert world.log.facts()[-1].verdict == "conflict"


def test_what_the_winner_still_owes_is_published_before_a_duplicate_is_dropped(world):
    world.log.is_away = world.outbox.is_away = True
    world.submit(world.request("k", submission="first"))
    world.log.is_away = False
    submit_without_redis(world, world.request("k", submission="second"))
    world.dispatch()
    deferred, winner = world.log.tasks(topics.PENDING)
    assert (deferred.submission, winner.submission) == ("second", "first")
    assert not world.hot.due


def test_a_deferred_task_that_comes_again_is_admitted_once(world):
    submit_without_redis(world, world.request("k"))
    world.dispatch()
    world.dispatch()
    (task,) = world.waiting()
    world.work()
    assert world.performed == [task.id]


def test_without_the_log_the_batch_comes_again_and_what_was_admitted_stays_owed(world):
    submit_without_redis(world, world.request("k"))
    arrivals = world.log
    records = arrivals.records(topics.PENDING)
    world.log.is_away = True
    with pytest.raises(StoreUnavailable):
        world.dispatch()
    assert len(world.hot.due) == 1
    world.log.is_away = False
    world.dispatch()
    assert len(world.waiting()) == 1
    assert len(records) == 1


def test_no_task_enters_before_its_admission_is_in_the_log(world):
    submit_without_redis(world, world.request("k"))
    seen = []

    def enter(tasks, **how):
        seen.append([type(fact) for fact in world.log.facts()])
        return world.ports.lanes.enter(tasks, **how)

    world.dispatch(lanes=Instead(world.ports.lanes, enter=enter))
    assert seen == [[TaskAdmitted]]


class ClearsNothing:
    def __init__(self, world):
        self.admit = world.admission.admit
        self.clear = Away().clear


def test_a_clearing_that_fails_only_means_a_second_copy(world):
    submit_without_redis(world, world.request("k"))
    assert world.dispatch(admission=ClearsNothing(world)) == set()
    world.let_holds_end()
    world.publish_due()
    world.dispatch()
    world.work()
    assert len(world.performed) == 1


def test_nothing_to_dispatch_sends_nothing(world):
    assert world.dispatch() == set()
    assert world.waiting() == []
    assert wake_ups(world) == []


def test_a_copy_that_was_not_deferred_keeps_its_generation(world):
    request = world.request("k")
    world.submit(request)
    world.dispatch()
    (task,) = world.waiting()
    assert task == replace(request, generation=world.now)
