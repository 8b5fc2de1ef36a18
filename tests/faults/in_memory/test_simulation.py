"""Random runs violate no invariant; without any one of the rules, they do."""

import pytest

from taskmill.core.facts import TaskShelved
from taskmill.core.topics import RECORDERS
from taskmill.lanes.caps import Caps
from taskmill.worker import Worker
from tests.faults.broken import VARIANTS
from tests.faults.checker import check
from tests.faults.simulation import Simulation

SEEDS = 150
MOST_SEEDS = 300
SHORT_SEEDS = 60
SHORT = Caps(line_tasks=2, small_tasks=1)

SEEN_BY = {
    "remove, then publish": "I1 no loss",
    "an admission that owes nothing": "I1 no loss",
    "keys that are not remembered": "I8 idempotency",
    "no token compared": "I6 fencing",
    "a stale settle lets its task leave": "I1 no loss",
    "facts not repeated after a crash behind settle": "I14 conservation",
    "a tick that finds nothing": "I1 no loss",
    "what lapsed leaves its lane": "I1 no loss",
    "suspects claimed together": "P1 blame",
    "offset committed before the work": "I1 no loss",
    "a dispatcher that drops a record": "I1 no loss",
    "a handler that reports no failure": "I1 no loss",
    "nobody waits for his time": "I7 not early",
    "the time before a change stays": "I7 not early",
    "far ones are forgotten before they are owed": "I1 no loss",
    "a recorder without the rank": "I4 monotonic",
}
"""Which invariant each rule is there for."""


@pytest.fixture(autouse=True)
def _quiet(caplog):
    """Keep the complaints of stale workers out of the report: there are thousands."""
    caplog.set_level("CRITICAL", logger="taskmill")


def test_the_system_under_chance_breaks_no_promise(figures):
    kills = losses = 0
    for seed in range(SEEDS):
        simulation = Simulation(seed)
        history = simulation.run()
        assert [str(one) for one in check(history)] == [], f"seed {seed}"
        kills += simulation.mortals.kills
        losses += sum(row.losses for row in history.rows)
    figures.tell("simulation", f"{SEEDS} seeds, {kills:,} deaths, {losses} losses: clean")


def test_a_system_with_short_lines_breaks_no_promise_either():
    """Most tasks wait on the shelf first."""
    shelved = 0
    for seed in range(SHORT_SEEDS):
        simulation = Simulation(seed, caps=SHORT)
        history = simulation.run()
        assert [str(one) for one in check(history)] == [], f"seed {seed}"
        facts = simulation.mortals.log.facts()
        shelved += sum(isinstance(one, TaskShelved) for one in facts)
    assert shelved > SHORT_SEEDS


def test_the_functions_under_chance_are_those_that_are_deployed():
    system = Simulation(0).mortals.system
    assert set(system.functions) == set(system.readers)
    mapped = {reader.name: one for reader, one in system.functions.items()}
    assert isinstance(mapped.pop("worker-probe"), Worker)
    folders = {name: one.__module__ for name, one in mapped.items()}
    recorders = dict.fromkeys([one.name for one in RECORDERS], "functions.recorder.handler")
    assert folders == {"dispatcher": "functions.dispatcher.handler"} | recorders


def test_each_variant_has_its_invariant():
    assert SEEN_BY.keys() == VARIANTS.keys()


@pytest.mark.parametrize(("variant", "invariant"), SEEN_BY.items(), ids=SEEN_BY)
def test_a_system_without_this_rule_is_caught_where_the_sound_one_is_not(
    variant, invariant, figures
):
    for seed in range(MOST_SEEDS):
        seen = {one.invariant for one in check(Simulation(seed, parts=VARIANTS[variant]).run())}
        if invariant in seen:
            figures.tell("negative controls", f"{variant}: seed {seed}, {', '.join(sorted(seen))}")
            assert [str(one) for one in check(Simulation(seed).run())] == []
            return
    pytest.fail(f"{variant}: {invariant} had nothing to say in {MOST_SEEDS} seeds")
