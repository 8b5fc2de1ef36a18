"""Shelves are counted at most every few seconds, and unknown while the ledger is away."""

import pytest

from taskmill.core.task import Priority
from taskmill.insight.shelves import KEPT, Shelves, of_type
from taskmill.lanes.lane import ClassCount, place_of
from taskmill.lanes.order import order_of
from tests.builders import ECHO
from tests.unit.world import Instead, World


@pytest.fixture
def world():
    return World()


def put(world):
    task = world.request()
    world.ports.shelf.keep([place_of(task)])
    return task


def normal(shelves):
    return of_type(ECHO, shelves.count())[Priority.NORMAL].waiting


def test_a_count_is_kept_for_a_moment(world):
    shelves = Shelves(world.stores())
    put(world)
    assert normal(shelves) == 1
    put(world)
    assert normal(shelves) == 1
    world.wait(KEPT)
    assert normal(shelves) == 2


def test_a_count_that_took_long_is_kept_for_longer(world):
    def count(*, most):
        world.pass_time(seconds=1)
        return world.ports.shelf.count(most=most)

    shelves = Shelves(world.stores(shelf=Instead(world.ports.shelf, count=count)))
    assert normal(shelves) == 0
    put(world)
    world.pass_time(seconds=19)
    assert normal(shelves) == 0
    world.pass_time(seconds=1)
    assert normal(shelves) == 1


def test_each_class_has_its_own_number(world):
    task = put(world)
    counts = of_type(ECHO, Shelves(world.stores()).count())
    assert counts == dict.fromkeys(Priority, ClassCount(0, None)) | {
        Priority.NORMAL: ClassCount(1, order_of(task))
    }


def test_without_the_ledger_shelves_are_unknown_and_not_empty(world):
    world.ledger.is_away = True
    shelves = Shelves(world.stores())
    assert shelves.count() is None
    assert of_type(ECHO, None) is None
    world.ledger.is_away = False
    assert normal(shelves) == 0
