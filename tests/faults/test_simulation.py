"""The system under chance breaks nothing; without one of its rules it is caught."""

import pytest

from tests.faults.broken import VARIANTS
from tests.faults.checker import check
from tests.faults.simulation import Simulation

SEEDS = 150
MOST_SEEDS = 300


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


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_system_without_this_rule_is_caught(variant, figures):
    for seed in range(MOST_SEEDS):
        complaints = check(Simulation(seed, parts=VARIANTS[variant]).run())
        if complaints:
            figures.tell("negative controls", f"{variant}: seed {seed}, {complaints[0].invariant}")
            return
    pytest.fail(f"{variant}: nothing was seen in {MOST_SEEDS} seeds")
