"""The faults that lanes tolerate, and the behaviour of their broken twins."""

from tests.models.case import Case, told
from tests.models.checker import STUCK
from tests.models.lanes.gateways import RUNS_ON
from tests.models.lanes.model import TWO_ENDS, Lanes
from tests.models.lanes.shelf import PASSED, Line, Shelf
from tests.models.lanes.shelf import Budget as ShelfBudget
from tests.models.lanes.state import Budget, World
from tests.models.lanes.suspects import BLAMED, Company, Mix
from tests.models.lanes.unwatched import Around, Unwatched
from tests.models.lanes.worker import (
    PAUSED,
    RAN_CANCELLED,
    SECOND_RUN,
    SMALLER_TOKEN,
    TAKEN_OVER,
    TOO_EARLY,
    TOO_MANY,
    TWO_HOLDERS,
    UNHEARD,
)
from tests.models.rules import Rules

FROM_THE_LOG = World(is_begun=False)
WORKERS_DIE = World(mortal=("worker",))
DISPATCHER_DIES = World(tasks=1, mortal=("dispatcher",), is_begun=False)
SCHEDULER_DIES = World(mortal=("scheduler",))
TWO_TICKS = World(ticks=2)
THREE_TASKS = World(tasks=3)
WINDOW_OF_TWO = World(tasks=3, window=2, mortal=("worker",))
ONE_TASK = World(tasks=1)
ONE_TASK_TWO_TICKS = World(tasks=1, ticks=2)
ONE_TASK_WORKERS_DIE = World(tasks=1, mortal=("worker",))
ALONE = World(tasks=1, workers=1, mortal=("worker",))
"""One task, and one invocation at a time."""
SLOW_SCHEDULER = World(tasks=1, drowsy=("scheduler",))
DIES = World(tasks=1, ends=("dead",))
AT_LEAST_ONCE = World(second_run_is_wrong=False)
"""A pause longer than a lease across the rebuild of a shard may end in a second run."""
ONE_AT_LEAST_ONCE = World(tasks=1, second_run_is_wrong=False)
LAGS = World(tasks=1, lags=True)
"""The ledger lags, and rebuilds are several steps."""
LAGS_WORKERS_DIE = LAGS._replace(mortal=("worker",))
LAGS_ALONE = LAGS_WORKERS_DIE._replace(workers=1)
LAGS_AND_DIES = LAGS._replace(ends=("dead",), mortal=("worker",), workers=1)
LAGS_AND_TELLS = LAGS._replace(tells_starts=True)
CLOCK_BACK = LAGS_WORKERS_DIE._replace(clock_falls_back=2)
SLOW_REBUILD = LAGS._replace(drowsy=("rebuild",))
SLOW_GATEWAY = World(tasks=1, ends=("dead",), drowsy=("gateway",))
RECONCILED = World(tasks=1, reconciles=True, second_run_is_wrong=False)
READS_FIRST = World(tasks=1, workers=1, reads_first=True, ends=("succeeded", "dead"))
PUNCTUAL = World(tasks=1, is_punctual=True)


def _lane(
    without: str = "",
    expected: str | None = None,
    *,
    world: World | None = None,
    deep: bool = False,
    **left: int,
) -> Case:
    """Return a case of a world, with the faults that may happen in it."""
    around = world or World()

    def make(rules: Rules) -> Lanes:
        return Lanes(rules, around, Budget(**left))

    unusual = {
        name: value for name, value in around._asdict().items() if value != getattr(World(), name)
    }
    return Case(told("lanes", unusual | left), make, without, expected, deep)


def _line(
    without: str = "", expected: str | None = None, *, around: Line | None = None, **left: int
) -> Case:
    """Return a case of one line and its shelf."""
    line = around or Line()

    def make(rules: Rules) -> Shelf:
        return Shelf(rules, line, ShelfBudget(**left))

    unusual = {
        name: value for name, value in line._asdict().items() if value != getattr(Line(), name)
    }
    return Case(told("lanes' shelf", unusual | left), make, without, expected)


def _alone(
    without: str = "",
    expected: str | None = None,
    *,
    around: Around | None = None,
    deep: bool = False,
    kills: int = 0,
) -> Case:
    """Return a case of a lane that no scheduler watches."""
    surroundings = around or Around()

    def make(rules: Rules) -> Unwatched:
        return Unwatched(rules, surroundings, kills)

    name = told("lanes without a scheduler", surroundings._asdict() | {"kills": kills})
    return Case(name, make, without, expected, deep)


def _company(
    without: str = "",
    expected: str | None = None,
    *,
    mix: Mix | None = None,
    deep: bool = False,
    **left: int,
) -> Case:
    """Return a case of tasks of which some kill their process."""
    around = mix or Mix()

    def make(rules: Rules) -> Company:
        return Company(rules, around, **left)

    return Case(told("lanes' suspects", around._asdict() | left), make, without, expected, deep)


LANES = [
    # Redis keeps its data
    _lane(kills=1, world=FROM_THE_LOG),
    _lane(kills=2, world=WORKERS_DIE),
    _lane(kills=1, lost_replies=1),
    _lane(kills=1, world=WINDOW_OF_TWO),
    _lane(kills=1, retries=1, world=ONE_TASK_TWO_TICKS),
    _lane(kills=1, cancels=1, world=WORKERS_DIE),
    _lane(kills=1, cancels=1, world=DISPATCHER_DIES),
    _lane(duplicates=1, retries=1, world=ONE_TASK),
    _lane(duplicates=1, expiries=1, kills=1, world=ONE_TASK),
    _lane(redrives=1, kills=1, world=DIES),
    _lane(reuses=1, kills=1, world=ONE_TASK),
    _lane(pauses=1, kills=1, world=WORKERS_DIE),
    _lane(pauses=1, lost_replies=1),
    _lane(kills=1, world=TWO_TICKS),
    _lane(pauses=1, retries=1, world=SLOW_SCHEDULER),
    _lane(changes=1, kills=1, world=ALONE),
    _lane(changes=1, cancels=1, world=ALONE),
    _lane(releases=2, retries=1, world=ONE_TASK),
    _lane(releases=1, pauses=1),
    _lane(releases=1, cancels=1, world=ONE_TASK),
    _lane(stalls=1, kills=1, world=WORKERS_DIE),
    _lane(stalls=1, pauses=1),
    _lane(stops=2, pauses=1),
    # The lane is lost
    _lane(lane_losses=1, world=FROM_THE_LOG),
    _lane(lane_losses=1, kills=1, world=WORKERS_DIE),
    _lane(lane_losses=1, pauses=1),
    _lane(lane_losses=1, stalls=1),
    _lane(lane_losses=1, stops=1),
    _lane(lane_losses=2),
    _lane(lane_losses=1, retries=1, kills=1, world=ALONE),
    _lane(lane_losses=1, retries=1, pauses=1, world=SLOW_SCHEDULER),
    _lane(lane_losses=1, redrives=1, world=DIES),
    _lane(lane_losses=1, changes=1, world=ALONE),
    # The shard is lost, and the lane lives
    _lane(shard_losses=1, world=FROM_THE_LOG),
    _lane(shard_losses=1, kills=1),
    _lane(shard_losses=1, pauses=1, world=AT_LEAST_ONCE),
    _lane(shard_losses=1, stalls=1, world=AT_LEAST_ONCE),
    _lane(shard_losses=1, retries=1, kills=1, world=ALONE),
    _lane(shard_losses=1, cancels=1, world=ONE_TASK),
    _lane(shard_losses=1, redrives=1, world=DIES),
    _lane(shard_losses=1, changes=1, world=ALONE),
    _lane(shard_losses=1, reuses=1, world=ONE_TASK),
    _lane(shard_losses=1, releases=1, world=ONE_TASK),
    # Both
    _lane(flushes=1, kills=1),
    _lane(flushes=1, pauses=1, world=AT_LEAST_ONCE),
    _lane(flushes=1, retries=1, kills=1, world=ALONE),
    _lane(flushes=1, cancels=1, world=ONE_TASK),
    _lane(flushes=1, lane_losses=1, world=ONE_TASK),
    _lane(shard_losses=1, lane_losses=1, world=ONE_TASK),
    # Something else writes to Redis
    _lane(overwrites=1),
    _lane(overwrites=1, kills=1, world=ONE_TASK),
    _lane(overwrites=1, retries=1, world=ONE_TASK),
    _lane(overwrites=1, cancels=1, world=ONE_TASK),
    _lane(overwrites=2, duplicates=1, world=ONE_TASK),
]

LEDGER = [
    # The ledger lags, and a rebuild of the shard is several steps
    _lane(flushes=1, world=LAGS),
    _lane(flushes=1, kills=1, world=LAGS_AND_TELLS),
    _lane(flushes=1, retries=1, kills=1, world=CLOCK_BACK),
    _lane(flushes=1, cancels=1, world=LAGS),
    _lane(flushes=1, redrives=1, world=LAGS_AND_DIES),
    _lane(flushes=2, retries=1, world=LAGS_WORKERS_DIE),
    _lane(flushes=1, pauses=1, retries=1, world=SLOW_REBUILD),
    _lane(shard_losses=1, kills=1, world=LAGS),
    _lane(lane_losses=1, kills=1, retries=1, world=LAGS_ALONE),
    _lane(failovers=1, kills=1, world=LAGS),
    _lane(failovers=1, retries=1, world=LAGS),
    _lane(failovers=1, cancels=1, kills=1, world=LAGS_WORKERS_DIE),
    _lane(failovers=1, redrives=1, world=LAGS_AND_DIES),
    _lane(overwrites=1, kills=1, world=LAGS),
    _lane(overwrites=1, cancels=1, kills=1, world=LAGS_ALONE),
    _lane(overwrites=1, lane_losses=1),
    _lane(overwrites=1, lane_losses=1, retries=1, world=ONE_TASK),
    # Gateways read first, and the reconciler compares
    _lane(cancels=1, retries=1, kills=1, world=READS_FIRST),
    _lane(redrives=1, cancels=1, world=READS_FIRST),
    _lane(redrives=1, reuses=1, world=READS_FIRST),
    _lane(redrives=1, shard_losses=1, world=READS_FIRST),
    _lane(cancels=1, shard_losses=1, world=READS_FIRST),
    _lane(kills=2, redrives=1, repeats=1, world=DIES),
    _lane(shard_losses=1, redrives=1, pauses=1, world=SLOW_GATEWAY),
    _lane(shard_losses=1, changes=1, pauses=1, world=SLOW_GATEWAY),
    _lane(flushes=1, pauses=1, world=RECONCILED),
    _lane(shard_losses=1, pauses=1, retries=1, world=RECONCILED),
    _lane(overwrites=1, shard_losses=1, kills=1, world=RECONCILED),
    # What waits for its time is not begun before
    _lane(retries=1, kills=1, world=PUNCTUAL),
    _lane(retries=1, lane_losses=1, world=PUNCTUAL),
]

RESIDUE = [
    # A worker is paused beyond a lease while the shard is rebuilt: the task may run twice.
    _lane("", SECOND_RUN, flushes=1, pauses=1, world=ONE_TASK),
    # The second run of a task whose end stands in the log, after a pause longer than a lease across
    # the rebuild of its shard: a lane that is rebuilt meanwhile does not count it. Only reading the
    # records of finished tasks would show it.
    _lane("", TOO_MANY, shard_losses=1, lane_losses=1, pauses=1, world=AT_LEAST_ONCE, deep=True),
]

TWINS = [
    # What a worker and the lane say to each other
    _lane("leaving_follows_the_log", STUCK, kills=1, world=WORKERS_DIE),
    _lane("a_retry_leaves_after_the_log", STUCK, retries=1, shard_losses=1, world=ONE_TASK),
    _lane("what_is_over_is_published_again", STUCK, lane_losses=1, kills=1, world=ALONE),
    _lane("refusals_tell_what_is_owed", STUCK, lane_losses=1, kills=1, world=ALONE),
    _lane("stale_says_nothing", TOO_MANY, pauses=1),
    _lane("held_says_nothing", STUCK, shard_losses=1),
    _lane("claims_carry_their_look", TOO_MANY),
    _lane("a_release_compares", TWO_HOLDERS, releases=1, pauses=1),
    _lane("a_closed_lease_stays_closed", TOO_MANY, stalls=1),
    _lane(
        "an_old_holder_takes_no_restored_lease",
        TOO_MANY,
        shard_losses=1,
        stalls=1,
        world=AT_LEAST_ONCE,
    ),
    _lane(
        "an_old_holder_takes_no_restored_lease",
        TOO_MANY,
        shard_losses=1,
        pauses=1,
        world=AT_LEAST_ONCE,
    ),
    _lane("places_belong_to_members", TOO_MANY, world=THREE_TASKS),
    _lane("a_member_is_a_turn", TOO_MANY, retries=1),
    _lane("reports_name_their_epoch", TOO_MANY, flushes=1, pauses=1, world=AT_LEAST_ONCE),
    _lane("reports_name_their_epoch", TOO_MANY, shard_losses=1, pauses=1, world=AT_LEAST_ONCE),
    _lane("settle_compares", TAKEN_OVER, pauses=1),
    _lane("settle_compares_the_token", TAKEN_OVER, pauses=1),
    _lane("tokens_grow_with_time", TAKEN_OVER, flushes=1, pauses=1, world=AT_LEAST_ONCE),
    _lane("turns_order_a_life", STUCK, retries=1, world=ONE_TASK),
    _lane("only_the_young_are_adopted", SECOND_RUN, duplicates=1, expiries=1, world=ONE_TASK),
    _lane("standing_decides", STUCK, retries=1, world=ONE_TASK),
    # The tick
    _lane("what_is_nobodys_comes_back", STUCK, kills=1, world=WORKERS_DIE),
    _lane("what_is_nobodys_comes_back", STUCK, lost_replies=1),
    _lane("records_say_what_comes_back", TOO_MANY),
    _lane("put_back_compares_the_look", TOO_MANY, lost_replies=1, world=TWO_TICKS),
    _lane("put_back_compares_the_look", TOO_MANY, lost_replies=1, lane_losses=1),
    _lane("put_back_frees_the_place", STUCK, kills=1, cancels=1, world=ALONE),
    _lane("put_back_overrules_an_end", STUCK, kills=1, shard_losses=1, world=ALONE),
    _lane("restored_leases_live", TOO_MANY, shard_losses=1),
    _lane("cold_is_not_missing", TOO_MANY, shard_losses=1),
    _lane("the_tick_ends_what_is_over", STUCK, kills=1, world=WORKERS_DIE),
    _lane("the_tick_looks_at_what_ended", STUCK, kills=1, world=WORKERS_DIE),
    _lane("the_tick_publishes", STUCK, kills=1, world=WORKERS_DIE),
    _lane("the_tick_publishes_first", STUCK, kills=2),
    _lane(
        "the_tick_publishes_any_turn",
        STUCK,
        shard_losses=1,
        retries=1,
        cancels=1,
        kills=1,
        world=ALONE,
    ),
    # What enters, and what is withdrawn
    _lane("enter_before_commit", STUCK, kills=1, world=DISPATCHER_DIES),
    _lane("entries_are_held", STUCK, retries=1, kills=1, world=SCHEDULER_DIES),
    _lane("next_turn_carries_facts", STUCK, retries=1, kills=1, world=ALONE),
    _lane(
        "clearing_compares_its_hold",
        STUCK,
        lane_losses=1,
        retries=1,
        pauses=1,
        world=SLOW_SCHEDULER,
    ),
    _lane(
        "clearing_compares_its_hold", STUCK, flushes=1, retries=1, pauses=1, world=SLOW_SCHEDULER
    ),
    _lane("cancel_takes_facts_over", STUCK, retries=1, cancels=1, kills=1, world=ALONE),
    _lane("clearing_compares_what_it_told", STUCK, changes=1, cancels=1, world=ALONE),
    _lane("due_turns_publish_their_change", STUCK, lane_losses=1, changes=1, world=ALONE),
    _lane("withdrawing_follows_the_log", STUCK, shard_losses=1, changes=1, world=ALONE),
    _lane("an_end_holds_its_key", STUCK, kills=1, reuses=1, world=ALONE),
    _lane("withdrawing_follows_the_log", STUCK, shard_losses=1, cancels=1, world=ONE_TASK),
    _lane("only_an_end_is_withdrawn", STUCK, cancels=1, kills=1, world=ALONE),
    # When a lane or a shard is lost
    _lane("a_lane_is_filled", STUCK, lane_losses=1),
    _lane("a_lane_is_filled", STUCK, flushes=1),
    _lane("fill_reads_the_records", TOO_MANY, lane_losses=1),
    _lane("fill_waits_a_lease", TOO_MANY, lane_losses=1),
    _lane("fill_closes_lapsed_leases", TOO_MANY, stalls=1, lane_losses=1),
    _lane(
        "fill_goes_by_the_ledger",
        STUCK,
        shard_losses=1,
        lane_losses=1,
        retries=1,
        kills=1,
        world=ALONE,
    ),
    _lane("fill_places_what_is_over", STUCK, lane_losses=1, kills=1, world=ALONE),
    _lane("opening_compares_its_word", STUCK, lane_losses=2, world=ALONE),
    _lane("a_rebuild_keeps_pauses", PAUSED, stops=1, lane_losses=1),
    _lane("a_rebuilt_shard_renews_epochs", TOO_MANY, shard_losses=1, pauses=1, world=AT_LEAST_ONCE),
    _lane(
        "a_rebuilt_shard_renews_epochs",
        STUCK,
        shard_losses=1,
        pauses=1,
        retries=1,
        world=ONE_AT_LEAST_ONCE._replace(workers=1),
    ),
    _lane("rebuild_waits_a_lease", SECOND_RUN, flushes=1, cancels=1),
    _lane("rebuild_waits_a_lease", SECOND_RUN, overwrites=1, world=ONE_TASK),
    _lane("what_is_no_record_is_not_missing", TWO_HOLDERS, overwrites=1, world=ONE_TASK),
    _lane(
        "mending_publishes_what_is_owed",
        SECOND_RUN,
        overwrites=1,
        cancels=1,
        kills=1,
        world=ONE_TASK,
    ),
    _lane("restored_leases_may_run", RUNS_ON, flushes=1, cancels=1),
    _lane("restored_leases_may_run", RUNS_ON, shard_losses=1, cancels=1),
    _lane("fill_lets_the_unreadable_run", TOO_MANY, overwrites=1, lane_losses=1),
    _lane("finished_are_restored", SECOND_RUN, shard_losses=1, kills=1, world=ALONE),
    _lane("restored_leases_are_nobodys", TWO_HOLDERS, flushes=1, world=LAGS_AND_TELLS),
    _lane("ledger_keeps_the_token", SMALLER_TOKEN, flushes=1, kills=1, retries=1, world=CLOCK_BACK),
    _lane("rebuild_waits_for_the_ledger", SECOND_RUN, flushes=1, world=LAGS),
    _lane("rebuild_waits_for_the_ledger", SECOND_RUN, overwrites=1, world=LAGS),
    _lane(
        "rebuild_waits_for_the_ledger", STUCK, lane_losses=1, retries=1, kills=1, world=LAGS_ALONE
    ),
    _lane("rebuild_compares_its_word", TWO_HOLDERS, flushes=2, retries=1, world=LAGS_WORKERS_DIE),
    _lane("marker_names_the_server", TWO_HOLDERS, failovers=1, world=LAGS),
    _lane(
        "what_is_further_stays",
        "the record left its end: cancelled, then queued",
        failovers=1,
        cancels=1,
        kills=1,
        world=LAGS_WORKERS_DIE,
    ),
    _lane(
        "an_end_closes_its_generation",
        STUCK,
        shard_losses=1,
        changes=1,
        pauses=1,
        world=SLOW_GATEWAY,
    ),
    # What gateways change
    _lane("control_compares", TWO_ENDS, cancels=1, world=READS_FIRST),
    _lane("settle_hears_the_cancel", UNHEARD, retries=1, cancels=1, world=ONE_TASK),
    _lane("cancelled_run_ends_cancelled", RAN_CANCELLED, kills=1, cancels=1, world=ALONE),
    _lane(
        "settle_compares_the_turn",
        "the record left its end: cancelled, then succeeded",
        flushes=1,
        pauses=1,
        cancels=1,
        world=ONE_AT_LEAST_ONCE,
    ),
    _lane("what_is_owed_goes_whole", STUCK, kills=2, redrives=1, repeats=1, world=DIES),
    _lane("redrive_keeps_last_facts", STUCK, kills=1, redrives=1, shard_losses=1, world=DIES),
    _lane(
        "claim_compares_generation_first",
        STUCK,
        shard_losses=1,
        redrives=1,
        pauses=1,
        world=SLOW_GATEWAY,
    ),
    _lane("forgetting_spares_the_unfinished", STUCK, expiries=1, world=ONE_TASK),
    _lane("turns_order_a_life", TOO_EARLY, kills=1, retries=1, world=PUNCTUAL),
]

SUSPECTS = [
    _company(),
    _company(mix=Mix(innocents=3)),
    _company(mix=Mix(poisons=2)),
    _company(mix=Mix(poisons=2, processes=2)),
    _company(mix=Mix(poisons=0), kills=2),
    _company(mix=Mix(poisons=2, innocents=1), rebuilds=1),
    _company("nothing_starts_beside_a_suspect", BLAMED, mix=Mix(poisons=2, innocents=1)),
    _company("suspects_are_claimed_alone", BLAMED, mix=Mix(poisons=2, innocents=1), rebuilds=1),
    # Two losses in company, and a kill by the platform alone: the known residual risk.
    _company("", BLAMED, kills=1),
    _company(mix=Mix(poisons=3), deep=True),
    _company(mix=Mix(poisons=2, innocents=3, processes=2), deep=True),
]

SHELF = [
    _line(kills=1),
    _line(kills=2, around=Line(tasks=4)),
    _line(kills=1, cancels=1),
    _line(kills=1, lane_losses=1, around=Line(tasks=4)),
    _line(kills=1, cancels=1, lane_losses=1, around=Line(tasks=4)),
    _line(kills=1, lane_losses=1, around=Line(tasks=4, cap=2)),
    _line(kills=1, cancels=1, around=Line(tasks=5, cap=2, filled=2)),
    _line(kills=1, around=Line(tasks=5, is_ordered=False)),
    _line("facts_of_a_line_keep_their_order", PASSED, around=Line(tasks=4)),
    _line("every_shelved_task_gets_a_row", STUCK, cancels=1),
    _line("the_last_row_closes_the_shelf", PASSED),
    _line("newcomers_follow_the_shelf", PASSED),
    _line("rows_outlast_the_shelf", STUCK, around=Line(tasks=4, is_ordered=False)),
    _line("rows_leave_last", STUCK, kills=1, around=Line(is_ordered=False)),
    _line("shelving_is_told", STUCK),
    _line("a_rebuild_shelves_the_rest", STUCK, lane_losses=1, around=Line(cap=2, is_ordered=False)),
]

UNWATCHED = [
    _alone(kills=1, around=Around(places=1)),
    _alone(kills=2),
    _alone(kills=2, around=Around(tasks=3)),
    _alone(kills=3, around=Around(places=3), deep=True),
    _alone("the_last_process_stays", STUCK, kills=1),
    _alone("who_must_go_hands_over", STUCK, kills=1),
    _alone("who_goes_takes_its_note_along", STUCK, kills=1),
    _alone("its_own_note_is_no_company", STUCK, kills=1),
    _alone("a_worker_is_no_scheduler", STUCK, kills=1),
]

DEEP = [
    _lane(deep=True, **faults)
    for faults in (
        {"kills": 2, "world": FROM_THE_LOG},
        {"kills": 3},
        {"kills": 2, "world": TWO_TICKS},
        {"lost_replies": 2, "world": TWO_TICKS},
        {"kills": 1, "retries": 1},
        {"cancels": 1, "retries": 1},
        {"kills": 1, "cancels": 1, "retries": 1, "world": ONE_TASK_WORKERS_DIE},
        {"duplicates": 1, "retries": 1},
        {"duplicates": 1, "expiries": 1, "kills": 1, "world": WORKERS_DIE},
        {"redrives": 1, "cancels": 1, "kills": 1, "world": DIES},
        {"redrives": 1, "flushes": 1, "kills": 1, "world": DIES},
        {"redrives": 1, "overwrites": 1, "world": DIES},
        {"redrives": 1, "retries": 1, "lane_losses": 1, "world": DIES},
        {"reuses": 1, "flushes": 1, "kills": 1, "world": ONE_TASK},
        {"overwrites": 1, "kills": 1, "world": WORKERS_DIE},
        {"overwrites": 1, "lane_losses": 1},
        {"overwrites": 1, "shard_losses": 1},
        {"pauses": 2, "world": TWO_TICKS},
        {"pauses": 1, "lost_replies": 1, "world": TWO_TICKS},
        {"kills": 1, "cancels": 1, "world": FROM_THE_LOG},
        {"pauses": 1, "kills": 1, "lost_replies": 1},
        {"pauses": 1, "retries": 1},
        {"pauses": 1, "cancels": 1},
        {"pauses": 1, "world": THREE_TASKS},
        {"stalls": 2, "world": TWO_TICKS},
        {"stalls": 1, "retries": 1},
        {"stalls": 1, "cancels": 1},
        {"stalls": 1, "lost_replies": 1},
        {"releases": 1, "kills": 1, "retries": 1},
        {"releases": 1, "lane_losses": 1},
        {"releases": 1, "shard_losses": 1},
        {"changes": 1},
        {"changes": 2, "kills": 1, "world": ALONE},
        {"changes": 1, "retries": 1, "kills": 1, "world": ALONE},
        {"changes": 1, "cancels": 1, "kills": 1, "world": ALONE},
        {"changes": 1, "lane_losses": 1, "kills": 1, "world": ALONE},
        {"changes": 1, "retries": 1, "lane_losses": 1, "world": ALONE},
        {"changes": 1, "shard_losses": 1, "kills": 1, "world": ALONE},
        {"changes": 1, "flushes": 1, "kills": 1, "world": ALONE},
        {"changes": 1, "cancels": 1, "lane_losses": 1, "world": ALONE},
        {"stops": 1, "kills": 1, "retries": 1},
        {"stops": 1, "lane_losses": 1, "kills": 1, "world": WORKERS_DIE},
        {"lane_losses": 1, "kills": 1},
        {"lane_losses": 1, "pauses": 1, "world": TWO_TICKS},
        {"lane_losses": 1, "retries": 1},
        {"lane_losses": 1, "cancels": 1},
        {"lane_losses": 1, "world": THREE_TASKS},
        {"lane_losses": 2, "kills": 1, "world": WORKERS_DIE},
        {"shard_losses": 1, "kills": 1, "world": TWO_TICKS},
        {"shard_losses": 1, "retries": 1},
        {"shard_losses": 1, "cancels": 1},
        {"shard_losses": 1, "retries": 1, "kills": 2, "world": ONE_TASK},
        {"shard_losses": 1, "cancels": 1, "retries": 1, "kills": 1, "world": ONE_TASK_WORKERS_DIE},
        {"shard_losses": 1, "pauses": 1, "retries": 1, "world": ONE_AT_LEAST_ONCE},
        {"shard_losses": 2, "kills": 1},
        {"shard_losses": 1, "lane_losses": 1},
        {"flushes": 1, "lane_losses": 1},
        {"flushes": 1, "kills": 1, "world": TWO_TICKS},
        {"flushes": 1, "retries": 1},
        {"flushes": 1, "cancels": 1},
        {"flushes": 1, "world": THREE_TASKS},
        {"flushes": 1, "retries": 1, "pauses": 1, "world": SLOW_SCHEDULER},
        {
            "flushes": 1,
            "cancels": 1,
            "retries": 1,
            "kills": 1,
            "world": ONE_TASK_WORKERS_DIE,
        },
        {
            "shard_losses": 1,
            "lane_losses": 1,
            "retries": 1,
            "kills": 1,
            "world": ONE_TASK_WORKERS_DIE,
        },
        {"shard_losses": 1, "lane_losses": 1, "stalls": 1, "world": AT_LEAST_ONCE},
        {"flushes": 1, "retries": 1, "kills": 1, "world": LAGS},
        {"flushes": 1, "cancels": 1, "kills": 1, "world": LAGS_WORKERS_DIE},
        {"flushes": 1, "failovers": 1, "world": LAGS},
        {"flushes": 1, "redrives": 1, "world": LAGS_AND_DIES._replace(workers=2)},
        {"failovers": 1, "redrives": 1, "world": LAGS_AND_DIES._replace(workers=2)},
        {"failovers": 1, "lane_losses": 1, "kills": 1, "world": LAGS_WORKERS_DIE},
        {"overwrites": 1, "cancels": 1, "kills": 1, "world": LAGS_WORKERS_DIE},
        {"overwrites": 1, "flushes": 1, "kills": 1, "world": LAGS_ALONE},
        {"lane_losses": 1, "kills": 1, "retries": 1, "world": LAGS_WORKERS_DIE},
        {"lane_losses": 1, "kills": 1, "cancels": 1, "world": LAGS_WORKERS_DIE},
        {"shard_losses": 1, "retries": 1, "kills": 1, "world": LAGS_AND_TELLS},
        {"cancels": 1, "retries": 1, "kills": 1, "world": READS_FIRST._replace(workers=2)},
        {"redrives": 1, "cancels": 1, "kills": 1, "world": READS_FIRST},
        {"redrives": 1, "kills": 2, "repeats": 1, "world": DIES},
    )
]

CASES = [*LANES, *LEDGER, *RESIDUE, *TWINS, *SUSPECTS, *SHELF, *UNWATCHED, *DEEP]
