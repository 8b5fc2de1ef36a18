"""The faults that execution tolerates, and the behaviour of its broken twins."""

from tests.models.case import Case, told
from tests.models.checker import STUCK
from tests.models.execution.model import UNHEARD, Execution
from tests.models.execution.state import Budget, World
from tests.models.execution.surroundings import RUNS_ON
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
SLOW_REBUILD = World(workers_may_pause=False, rebuilds_may_pause=True)
SLOW_GATEWAY = World(ends=("dead",), workers_may_pause=False)


def _run(
    without: str = "",
    expected: str | None = None,
    *,
    world: World | None = None,
    deep: bool = False,
    **left: int,
) -> Case:
    """Return a case of a world, with the faults that may happen in it."""
    around = world or World()

    def make(rules: Rules) -> Execution:
        return Execution(rules, around, Budget(**left))

    unusual = {
        name: value for name, value in around._asdict().items() if value != getattr(World(), name)
    }
    return Case(told("execution", unusual | left), make, without, expected, deep)


EXECUTION = [
    # Redis keeps its data
    _run(kills=2, duplicates=1),
    _run(kills=1, retries=1, duplicates=1),
    _run(kills=1, pauses=1, rebalances=1),
    _run(lost_replies=1, kills=1, retries=1),
    _run(kills=1, cancels=1, world=EITHER),
    _run(kills=1, cancels=1, retries=1, deep=True),
    _run(kills=1, redrives=1, world=DIES),
    _run(kills=3, redrives=1),
    _run(duplicates=1, expiries=1),
    _run(redrives=1, expiries=1, world=DIES),
    _run(reuses=1, kills=1),
    _run(reuses=1, cancels=1),
    _run(reuses=1, flushes=1),
    # Redis loses its data
    _run(flushes=1, kills=1, world=TELLS),
    _run(flushes=1, retries=1, kills=1),
    _run(flushes=1, cancels=1, kills=1),
    _run(flushes=1, redrives=1, world=DIES),
    _run(flushes=1, kills=1, retries=1, world=ONE_PARTITION),
    _run(flushes=1, kills=1, retries=1, world=CLOCK_BACK),
    _run(flushes=2, retries=1),
    _run(flushes=1, pauses=1, retries=1, world=SLOW_REBUILD),
    _run(failovers=1, kills=1),
    _run(failovers=1, retries=1),
    _run(failovers=1, cancels=1),
    _run(deep=True, flushes=1, redrives=1, pauses=1, world=SLOW_GATEWAY),
    _run(flushes=1, pauses=1, world=RECONCILED),
    # Something else writes to Redis
    _run(overwrites=1, kills=1, world=EITHER),
    _run(overwrites=1, kills=1, retries=1),
    _run(overwrites=1, cancels=1, kills=1),
    _run(overwrites=1, redrives=1, world=DIES),
    _run(overwrites=1, flushes=1, kills=1, world=RECONCILED),
    _run(overwrites=2, duplicates=1),
    _run(flushes=1, pauses=1, retries=1, world=AT_LEAST_ONCE),
]

RESIDUE = [
    # A worker is paused beyond a lease while Redis is rebuilt: only the reconciler ends it well,
    # and the task may run twice.
    _run("", STUCK, flushes=1, pauses=1),
    _run("", SECOND_RUN, flushes=1, pauses=1, retries=1, world=RECONCILED),
]

TWINS = [
    _run("an_end_holds_its_key", STUCK, kills=1, reuses=1),
    _run("forgetting_spares_the_unfinished", STUCK, expiries=1),
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
        pauses=1,
        cancels=1,
        world=AT_LEAST_ONCE,
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
    ),
    _run("ledger_keeps_the_token", SMALLER_TOKEN, flushes=1, kills=1, retries=1, world=CLOCK_BACK),
    _run("marker_names_the_server", STUCK, failovers=1),
    _run("rebuild_waits_a_lease", STUCK, flushes=1),
    _run("rebuild_waits_a_lease", SECOND_RUN, flushes=1, kills=1),
    _run("rebuild_waits_for_the_ledger", SECOND_RUN, flushes=1, kills=1),
    _run(
        "what_is_further_stays",
        "the record left its end: cancelled, then queued",
        failovers=1,
        cancels=1,
        kills=1,
    ),
    _run(
        "what_is_owed_goes_whole",
        STUCK,
        kills=2,
        redrives=1,
        repeats=1,
        world=DIES,
    ),
    _run("rebuild_compares_its_word", STUCK, flushes=2, retries=1),
    _run("finished_are_restored", SECOND_RUN, flushes=1, kills=1),
    _run("restored_leases_are_nobodys", TWO_HOLDERS, flushes=1, world=TELLS),
    _run("restored_leases_may_run", RUNS_ON, flushes=1, cancels=1),
    _run(
        "redrive_keeps_last_facts",
        STUCK,
        kills=2,
        redrives=1,
        flushes=1,
        world=World(ends=("dead",), one_partition=True),
    ),
    _run("what_is_no_record_is_not_missing", SECOND_RUN, overwrites=1, kills=1),
    _run("mending_publishes_what_is_owed", SECOND_RUN, overwrites=1, cancels=1, kills=1),
    _run("rebuild_waits_a_lease", SECOND_RUN, overwrites=1, kills=1),
    _run("rebuild_waits_for_the_ledger", SECOND_RUN, overwrites=1, kills=1),
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
        {"failovers": 1, "retries": 1, "world": TELLS},
        {"kills": 1, "failovers": 1, "cancels": 1},
        {"failovers": 1, "redrives": 1, "world": DIES},
        {"flushes": 2, "kills": 1, "retries": 1},
        {"flushes": 1, "failovers": 1, "retries": 1},
        {"kills": 1, "redrives": 1, "repeats": 1, "world": DIES},
        {"kills": 1, "redrives": 1, "expiries": 1, "world": DIES},
        {"kills": 1, "reuses": 1, "flushes": 1},
    )
]

CASES = [*EXECUTION, *RESIDUE, *TWINS, *DEEP]
