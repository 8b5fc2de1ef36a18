"""The ledger's managed schedules become those that the folders declare."""

import json

import pytest

from taskmill.core.refusal import Refusal
from taskmill.schedules.declare import Declared, all_schedules, declare, misfits
from taskmill.schedules.manage import OfAFolder, delete, make, pause, put
from taskmill.schedules.read import read_new
from taskmill.stores.catalogue import AssembledCatalogue
from tests.unit.stage import Stage

OURS = {"tenant": "default"}
CATALOGUE = AssembledCatalogue()
NOTHING = Declared(made=[], changed=[], deleted=[])


@pytest.fixture
def schedules():
    return Stage().schedules


def wanted(name="nightly", **fields):
    request = {"name": name, "cron": "0 3 * * *", "task": {"type": "echo"}} | fields
    read = read_new(request, CATALOGUE, now=0)
    assert not isinstance(read, Refusal), read
    return read


def kept(schedules):
    return {one.name: one for one in all_schedules(schedules, "default")}


def test_what_is_declared_is_made_managed_and_left_alone_afterwards(schedules):
    asked = [wanted("b"), wanted("a", enabled=False)]
    assert declare(asked, schedules, **OURS) == Declared(made=["b", "a"], changed=[], deleted=[])
    before = kept(schedules)
    assert {name: (one.is_managed, one.paused is None) for name, one in before.items()} == {
        "a": (True, False),
        "b": (True, True),
    }
    assert declare(asked, schedules, **OURS) == NOTHING
    assert kept(schedules) == before


def test_what_is_declared_otherwise_is_changed_and_what_is_not_any_more_is_deleted(schedules):
    make(wanted("by-hand"), schedules, by="ada", **OURS)
    declare([wanted("a"), wanted("b")], schedules, **OURS)
    answer = declare([wanted("a", cron="0 4 * * *")], schedules, **OURS)
    assert answer == Declared(made=[], changed=["a"], deleted=["b"])
    assert {name: one.definition.cron for name, one in kept(schedules).items()} == {
        "a": "0 4 * * *",
        "by-hand": "0 3 * * *",
    }


def test_a_pause_of_the_operators_outlives_a_deployment_that_does_not_speak_of_it(schedules):
    declare([wanted()], schedules, **OURS)
    pause("nightly", schedules, by="ada", **OURS)
    declare([wanted(cron="0 4 * * *")], schedules, **OURS)
    assert kept(schedules)["nightly"].paused.by == "ada"
    declare([wanted(cron="0 4 * * *", enabled=True)], schedules, **OURS)
    assert kept(schedules)["nightly"].paused is None


def test_one_of_that_name_that_people_made_is_managed_from_now_on(schedules):
    make(wanted(), schedules, by="ada", **OURS)
    assert declare([wanted()], schedules, **OURS).changed == ["nightly"]
    assert put(wanted(), schedules, by="ada", **OURS) == OfAFolder()
    assert delete("nightly", schedules, **OURS) == OfAFolder()


def test_what_fits_its_type_no_more_is_told_with_the_place(schedules):
    for name, say in (("fits", "x"), ("misfits", 7)):
        make(
            wanted(name, task={"type": "echo", "payload": {"say": say}}), schedules, by="a", **OURS
        )
    entries = [
        {
            "name": "echo",
            "title": "",
            "schema": {"type": "object", "properties": {"say": {"type": "string"}}},
            "defaults": {"max_attempts": 4, "timeout_seconds": 30},
            "longest_timeout_seconds": 60,
            "partitions": 6,
        }
    ]
    changed = AssembledCatalogue(json.dumps(entries).encode())
    assert list(misfits(schedules, CATALOGUE, now=0, **OURS)) == []
    ((found, why),) = misfits(schedules, changed, now=0, **OURS)
    assert (found.name, why.pointer) == ("misfits", "/task/payload/say")
    gone = [why.code for _, why in misfits(schedules, AssembledCatalogue(b"[]"), now=0, **OURS)]
    assert gone == ["unknown_type", "unknown_type"]
