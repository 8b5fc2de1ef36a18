"""A dead or cancelled task gets one new generation; the log knows before the response."""

import pytest
from msgspec.structs import replace

from taskmill.core import topics
from taskmill.core.facts import TaskDied
from taskmill.core.owed import OwedKind
from taskmill.core.task import Status
from taskmill.core.view import Nowhere, Unsure
from taskmill.execution.outcome import Discard, Succeeded
from taskmill.orders.cancel import Canceller
from taskmill.orders.control import Moved
from taskmill.orders.redrive import Again, NotOver, Redriver, RedriveRequest
from taskmill.stores.memory.orders import MemoryControl
from tests.builders import a_claim, a_new_id
from tests.unit.world import Away, World


@pytest.fixture
def world():
    return World()


def ask(world, *ids, generation=None, **others):
    redriver = Redriver(world.stores(**others), world.find)
    return redriver.redrive([RedriveRequest(one, generation) for one in ids])


def discard(_envelope):
    return Discard("no")


def dead(world, *keys):
    tasks = world.admitted(*keys)
    world.work(discard)
    world.record()
    world.pass_time(milliseconds=1_000)
    return tasks


def owed(world):
    return [name for name in world.hot.due if name.kind is OwedKind.SUBMISSION]


def resubmitted(world, task):
    """Return the envelopes of later generations in `tasks.pending`."""
    tasks = world.log.tasks(topics.PENDING)
    return [one for one in tasks if one.id == task.id and one.generation > task.generation]


def without_redis(world, task, **others):
    return world.find(task.id, **{"records": Away()} | others)


def test_without_redis_an_end_is_not_told_before_the_ledger_knows_of_each_redrive(world):
    (task,) = dead(world, "k")
    assert without_redis(world, task).status is Status.DEAD
    ask(world, task.id)
    assert without_redis(world, task) == Unsure("the ledger lags behind the log")
    world.record()
    assert isinstance(without_redis(world, task), Unsure)
    world.dispatch()
    world.work()
    world.record()
    found = without_redis(world, task)
    assert (found.status, found.generation > task.generation) == (Status.SUCCEEDED, True)


def test_without_redis_and_kafka_the_ledger_tells_an_end_alone(world):
    (task,) = dead(world, "k")
    assert without_redis(world, task, log_ends=Away()).status is Status.DEAD


def test_a_dead_task_begins_anew_and_the_log_knows(world):
    (task,) = dead(world)
    (answer,) = ask(world, task.id)
    assert isinstance(answer, Again)
    assert (answer.task.status, answer.task.generation) == (Status.QUEUED, world.now)
    again = replace(task, generation=world.now, submitted=task.generation)
    assert resubmitted(world, task) == [again]
    assert owed(world) == []


def test_a_redriven_task_runs_and_the_ledger_shows_its_new_end(world):
    (task,) = dead(world)
    ask(world, task.id)
    world.dispatch()
    world.work(lambda _: Succeeded("this time"))
    world.record()
    view = world.ledger.find(task.id)
    assert (view.status, view.generation) == (Status.SUCCEEDED, task.generation + 1_000)


def test_the_facts_that_ended_it_are_published_before_it(world):
    (task,) = world.admitted()
    world.record()
    world.work(discard, bus=Away())
    assert world.log.facts() == []
    (answer,) = ask(world, task.id)
    assert isinstance(answer, Again)
    (fact,) = world.log.facts()[-1:]
    assert isinstance(fact, TaskDied)


def test_a_cancelled_task_begins_anew(world):
    (task,) = world.admitted()
    Canceller(world.stores(), world.find).cancel(task.id)
    world.record()
    (answer,) = ask(world, task.id)
    assert isinstance(answer, Again)


def test_a_redrive_that_is_repeated_gets_the_same_answer(world):
    (task,) = dead(world)
    first = ask(world, task.id)
    assert ask(world, task.id) == first
    assert len(resubmitted(world, task)) == 1


def test_a_repeated_redrive_publishes_what_the_first_did_not(world):
    (task,) = dead(world)
    world.log.is_away = True
    (first,) = ask(world, task.id)
    assert isinstance(first, Unsure)
    world.log.is_away = False
    (second,) = ask(world, task.id)
    assert isinstance(second, Again)
    assert len(resubmitted(world, task)) == 1
    assert owed(world) == []


def test_a_replay_of_the_key_leaves_the_facts_of_a_redrive_to_the_scheduler(world):
    request = world.request("k1")
    world.submit(request)
    world.dispatch()
    world.work(discard)
    world.record()
    world.pass_time(milliseconds=1_000)
    world.log.is_away = True
    ask(world, request.id)
    world.log.is_away = False
    world.submit(replace(request, submission="a second request"))
    assert len(owed(world)) == 1
    world.pass_time(milliseconds=10_000)
    world.publish_due()
    assert owed(world) == []
    assert isinstance(world.log.facts()[-1], TaskDied)


@pytest.mark.parametrize("state", ["queued", "running", "succeeded"])
def test_what_is_not_over_or_went_well_is_not_redriven(world, state):
    (task,) = world.admitted()
    if state == "running":
        world.leases.claim([a_claim(task)])
    if state == "succeeded":
        world.work()
    world.record()
    (answer,) = ask(world, task.id)
    assert isinstance(answer, NotOver)
    assert answer.task.status == state


def test_a_task_whose_record_is_gone_is_redriven_from_the_ledger(world):
    (task,) = dead(world)
    world.hot.remove(task.id)
    (answer,) = ask(world, task.id)
    assert isinstance(answer, Again)
    assert resubmitted(world, task) == [
        replace(task, generation=answer.task.generation, submitted=task.generation)
    ]


def test_a_task_that_the_ledger_does_not_know_as_dead_yet_is_asked_for_again(world):
    (task,) = world.admitted()
    world.work(discard)
    (answer,) = ask(world, task.id)
    assert isinstance(answer, Unsure)
    world.record()
    world.hot.remove(task.id)
    world.ledger.rows[task.id] = replace(world.ledger.rows[task.id], status=Status.QUEUED)
    (answer,) = ask(world, task.id)
    assert isinstance(answer, Unsure)


def test_nobody_redrives_what_was_never_submitted(world):
    (answer,) = ask(world, a_new_id())
    assert isinstance(answer, Nowhere)


@pytest.mark.parametrize("state", ["away", "cold"])
def test_nothing_is_redriven_while_redis_cannot_say(world, state):
    (task,) = dead(world)
    ports = {"control": Away()} if state == "away" else {}
    if state == "cold":
        world.hot.restart()
    (answer,) = ask(world, task.id, **ports)
    assert isinstance(answer, Unsure)
    assert resubmitted(world, task) == []


def test_a_wish_for_one_generation_is_granted_once(world):
    (task,) = dead(world)
    for _ in range(2):
        (answer,) = ask(world, task.id, generation=task.generation)
        assert isinstance(answer, Again)
        world.dispatch()
        world.work(discard)
        world.record()
    world.hot.remove(task.id)
    (answer,) = ask(world, task.id, generation=task.generation)
    assert isinstance(answer, Again)
    assert answer.task.status is Status.DEAD
    assert len(resubmitted(world, task)) == 1


def test_a_wish_for_a_generation_that_redis_does_not_know_waits(world):
    (task,) = dead(world)
    (answer,) = ask(world, task.id, generation=task.generation + 1)
    assert isinstance(answer, Unsure)


def test_many_are_redriven_together_and_each_gets_its_answer(world):
    first, second = dead(world, None, None)
    (living,) = world.admitted()
    answers = ask(world, first.id, living.id, second.id, a_new_id())
    assert [type(answer) for answer in answers] == [Again, NotOver, Again, Unsure]


def test_a_task_that_always_goes_on_is_not_asked_for_ever(world):
    (task,) = dead(world)

    class Never(MemoryControl):
        def redrive(self, orders):
            return [Moved() for _ in orders]

    (answer,) = ask(world, task.id, control=Never(world.hot))
    assert isinstance(answer, Unsure)
