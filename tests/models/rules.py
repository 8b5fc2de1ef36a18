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
    """A key is free again only when the log says how its task ended."""
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
    refusals_tell_what_is_owed: bool = True
    """A refusal carries the facts of the end, which are published before the member leaves."""
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

    # Lanes: what a worker and the lane say to each other
    leaving_follows_the_log: bool = True
    """A worker takes its member out of the lane only when the facts of its turn are in the log."""
    a_retry_leaves_after_the_log: bool = True
    """That the due set carries the facts of a retry is not enough: the due set may be lost."""
    what_is_over_is_published_again: bool = True
    """A worker whose claim finds a turn that is over publishes its facts before the member
    leaves."""
    stale_says_nothing: bool = True
    """After a stale settle a worker says nothing about the member: another may run it."""
    held_says_nothing: bool = True
    """Neither does it after a claim that found the lease of another."""
    claims_carry_their_look: bool = True
    """A claim after the look that came with its take is refused: the tick may have put the member
    back."""
    a_closed_lease_stays_closed: bool = True
    """A lease that the tick or a rebuild closed cannot be extended."""
    an_old_holder_takes_no_restored_lease: bool = True
    """A process whose last answered beat is older than a lease extends only a lease of its own."""
    a_release_compares: bool = True
    """A process that stops releases only a lease that is still its own."""
    places_belong_to_members: bool = True
    """A place is given back once, however often the end of its turn is reported."""
    a_member_is_a_turn: bool = True
    """What is said of a turn changes nothing for the next turn of its task."""
    reports_name_their_epoch: bool = True
    """What was asked of a record before a rebuild changes nothing in the lane after it."""

    nothing_starts_beside_a_suspect: bool = True
    """While a process runs a task alone it takes nothing."""

    # Lanes: the tick
    what_is_nobodys_comes_back: bool = True
    """A member in flight that nobody runs goes back into its line."""
    records_say_what_comes_back: bool = True
    """Its record decides, not its age."""
    put_back_compares_the_look: bool = True
    """A member that was taken anew since its record was read stays in flight."""
    put_back_frees_the_place: bool = True
    """Whatever waits holds no place."""
    put_back_overrules_an_end: bool = True
    """A member whose end was reported, and then lost with the shard, comes back like any other."""
    restored_leases_live: bool = True
    """A lease without a source may belong to somebody who runs the turn."""
    cold_is_not_missing: bool = True
    """A shard that lost data says nothing about a record."""
    the_tick_ends_what_is_over: bool = True
    """A member whose turn is over leaves even if its worker died."""
    the_tick_looks_at_what_ended: bool = True
    """A member whose end was reported still owes its facts."""
    the_tick_publishes: bool = True
    """The facts of the end are in the log before the tick takes the member out."""
    the_tick_publishes_first: bool = True
    """They are in the log before, not after: the tick may die between."""
    the_tick_publishes_any_turn: bool = True
    """It publishes the last facts of the record, also when a later turn decided them."""

    # Lanes: what enters, and what is withdrawn
    enter_before_commit: bool = True
    """The dispatcher commits a record of `tasks.pending` after its task has entered the lane."""
    clearing_compares_its_hold: bool = True
    """A clear after its hold ran out clears nothing: a rebuild may have counted on the entry."""
    clearing_compares_what_it_told: bool = True
    """A gateway clears its own facts only: another may owe more facts of the turn by then."""
    due_turns_publish_their_change: bool = True
    """Before a changed turn enters, the log says that it was changed."""
    withdrawing_follows_the_log: bool = True
    """A member is withdrawn when what made its turn old is in the log."""
    only_an_end_is_withdrawn: bool = True
    """A running task whose cancellation was requested stays in the lane."""

    # Lanes: when a lane or a shard is lost
    a_lane_is_filled: bool = True
    """What waits is filled in from the ledger: no log brings it again."""
    fill_reads_the_records: bool = True
    """What a record says is running goes into flight, with its place."""
    fill_waits_a_lease: bool = True
    """What was taken before is claimed or late when the records are read."""
    fill_closes_lapsed_leases: bool = True
    """Whoever it finds nobody running cannot go on under the old lease."""
    fill_goes_by_the_ledger: bool = True
    """It places the turn that the ledger names, whatever further turn only the shard knows."""
    fill_lets_the_unreadable_run: bool = True
    """What has an unreadable record holds its place: somebody may run it."""
    fill_places_what_is_over: bool = True
    """What is over by its record alone is placed: its claim publishes the end."""
    opening_compares_its_word: bool = True
    """A rebuild opens only the lane that it filled."""
    a_rebuild_keeps_pauses: bool = True
    """A lane that was paused is paused when it opens again."""
    a_rebuilt_shard_renews_epochs: bool = True
    """Living lanes get another epoch before a rebuilt shard opens."""

    # Lanes: while no scheduler is there
    the_last_process_stays: bool = True
    """A process with nothing to do stays while tasks are in flight and no other process asks."""
    who_must_go_hands_over: bool = True
    """A process that should stay and cannot wakes another one in its place."""
    who_goes_takes_its_note_along: bool = True
    """After the last ask of a process nobody takes it for one that is there."""
    its_own_note_is_no_company: bool = True
    """The note of its own partition is its predecessor's, which may have died."""
    a_worker_is_no_scheduler: bool = True
    """What a worker has watched counts as watched, but not by a scheduler."""

    # Lanes: the shelf
    the_last_row_closes_the_shelf: bool = True
    """The shelf of a line is open until the row that was shelved last has been brought in."""
    newcomers_follow_the_shelf: bool = True
    """While the shelf is open, newcomers of its line are shelved."""
    rows_outlast_the_shelf: bool = True
    """What stands in the table is brought in whether the shelf is open or not."""
    rows_leave_last: bool = True
    """A row is deleted after its task has entered the lane."""
    shelving_is_told: bool = True
    """The dispatcher publishes that a task was shelved before it commits."""
    every_shelved_task_gets_a_row: bool = True
    """Also one that has ended meanwhile: the shelf may be waiting for its row."""
    facts_of_a_line_keep_their_order: bool = True
    """The recorder applies the facts of one line in the order in which they were published."""
    a_rebuild_shelves_the_rest: bool = True
    """What a line cannot hold after a rebuild gets rows."""
