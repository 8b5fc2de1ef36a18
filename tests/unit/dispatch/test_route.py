"""Routes each task to its worker, and admits what Redis could not admit before."""

import pytest
from msgspec.structs import replace

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import SubmissionDropped, TaskAdmitted
from tests.builders import a_position
from tests.unit.world import Away, World

WORK = "tasks.worker.echo"


@pytest.fixture
def world():
    return World()


def submit_without_redis(world, *requests):
    world.submit(*requests, admission=Away(), records=Away())


def test_a_task_goes_in_line_for_its_worker(world):
    world.submit(world.request())
    assert world.dispatch() == set()
    assert world.log.tasks(WORK) == world.log.tasks(topics.PENDING)


def test_a_task_goes_in_line_without_redis(world):
    world.submit(world.request())
    assert world.dispatch(admission=Away()) == set()
    assert len(world.log.tasks(WORK)) == 1


def test_a_deferred_task_is_admitted_as_a_fact(world):
    submit_without_redis(world, world.request("k"))
    assert world.dispatch() == set()
    (task,) = world.log.tasks(WORK)
    (fact,) = world.log.facts()
    assert (task.generation, task.deferred) == (world.now, False)
    assert (type(fact), fact.envelope) == (TaskAdmitted, task)
    assert not world.hot.due


@pytest.mark.parametrize("admission", [Away(), None], ids=["away", "cold"])
def test_a_deferred_task_waits_for_redis_and_the_others_go_on(world, admission):
    submit_without_redis(world, world.request("k"))
    world.submit(world.request())
    world.hot.restart()
    assert world.dispatch(admission=admission or world.admission) == {
        a_position(0, topic=topics.PENDING)
    }
    assert len(world.log.tasks(WORK)) == 1
    assert world.log.facts() == []


def test_a_deferred_duplicate_is_dropped_as_a_fact_of_the_first(world):
    first, second = (world.request("k", submission=word) for word in ("first", "second"))
    submit_without_redis(world, first, second)
    world.dispatch()
    (task,) = world.log.tasks(WORK)
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
    first, again = world.log.tasks(WORK)
    assert first == again
    world.work()
    assert world.performed == [first.id]


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
    assert len(world.log.tasks(WORK)) == 1
    assert len(records) == 1


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
    assert world.log.tasks(WORK) == []


def test_a_copy_that_was_not_deferred_keeps_its_generation(world):
    request = world.request("k")
    world.submit(request)
    world.dispatch()
    (task,) = world.log.tasks(WORK)
    assert task == replace(request, generation=world.now)
