"""The protocol holds in every state that its models reach, and a removed rule is found."""

import re
from pathlib import Path

import pytest

from tests.models.case import verdict_of
from tests.models.cases import CASES
from tests.models.rules import Rules
from tests.models.scripts.answers import DECLARED, GIVEN
from tests.models.scripts.drop_unreadable import drop_unreadable

LUA = Path(__file__).parents[2] / "shared/taskmill/stores/redis/lua"
SCRIPTS = {path.stem: path for path in LUA.rglob("*.lua")}

WITHOUT_A_STEP = {
    "note_unreadable",  # its caller sees an overwritten record, or a cold shard
    "take_place",  # it concerns requests that wait, not tasks
}

NOT_REACHED = {
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
    assert DECLARED.keys() == writes - WITHOUT_A_STEP
    assert writes >= WITHOUT_A_STEP


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_a_step_gives_the_answers_that_its_script_names(name):
    assert DECLARED[name] - {""} == answers_of(SCRIPTS[name])


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_each_answer_of_a_step_occurs(name):
    for case in CASES:
        if not case.is_deep and case.expected is None:
            verdict_of(case)
    assert GIVEN[name] == DECLARED[name] - NOT_REACHED.get(name, set())
