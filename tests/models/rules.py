"""The rules of the protocol, each of which can be removed separately."""

from typing import NamedTuple


class Rules(NamedTuple):
    """The real system follows every rule; a twin breaks one."""

    # The due set
    entries_are_held: bool = True
    """Taking an entry hides it until it is cleared; it is never removed before it is published."""
    taking_holds_it_alone: bool = True
    """Only the process that took an entry publishes it while its hold lasts."""
    entry_names_its_turn: bool = True
    """Clearing a turn cannot take the next one away."""
    next_turn_carries_facts: bool = True
    """The entry of the next turn or generation carries the facts that ended the previous one."""
    what_is_owed_is_listed: bool = True
    """An entry with bytes that is missing from the due set is due now."""
    parking_again_is_another_name: bool = True
    """Clearing what was parked cannot take away what was parked again meanwhile."""
    cancel_takes_facts_over: bool = True
    """Removing an entry means owing the facts that it carried."""

    # Waiting for a time
    delaying_compares: bool = True
    """A task is delayed or brought near only for the turn of its record."""
    a_change_is_a_new_turn: bool = True
    """An envelope of the previous turn is refused by it."""
    a_change_takes_facts_over: bool = True
    """Removing the entry of a turn means owing the facts that it carried."""
    orders_outlast_the_lag: bool = True
    """The record of a changed or cancelled far task expires only after the ledger knows of it."""
    far_rows_leave_last: bool = True
    """The ledger keeps a far task until it is owed in the due set."""

    # Admission
    admit_knows_its_own: bool = True
    """A submission admitted before gets that answer and is no duplicate of itself."""
    an_end_holds_its_key: bool = True
    """A key is free again only after the redelivery of the record of a worker that did not report
    the end."""
    a_replay_publishes: bool = True
    """A replay publishes what the first request still owes before it answers."""
    what_is_owed_goes_whole: bool = True
    """A replay leaves an entry with facts to the scheduler, which publishes both."""
    a_drop_publishes_the_winner: bool = True
    """The dispatcher publishes what the winner owes before it drops a second submission."""
    the_admitted_body_is_told: bool = True
    """When the dispatcher admits a submission, it publishes a fact with the body, which overrules a
    deferred one."""
    an_answer_waits_for_the_clear: bool = True
    """A clear that is cold or finds another generation makes the answer `deferred`."""
    the_outbox_counts: bool = True
    """Unsent rows of the outbox count as part of the ledger, for look-ups and for the rebuild."""
    the_relay_admits_nothing: bool = True
    """The relay publishes the envelope as it is stored."""

    forgetting_spares_the_unfinished: bool = True
    """Whatever is noted of its lifetime, a record stays until its task has ended."""

    # Claim, lease, settle
    claim_compares_generation_first: bool = True
    """A newer generation replaces the record, whatever its status."""
    same_record_waits: bool = True
    """The record that holds a live lease is redelivered until the lease expires."""
    drops_are_remembered: bool = True
    """A record that was dropped for a turn never takes its lease."""
    refusals_tell_what_is_owed: bool = True
    """A refusal carries the facts of the end; they are published before the position moves."""
    only_the_young_are_adopted: bool = True
    """A missing record is recreated only for a generation younger than an hour."""
    suspects_are_claimed_alone: bool = True
    """A claim that would take over, or start a task with a loss, needs the argument `alone`."""
    tokens_grow_with_time: bool = True
    """A fencing token is never smaller than the time of Redis, whatever data Redis lost."""
    turns_order_a_life: bool = True
    """Each time a task is queued is a new turn; attempts do not order."""
    settle_compares: bool = True
    """A settle applies only to the record that it finds."""
    settle_compares_the_turn: bool = True
    """A turn that is over stays over, whatever the fencing token."""
    settle_compares_the_token: bool = True
    """A holder that lost its lease cannot settle."""
    stale_comes_again: bool = True
    """A stale settle reports its item as failed: claim decides what happens to it."""
    position_moves_after_the_work: bool = True
    """The position of a record is committed only when its facts are in the log."""

    # Control
    control_compares: bool = True
    """Cancel and redrive change only what their caller read."""
    redrive_keeps_last_facts: bool = True
    """A redriven record still returns the end of the previous generation on request."""
    cancelled_run_ends_cancelled: bool = True
    """A take-over of a task whose cancellation was requested ends it as cancelled."""

    settle_hears_the_cancel: bool = True
    """An attempt that did not succeed ends as cancelled if that was requested."""

    # The recorder
    standing_decides: bool = True
    """The fact furthest along decides the row, whenever it arrives."""
    an_end_closes_its_generation: bool = True
    """An end is further along than any turn of its generation."""
    ledger_keeps_the_token: bool = True
    """Facts carry fencing tokens, the ledger keeps the largest, and a rebuild restores it."""

    # When something else writes to Redis
    what_is_no_record_is_not_missing: bool = True
    """Of a record that was overwritten nobody says that there is none."""
    mending_publishes_what_is_owed: bool = True
    """What the due set still owes of the task is in the log before its end is noted."""

    # When Redis loses data
    marker_names_the_server: bool = True
    """Another run of the server means cold shards, whatever data it still has."""
    rebuild_waits_a_lease: bool = True
    """A rebuild notes the end of the log only after living processes have published their
    decisions."""
    rebuild_waits_for_the_ledger: bool = True
    """A rebuild restores only after the ledger has applied what it noted."""
    rebuild_compares_its_word: bool = True
    """A rebuild that does not find its own nonce starts again."""
    what_is_further_stays: bool = True
    """A rebuild never lowers what the server still has."""
    finished_are_restored: bool = True
    """A finished task is restored, so that its record is not adopted and run."""
    restored_leases_are_nobodys: bool = True
    """A task that may still be running is restored with a lease without a source: its holder takes
    it."""
    restored_leases_may_run: bool = True
    """Cancelling or changing a task under such a lease treats it as running."""
