"""The step of `claim_turn.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Envelope, Record, Reply, Shard


@answers("COLD", "CLAIMED", "SUSPECT", "HELD", "REFUSED", "FORGOTTEN", unreadable="FORGOTTEN")
def claim_turn(  # noqa: C901, PLR0912, PLR0913 - one step, in the order of the script
    shard: Shard, rules: Rules, *, envelope: Envelope, source: int, process: int, alone: bool
) -> Reply:
    if shard.is_cold:
        return Reply("COLD", shard)
    record, generation, turn = shard.record, envelope.generation, envelope.turn
    last = record.last if record and rules.refusals_tell_what_is_owed else ()

    if record and record.is_final and not rules.claim_compares_generation_first:
        return Reply("REFUSED", shard, facts=last)
    if record and generation < record.generation:
        return Reply("REFUSED", shard, facts=last)
    if not record and generation <= shard.old and rules.only_the_young_are_adopted:
        return Reply("FORGOTTEN", shard)

    new = Record(generation, turn, submission=envelope.submission, body=envelope.body)
    token = record.token if record else 0
    if record and record.generation == generation:
        if record.is_final or turn < record.turn:
            return Reply("REFUSED", shard, facts=last)
        same_turn = turn == record.turn
        losses = record.losses
        dropped = record.dropped if same_turn else frozenset()
        if record.lease and same_turn:
            lives = record.lease == "alive"
            is_same_process = record.source == source and record.process == process
            if lives and record.source not in (-1, source):
                if rules.drops_are_remembered:
                    record = record._replace(dropped=dropped | {source})
                return Reply("REFUSED", shard._replace(record=record), facts=last)
            if lives and not is_same_process:
                if not rules.same_record_waits:
                    return Reply("REFUSED", shard, facts=last)
                return Reply("HELD", shard)
            if record.source != source and source in dropped:
                return Reply("REFUSED", shard, facts=last)
            if record.source != -1 and not is_same_process:
                losses += 1
        if losses and not alone and rules.suspects_are_claimed_alone:
            return Reply("SUSPECT", shard, losses=losses)
        new = record._replace(turn=turn, losses=losses, dropped=dropped)

    clock = shard.clock + 1
    fresh = max(token + 1, clock) if rules.tokens_grow_with_time else token + 1
    claimed = new._replace(
        status="running",
        token=fresh,
        lease="alive",
        source=source,
        process=process,
        ends=False,
    )
    return Reply(
        "CLAIMED",
        shard._replace(record=claimed, clock=clock),
        token=fresh,
        losses=claimed.losses,
        is_cancelled=claimed.cancel_requested,
    )
