"""The step of `look_at_turn.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.scripts.claim_turn import LOSSES_IN_COMPANY
from tests.models.shard import Envelope, Record, Reply, Shard


@answers("COLD", "LIVES", "OVER", "FREE", "GONE", unreadable="COLD")
def look_at_turn(shard: Shard, rules: Rules, *, envelope: Envelope) -> Reply:
    """Close a lapsed lease in the same step, so that nobody extends it afterwards."""
    if shard.is_cold:
        return Reply("COLD" if rules.cold_is_not_missing else "GONE", shard)
    record, (generation, turn) = shard.record, envelope[:2]
    if record is None:
        return Reply("GONE" if generation <= shard.old else "FREE", shard)
    if record.generation < generation:
        return Reply("FREE", shard)
    if record.generation > generation or record.is_final or record.turn > turn:
        return Reply("OVER", shard, facts=record.last)
    if record.is_restored and not rules.restored_leases_live:
        return Reply("FREE", shard)
    if record.lease == "alive":
        return Reply("LIVES", shard)
    is_loss = record.lease and record.turn == turn and record.source != -1
    alone = record.losses + bool(is_loss) > LOSSES_IN_COMPANY
    return Reply("FREE", shard._replace(record=_closed(record)), is_alone=alone)


def _closed(record: Record) -> Record:
    return record._replace(lease="closed") if record.lease else record
