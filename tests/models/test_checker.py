"""The checker finds every violation, by the shortest path."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.models.checker import STUCK, Step, explore


class Counter(NamedTuple):
    """Counts up to an end; a fault may break it on the way."""

    end: int = 3
    pit: int | None = None
    forbidden: int | None = None
    bad_step: int | None = None

    def first(self):
        return 0

    def steps(self, state):
        if state < self.end:
            wrong = "a bad step" if state == self.bad_step else None
            yield Step(f"to {state + 1}", state + 1, broken=wrong)
        if state == self.pit:
            yield Step("falls", self.end + 1, is_fault=True)

    def broken(self, state):
        return "forbidden" if state == self.forbidden else None

    def is_good(self, state):
        return state == self.end


class Circle(Counter):
    def steps(self, state):
        yield Step(f"to {(state + 1) % 3}", (state + 1) % 3)


def test_a_model_that_always_can_end_well_is_clean():
    verdict = explore(Counter(), most=10)
    assert (verdict.complaint, verdict.states, verdict.steps) == (None, 4, 3)


def test_a_state_that_breaks_an_invariant_is_told_with_its_way():
    verdict = explore(Counter(forbidden=2), most=10)
    assert (verdict.complaint, verdict.trace) == ("forbidden", ("to 1", "to 2"))


def test_a_step_that_breaks_an_invariant_is_told_with_its_way():
    verdict = explore(Counter(bad_step=1), most=10)
    assert (verdict.complaint, verdict.trace) == ("a bad step", ("to 1", "to 2"))


def test_a_deadlock_behind_a_fault_is_found():
    verdict = explore(Counter(pit=1), most=10)
    assert verdict.complaint == STUCK
    assert verdict.trace == (
        "to 1", "falls", "from here it is lost, for instance:", "at rest: 4",
    )  # fmt: skip


def test_a_livelock_is_found():
    verdict = explore(Circle(), most=10)
    assert (verdict.complaint, verdict.trace[-1]) == (STUCK, "it goes round forever")


def test_a_fault_is_no_way_out():
    class Rescued(Counter):
        def steps(self, state):
            yield Step("luck", self.end, is_fault=True)

    assert explore(Rescued(), most=10).complaint == STUCK


def test_too_many_states_are_no_proof():
    assert explore(Counter(end=20), most=10).complaint == "gave up after 10 states"


def explored_under(seed):
    words = "from tests.models.case import *; from tests.models.lanes.cases import *; "
    words += "[print(verdict_of(case)) for case in TWINS[2:4]]"
    run = subprocess.run(
        [sys.executable, "-c", words],
        env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


def test_counts_and_traces_do_not_hang_on_the_order_of_hashes():
    assert explored_under("1") == explored_under("2") != ""
