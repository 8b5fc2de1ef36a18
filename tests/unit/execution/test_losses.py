"""A task that lost its worker twice is a suspect: it runs alone, and not after three losses."""

import pytest

from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import AttemptLost, TaskDied, TaskSucceeded
from taskmill.lanes.lane import PutBack
from tests.unit.world import Instead, World, WorldCrew, die_with, taken


@pytest.fixture
def world():
    return World()


def counting(world, sizes):
    """Return leases that note how many claims come together, and whether they are made alone."""

    def claim(claims):
        sizes.append((len(claims), {one.alone for one in claims}))
        return world.leases.claim(claims)

    return Instead(world.leases, claim=claim)


def test_a_first_loss_runs_in_company(world):
    lost, *others = world.admitted(None, None, None)
    die_with(world, lost)
    sizes = []
    world.work(leases=counting(world, sizes))
    assert sizes == [(3, {False})]
    assert set(world.performed) == {lost.id, *(one.id for one in others)}


def test_suspects_are_performed_alone_and_others_between_two(world):
    first, second, good = world.admitted(None, None, None)
    for task in (first, second):
        die_with(world, task, times=2)
    sizes = []
    world.work(leases=counting(world, sizes))
    assert sizes == [(1, {True}), (1, {False}), (1, {True})]
    assert world.performed == [first.id, good.id, second.id]


def test_suspects_follow_each_other_when_nothing_else_could_start(world):
    first, second = world.admitted(None, None)
    for task in (first, second):
        die_with(world, task, times=2)
    sizes = []
    world.work(leases=counting(world, sizes))
    assert sizes == [(1, {True})] * 2


def test_nothing_starts_beside_a_suspect(world):
    suspect, good = world.admitted(None, None, timeout_seconds=5.0, max_attempts=1)
    die_with(world, suspect, times=2)
    starts = []

    def perform(task):
        starts.append((task.id, world.now))
        return world.perform(task)

    world.work(perform, executor=SlowExecutor(world))
    (_, began), (_, then) = starts
    assert [task_id for task_id, _ in starts] == [suspect.id, good.id]
    assert then - began >= 3_000


@pytest.mark.parametrize("lost", [1, 2])
def test_nothing_is_claimed_beside_a_suspect_after_a_lost_answer(world, lost):
    """The answer of the first claim is lost, or of the second."""
    suspect, good, other = world.admitted(None, None, None)
    die_with(world, suspect, times=2)
    sizes = []
    leases = counting(world, sizes)

    def claim(claims):
        answers = leases.claim(claims)
        if len(sizes) == lost:
            raise StoreUnavailable("Redis", "the answer was lost")
        return answers

    world.work(leases=Instead(world.leases, claim=claim))
    assert [alone for _, alone in sizes if True in alone] == [{True}] * (3 - lost)
    assert world.performed == [suspect.id, good.id, other.id]


def test_a_suspect_is_not_taken_beside_what_is_claimed_again(world):
    (suspect,) = world.admitted()
    die_with(world, suspect, times=2)
    seen = taken(world, suspect)
    (good,) = world.admitted()
    back = PutBack(type=suspect.type, member=seen.member, look=seen.look, alone=True)
    sizes = []
    leases = counting(world, sizes)

    def claim(claims):
        answers = leases.claim(claims)
        if len(sizes) == 1:
            world.ports.lanes.put_back([back])
            raise StoreUnavailable("Redis", "the answer was lost")
        return answers

    world.work(leases=Instead(world.leases, claim=claim))
    assert sizes == [(1, {False}), (1, {False}), (1, {True})]
    assert world.performed == [good.id, suspect.id]


class SlowExecutor(WorldCrew):
    """Reports each end three seconds after the start."""

    def __init__(self, world):
        super().__init__(world)
        self._ready_ms = {}

    def start(self, call):
        ticket = super().start(call)
        self._ready_ms[ticket] = self._world.now + 3_000
        return ticket

    def ended(self, *, within):
        now = self._world.now
        ready = {ticket for ticket, at in self._ready_ms.items() if at <= now}
        ends = [end for ticket, end in self._ends.items() if ticket in ready]
        self._ends = {ticket: end for ticket, end in self._ends.items() if ticket not in ready}
        if not ends:
            self._world.wait(within)
        return ends


def test_who_took_a_suspect_in_company_puts_it_back_and_takes_it_alone(world):
    """Its losses happened in a lane that was lost: only its record has counted them."""
    suspect, good = world.admitted(None, None)
    die_with(world, suspect, times=2)
    world.hot.forget_lanes()
    world.hot.lanes.open()
    world.dispatch()
    sizes = []
    world.work(leases=counting(world, sizes))
    assert sizes == [(2, {False}), (1, {True})]
    assert world.performed == [good.id, suspect.id]
    assert world.waiting() == []


def test_a_take_over_tells_of_the_loss_before_the_end(world):
    (task,) = world.admitted()
    die_with(world, task)
    world.work()
    lost, succeeded = world.log.facts()
    assert (type(lost), lost.losses) == (AttemptLost, 1)
    assert (type(succeeded), succeeded.losses) == (TaskSucceeded, 1)
    assert lost.token < succeeded.token


def test_a_second_take_over_tells_of_both_losses(world):
    (task,) = world.admitted()
    die_with(world, task, times=2)
    world.work()
    first, second, end = world.log.facts()
    assert [(type(fact), fact.losses) for fact in (first, second, end)] == [
        (AttemptLost, 1),
        (AttemptLost, 2),
        (TaskSucceeded, 2),
    ]
    assert first.token < second.token < end.token
    assert first.started_at_ms < first.at_ms <= second.started_at_ms < second.at_ms


def test_after_three_losses_a_task_is_poison_and_is_not_performed(world):
    (task,) = world.admitted()
    die_with(world, task, times=3)
    world.work()
    fact = world.log.facts()[-1]
    assert (type(fact), fact.reason, fact.losses) == (TaskDied, "poison", 3)
    assert world.performed == []


def test_after_two_losses_a_task_gets_its_chance(world):
    (task,) = world.admitted()
    die_with(world, task, times=2)
    world.work()
    assert world.performed == [task.id]
