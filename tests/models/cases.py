"""Every run of a model: what it holds, and which broken twins it must find."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from tests.models.checker import STUCK, Model, Verdict, explore
from tests.models.due_set import DueSet
from tests.models.rules import Rules

MOST_STATES = 3_000_000
DOUBLED = "two living schedulers publish the same entry, and neither was slow"


class Case(NamedTuple):
    """A model with a budget of faults; with a rule taken back it is a broken twin."""

    model: type[Any]
    faults: Mapping[str, Any]
    without: str = ""
    expected: str = ""
    """The complaint that must be found; empty when the case must be clean."""
    is_deep: bool = False
    """Too long for every run of the tests."""

    def __str__(self) -> str:
        told = self.model.__name__, _told(self.faults), self.without and f"without {self.without}"
        return " ".join(part for part in told if part)

    def build(self) -> Model[Any]:
        rules = Rules(**{self.without: False}) if self.without else Rules()
        model: Model[Any] = self.model(rules, **self.faults)
        return model


def _told(faults: Mapping[str, Any]) -> str:
    return "(" + ", ".join(f"{name}={value}" for name, value in faults.items()) + ")"


@cache
def verdicts() -> dict[str, Verdict]:
    return {}


def verdict_of(case: Case) -> Verdict:
    """Explore a case once, however many tests ask."""
    known = verdicts()
    if str(case) not in known:
        known[str(case)] = explore(case.build(), most=MOST_STATES)
    return known[str(case)]


_DUE = {"retries": 1, "kills": 1, "pauses": 1, "cancels": 1}

CASES = [
    Case(DueSet, _DUE),
    Case(DueSet, _DUE, "entries_are_held", STUCK),
    Case(DueSet, _DUE, "taking_holds_it_alone", DOUBLED),
    Case(DueSet, _DUE, "entry_names_its_turn", STUCK),
    Case(DueSet, _DUE, "next_turn_carries_facts", STUCK),
    Case(DueSet, _DUE, "cancel_takes_facts_over", STUCK),
    Case(DueSet, {"retries": 2, "kills": 2, "pauses": 2, "cancels": 1}, is_deep=True),
]
