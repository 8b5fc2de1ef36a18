"""The protocol holds in every state that its models reach, and a removed rule is found."""

import re
from pathlib import Path

import pytest

from tests.models.case import verdict_of
from tests.models.cases import CASES
from tests.models.rules import Rules
from tests.models.scripts.answers import DECLARED, GIVEN
from tests.models.scripts.drop_unreadable import drop_unreadable
from tests.models.scripts.place_turn import place_turn

LUA = Path(__file__).parents[2] / "shared/taskmill/stores/redis/lua"
SCRIPTS = {path.stem: path for path in LUA.rglob("*.lua")}

WITHOUT_A_STEP = {
    "lines",  # a part of other scripts
    "close_lane",  # an operator's command, on the way back to the version before
    "empty_lane",  # the same
    "for_each_record",  # a part of other scripts
    "note_unreadable",  # its caller sees an overwritten record, or a cold shard
    "room",  # a part of other scripts
    "shelve_record",  # the model of the shelf has no records
    "take_place",  # it concerns requests that wait, not tasks
    "unshelve_record",  # as shelve_record
}

WITHOUT_A_SCRIPT = {
    "open_lane",  # open_shard.lua opens a lane, too
    "release_turn",  # a process that stops settles what it gives back
}

PLAIN = {
    "enter_lane": {"WAITS", "SHELVED"},
    "fill_lane": {"FILLED"},
    "put_back": {"WAITS", "OTHER"},
    "set_rules": {"DONE"},
    "take_tasks": {"TAKEN", "NOTHING"},
    "watch_lane": {"LOOK"},
    "withdraw_tasks": {"DONE"},
}
"""Answers that a script gives as a number or a list, without a word."""

OF_THE_CALLER = {place_turn.__name__: {"UNREADABLE"}}
"""What the caller of a script makes of a record that was overwritten."""

NOT_REACHED = {
    "begin_lane": {"LIVE", "BUSY"},  # a rebuild that finds nothing to do is not a step
    "fill_lane": {"START AGAIN"},  # a lane that is lost before it is filled is lost once more
    "look_later": {"COLD"},  # it follows the look at once: see the tick
    "set_rules": {"COLD"},  # operators wait for the lane
    place_turn.__name__: {"COLD"},  # a rebuild gives up when a shard is lost
    "repair_record": {"COLD"},  # no shard is lost while the reconciler repairs
    "change_task": {"COLD"},  # the model of delays loses no data
    "delay_task": {"COLD"},  # the same
    "park_turn": {"COLD"},  # the same
    "begin_rebuild": {"LIVE"},  # a rebuild that finds nothing to do is not a step
    drop_unreadable.__name__: {"COLD", "DONE"},  # what these models know stands in the log
    "take_due": {"COLD"},  # the due set's model loses no data
}


def answers_of(script):
    """Return the upper-case words in the "Returns" part of a script's header."""
    returns = script.read_text().partition("]]\n")[0].partition("Returns")[2]
    return set(re.findall(r"\b[A-Z]{3,}(?: [A-Z]{3,})?\b", returns)) - {"JSON"}


@pytest.mark.parametrize("case", [case for case in CASES if not case.is_deep], ids=str)
def test_a_case_ends_as_it_must(case):
    verdict = verdict_of(case)
    assert verdict.complaint == case.expected, str(verdict)


def test_each_rule_has_a_twin_without_it():
    explored = {case.without for case in CASES if not case.is_deep}
    assert explored - {""} == set(Rules._fields)


def test_each_script_that_writes_has_a_step():
    writes = {
        name
        for name, path in SCRIPTS.items()
        if "flags=no-writes" not in path.read_text().splitlines()[0]
    }
    assert DECLARED.keys() - WITHOUT_A_SCRIPT == writes - WITHOUT_A_STEP
    assert writes >= WITHOUT_A_STEP
    assert not WITHOUT_A_SCRIPT & SCRIPTS.keys()


@pytest.mark.parametrize("name", sorted(DECLARED.keys() - WITHOUT_A_SCRIPT))
def test_a_step_gives_the_answers_that_its_script_names(name):
    plain = PLAIN.get(name, set()) | OF_THE_CALLER.get(name, set())
    assert plain <= DECLARED[name]
    assert DECLARED[name] - {""} - plain == answers_of(SCRIPTS[name])


def explore_what_is_clean():
    for case in CASES:
        if not case.is_deep and case.expected is None:
            verdict_of(case)


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_each_answer_of_a_step_occurs(name):
    explore_what_is_clean()
    assert GIVEN[name] == DECLARED[name] - NOT_REACHED.get(name, set())
