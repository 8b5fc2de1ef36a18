"""Every case: the faults that the protocol stands, and the twins that do not."""

from tests.models.case import Case
from tests.models.checker import STUCK
from tests.models.due_set import DOUBLED, DueSet
from tests.models.execution.model import UNHEARD, Execution
from tests.models.execution.state import Budget, World
from tests.models.execution.worker import (
    RAN_CANCELLED,
    SECOND_RUN,
    SMALLER_TOKEN,
    TAKEN_OVER,
    TOO_EARLY,
    TWO_HOLDERS,
)
from tests.models.rules import Rules

DIES = World(ends=("dead",))
EITHER = World(ends=("succeeded", "dead"))
TELLS = World(tells_starts=True)
ONE_PARTITION = World(one_partition=True)
CLOCK_BACK = World(clock_falls_back=2)
RECONCILED = World(reconciles=True)
AT_LEAST_ONCE = World(reconciles=True, second_run_is_wrong=False)
SLOW_GATEWAY = World(ends=("dead",), workers_may_pause=False)


def _due(
    without: str = "", expected: str | None = None, *, deep: bool = False, **left: int
) -> Case:
    return Case(
        _told("due set", left), lambda rules: DueSet(rules, **left), without, expected, deep
    )


def _run(
    without: str = "",
    expected: str | None = None,
    *,
    world: World | None = None,
    deep: bool = False,
    **left: int,
) -> Case:
    """Make a case of execution."""
    around = world or World()

    def make(rules: Rules) -> Execution:
        return Execution(rules, around, Budget(**left))

    told = {
        name: value for name, value in around._asdict().items() if value != getattr(World(), name)
    }
    return Case(_told("execution", told | left), make, without, expected, deep)


def _told(model: str, what: dict[str, object]) -> str:
    return f"{model}: " + ", ".join(f"{name} {value}" for name, value in what.items())


_DUE = {"retries": 1, "kills": 1, "pauses": 1, "cancels": 1}

DUE_SET = [
    _due(**_DUE),
    _due("entries_are_held", STUCK, **_DUE),
    _due("taking_holds_it_alone", DOUBLED, **_DUE),
    _due("entry_names_its_turn", STUCK, **_DUE),
    _due("next_turn_carries_facts", STUCK, **_DUE),
    _due("cancel_takes_facts_over", STUCK, **_DUE),
    _due(deep=True, retries=2, kills=2, pauses=2, cancels=1),
]

EXECUTION = [
    # Redis remembers
    _run(kills=2, duplicates=1),
    _run(kills=1, retries=1, duplicates=1),
    _run(kills=1, pauses=1, rebalances=1),
    _run(lost_replies=1, kills=1, retries=1),
    _run(kills=1, cancels=1, retries=1),
    _run(kills=1, redrives=1, world=DIES),
    _run(kills=3, redrives=1),
    _run(duplicates=1, expiries=1),
    # Redis forgets
    _run(flushes=1, kills=1, world=TELLS),
    _run(flushes=1, retries=1, kills=1),
    _run(flushes=1, cancels=1, kills=1),
    _run(flushes=1, redrives=1, world=DIES),
    _run(flushes=1, kills=1, retries=1, world=ONE_PARTITION),
    _run(flushes=1, kills=1, retries=1, world=CLOCK_BACK),
    _run(flushes=2, retries=1),
    _run(failovers=1, kills=1),
    _run(failovers=1, retries=1),
    _run(failovers=1, cancels=1),
    _run(deep=True, flushes=1, redrives=1, pauses=1, world=SLOW_GATEWAY),
    _run(flushes=1, pauses=1, world=RECONCILED),
    _run(flushes=1, pauses=1, retries=1, world=AT_LEAST_ONCE),
]

RESIDUE = [
    # A worker paused beyond a lease while Redis is rebuilt: only the reconciler ends it well,
    # and the task may run twice.
    _run("", STUCK, flushes=1, pauses=1),
    _run("", SECOND_RUN, flushes=1, pauses=1, retries=1, world=RECONCILED),
]

TWINS = [
    _run("same_record_waits", STUCK, kills=1),
    _run("drops_are_remembered", STUCK, kills=2, rebalances=1, duplicates=1),
    _run("refusals_tell_what_is_owed", STUCK, kills=1),
    _run("only_the_young_are_adopted", SECOND_RUN, duplicates=1, expiries=1),
    _run(
        "claim_compares_generation_first",
        STUCK,
        flushes=1,
        redrives=1,
        pauses=1,
        world=SLOW_GATEWAY,
    ),
    _run("tokens_grow_with_time", TAKEN_OVER, flushes=1, pauses=1, rebalances=1),
    _run("turns_order_a_life", TOO_EARLY, kills=1, retries=1),
    _run("settle_compares", TAKEN_OVER, pauses=1, rebalances=1, world=EITHER),
    _run(
        "settle_compares_the_turn",
        "the record left its end: cancelled, then succeeded",
        flushes=1,
        cancels=1,
    ),
    _run("settle_compares_the_token", TAKEN_OVER, pauses=1, rebalances=1),
    _run("stale_comes_again", STUCK, kills=1, pauses=1, rebalances=1),
    _run("position_moves_after_the_work", STUCK, kills=1),
    _run("next_turn_carries_facts", STUCK, kills=1, retries=1),
    _run("control_compares", "the record left its end: succeeded, then cancelled", cancels=1),
    _run("settle_hears_the_cancel", UNHEARD, retries=1, cancels=1),
    _run("cancelled_run_ends_cancelled", RAN_CANCELLED, kills=1, cancels=1),
    _run("standing_decides", STUCK, retries=1),
    _run(
        "an_end_closes_its_generation",
        "the record left its end: succeeded, then retrying",
        flushes=1,
        pauses=1,
        retries=1,
        duplicates=1,
        world=AT_LEAST_ONCE,
        deep=True,
    ),
    _run("ledger_keeps_the_token", SMALLER_TOKEN, flushes=1, kills=1, retries=1, world=CLOCK_BACK),
    _run("marker_names_the_server", STUCK, failovers=1),
    _run("rebuild_waits_a_lease", STUCK, flushes=1),
    _run("rebuild_waits_a_lease", SECOND_RUN, flushes=1, kills=1),
    _run("rebuild_waits_for_the_ledger", SECOND_RUN, flushes=1, kills=1),
    _run("rebuild_compares_its_word", STUCK, flushes=2, retries=1),
    _run("finished_are_restored", SECOND_RUN, flushes=1, kills=1),
    _run("restored_leases_are_nobodys", TWO_HOLDERS, flushes=1, world=TELLS),
    _run("redrive_keeps_last_facts", STUCK, kills=2, redrives=1, flushes=1, world=DIES, deep=True),
]

DEEP = [
    _run(deep=True, **faults)
    for faults in (
        {"kills": 2, "pauses": 1, "rebalances": 1, "duplicates": 1},
        {"kills": 1, "pauses": 1, "rebalances": 1, "retries": 1},
        {"kills": 1, "lost_replies": 1, "retries": 1, "duplicates": 1},
        {"kills": 1, "cancels": 1, "pauses": 1, "rebalances": 1},
        {"kills": 1, "cancels": 1, "redrives": 1, "world": EITHER},
        {"kills": 1, "flushes": 1, "redrives": 1, "world": DIES},
        {"kills": 1, "flushes": 1, "retries": 1, "world": TELLS},
        {"kills": 1, "flushes": 1, "duplicates": 1, "retries": 1},
        {"kills": 1, "failovers": 1, "retries": 1, "world": TELLS},
        {"kills": 1, "failovers": 1, "cancels": 1},
        {"failovers": 1, "redrives": 1, "world": DIES},
        {"flushes": 2, "kills": 1, "retries": 1},
        {"flushes": 1, "failovers": 1, "retries": 1},
    )
]

CASES = [*DUE_SET, *EXECUTION, *RESIDUE, *TWINS, *DEEP]
