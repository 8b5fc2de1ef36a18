"""The step of `claim_turn.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Envelope, Record, Reply, Shard

LOSSES_IN_COMPANY = 1
"""A task with more losses is claimed alone."""


@answers("COLD", "LATE", "CLAIMED", "SUSPECT", "HELD", "OVER", "FORGOTTEN", unreadable="COLD")
def claim_turn(  # noqa: PLR0913 - one step, in the order of the script
    shard: Shard,
    rules: Rules,
    *,
    envelope: Envelope,
    source: int,
    alone: bool,
    is_late: bool = False,
) -> Reply:
    """*source* names the take; *is_late* says that its look has come by the record's clock."""
    if shard.is_cold:
        return Reply("COLD", shard)
    if is_late and rules.claims_carry_their_look:
        return Reply("LATE", shard)
    record, generation, turn = shard.record, envelope.generation, envelope.turn
    last = record.last if record and rules.refusals_tell_what_is_owed else ()
    if record and record.is_final and not rules.claim_compares_generation_first:
        return Reply("OVER", shard, facts=last)
    if record and generation < record.generation:
        return Reply("OVER", shard, facts=last)
    if not record and generation <= shard.old and rules.only_the_young_are_adopted:
        return Reply("FORGOTTEN", shard)

    new = Record(generation, turn, submission=envelope.submission, body=envelope.body)
    token = record.token if record else 0
    if record and record.generation == generation:
        if record.is_final or turn < record.turn:
            return Reply("OVER", shard, facts=last)
        is_own = turn == record.turn and record.source == source
        if record.lease == "alive":
            return _claimed(shard, record) if is_own else Reply("HELD", shard)
        is_loss = turn == record.turn and record.lease and record.source != -1 and not is_own
        losses = record.losses + bool(is_loss)
        if losses > LOSSES_IN_COMPANY and not alone and rules.suspects_are_claimed_alone:
            return Reply("SUSPECT", shard, losses=losses)
        new = record._replace(turn=turn, losses=losses)

    clock = shard.clock + 1
    fresh = max(token + 1, clock) if rules.tokens_grow_with_time else token + 1
    claimed = new._replace(status="running", token=fresh, lease="alive", source=source, ends=False)
    return _claimed(shard._replace(record=claimed, clock=clock), claimed)


def _claimed(shard: Shard, record: Record) -> Reply:
    """Return the answer that the holder of a living lease gets, however often it asks."""
    return Reply(
        "CLAIMED",
        shard,
        token=record.token,
        losses=record.losses,
        is_cancelled=record.cancel_requested,
    )
