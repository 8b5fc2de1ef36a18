"""The step of `release_turn.lua`: a process that stops gives a turn back without a loss."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Envelope, Reply, Shard


@answers("COLD", "RELEASED", "LOST", unreadable="COLD")
def release_turn(shard: Shard, rules: Rules, *, envelope: Envelope, token: int) -> Reply:
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    if record is None or record[:2] != (envelope.generation, envelope.turn) or record.is_final:
        return Reply("LOST", shard)
    if record.token != token and rules.a_release_compares:
        return Reply("LOST", shard)
    free = record._replace(status="queued", lease="", source=-1)
    return Reply("RELEASED", shard._replace(record=free))
