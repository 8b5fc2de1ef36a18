"""The rules of the protocol, each of which can be taken back alone."""

from typing import NamedTuple


class Rules(NamedTuple):
    """Every rule stands in the system as built; a twin breaks one."""

    # The due set
    entries_are_held: bool = True
    """Taking an entry holds it until it is cleared; it is not removed before it is published."""
    taking_holds_it_alone: bool = True
    """Who took an entry publishes it alone while its hold lasts."""
    entry_names_its_turn: bool = True
    """Clearing a turn cannot take the next one away."""
    next_turn_carries_facts: bool = True
    """The entry of the next turn or generation carries the facts that ended the one before."""
    cancel_takes_facts_over: bool = True
    """What removes an entry owes the facts that it carried."""

    # Admission
    admit_knows_its_own: bool = True
    """A submission that was admitted before is told so, and is no duplicate of itself."""

    # Claim, lease, settle
    claim_compares_generation_first: bool = True
    """A newer generation replaces the record, whatever its status."""
    same_record_waits: bool = True
    """The record that holds a living lease comes again until the lease lapses."""
    drops_are_remembered: bool = True
    """A record that was dropped for a turn never takes its lease."""
    refusals_tell_what_is_owed: bool = True
    """A refusal carries the facts of the end; they are published before the position moves."""
    only_the_young_are_adopted: bool = True
    """A missing record is made anew only for a generation younger than an hour."""
    suspects_are_claimed_alone: bool = True
    """A claim that would take over, or begin a task with a loss, needs the word `alone`."""
    tokens_grow_with_time: bool = True
    """A token is never smaller than the time of Redis, whatever Redis forgot."""
    turns_order_a_life: bool = True
    """Each time in line is a new turn; attempts do not order."""
    settle_compares: bool = True
    """A settle is held to the record that it finds."""
    settle_compares_the_turn: bool = True
    """A turn that is over stays over, whatever the token."""
    settle_compares_the_token: bool = True
    """A holder that lost its lease cannot settle."""
