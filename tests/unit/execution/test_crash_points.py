"""A worker that dies between any two calls: its task ends once, and leaves its lane."""

from datetime import timedelta

import pytest

from taskmill.core.facts import TaskSucceeded
from taskmill.core.task import Status
from tests.unit.world import Instead, World


class Killed(BaseException):
    """The process died here."""


@pytest.fixture
def world():
    return World()


def dies_at(port, verb, *, is_before=False, nth=1):
    """Return *port* of a process that dies before or after its nth call of *verb*."""
    calls = []

    def call(*asked):
        calls.append(asked)
        if is_before and len(calls) == nth:
            raise Killed
        answer = getattr(port, verb)(*asked)
        if len(calls) == nth:
            raise Killed
        return answer

    return Instead(port, **{verb: call})


def of(world, name):
    return {"bus": world.log, "lanes": world.ports.lanes, "leases": world.leases}[name]


@pytest.mark.parametrize(
    ("port", "verb", "how", "runs", "losses"),
    [
        ("lanes", "take", {"is_before": True}, 1, 0),
        ("lanes", "take", {}, 1, 0),
        ("leases", "claim", {"is_before": True}, 1, 0),
        ("leases", "claim", {}, 1, 1),
        ("leases", "settle", {"is_before": True}, 2, 1),
        ("leases", "settle", {}, 1, 0),
        ("bus", "send_facts", {}, 1, 0),
        ("bus", "flush", {}, 1, 0),
        ("lanes", "take", {"is_before": True, "nth": 2}, 1, 0),
        ("lanes", "take", {"nth": 2}, 1, 0),
    ],
    ids=lambda one: " ".join(map(str, one.values())) if isinstance(one, dict) else str(one),
)
def test_a_worker_that_dies_here_loses_nothing(world, port, verb, how, runs, losses):  # noqa: PLR0913, PLR0917 - rows of a table
    (task,) = world.admitted()
    with pytest.raises(Killed):
        world.work(**{port: dies_at(of(world, port), verb, **how)})
    world.log._sent.clear()  # noqa: SLF001 - it dies with the process
    for _ in range(2):
        world.wait(timedelta(seconds=11))
        world.watch()
        world.work()
    ends = {fact.token for fact in world.log.facts() if isinstance(fact, TaskSucceeded)}
    (view,) = world.records.read([task.id])
    assert (len(ends), view.status, view.losses) == (1, Status.SUCCEEDED, losses)
    assert len(world.performed) == runs
    assert world.waiting() == []


def test_a_worker_that_dies_before_its_last_wake_up_is_replaced_by_the_tick(world):
    world.admitted(*[None] * 3)
    with pytest.raises(Killed):
        world.work(concurrency=1, lanes=dies_at(world.ports.lanes, "take", nth=2, is_before=True))
    woken = len(world.log.records("tasks.worker.echo"))
    world.wait(timedelta(seconds=3))
    world.watch()
    assert len(world.log.records("tasks.worker.echo")) == woken + 1
