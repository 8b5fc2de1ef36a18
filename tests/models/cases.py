"""Every case: the faults that the protocol tolerates, and the twins that fail."""

from tests.models.admission import cases as admission_cases
from tests.models.case import Case, told
from tests.models.checker import STUCK
from tests.models.delays import OUTDATED, Delays
from tests.models.due_set import DOUBLED, DueSet
from tests.models.lanes import cases as lanes_cases
from tests.models.parking import Parking


def _due(
    without: str = "", expected: str | None = None, *, slips: int = 0, deep: bool = False
) -> Case:
    most = 2 if deep else 1
    left = {"retries": most, "kills": most, "pauses": most, "cancels": 1, "slips": slips}
    name = told("due set", left)
    return Case(name, lambda rules: DueSet(rules, **left), without, expected, deep)


def _waiting(
    without: str = "", expected: str | None = None, *, body: str = "far", deep: bool = False
) -> Case:
    left = {"changes": 2 if deep else 1, "kills": 2 if deep else 1, "hours": 1}
    name = told(f"delays: {body}", left)
    return Case(name, lambda rules: Delays(rules, body, **left), without, expected, deep)


def _parked(without: str = "", expected: str | None = None, *, kills: int = 1) -> Case:
    name = told("parking", {"kills": kills})
    return Case(name, lambda rules: Parking(rules, kills), without, expected)


DUE_SET = [
    _due(),
    _due(slips=1),
    _due("what_is_owed_is_listed", STUCK, slips=1),
    _due("entries_are_held", STUCK),
    _due("taking_holds_it_alone", DOUBLED),
    _due("entry_names_its_turn", STUCK),
    _due("next_turn_carries_facts", STUCK),
    _due("cancel_takes_facts_over", STUCK),
    _due(deep=True),
]

DELAYS = [
    _waiting(),
    _waiting(body="near"),
    _waiting("delaying_compares", OUTDATED),
    _waiting("a_change_is_a_new_turn", OUTDATED),
    _waiting("a_change_takes_facts_over", STUCK),
    _waiting("orders_outlast_the_lag", OUTDATED),
    _waiting("far_rows_leave_last", STUCK),
    _waiting(deep=True),
]

PARKING = [
    _parked(),
    _parked(kills=2),
    _parked("parking_again_is_another_name", STUCK),
]

CASES = [
    *DUE_SET,
    *DELAYS,
    *PARKING,
    *admission_cases.CASES,
    *lanes_cases.CASES,
]
