"""The step of `forget_record.lua`, for an expired record of a task that is not far."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Reply, Shard


@answers("")
def forget_record(shard: Shard, rules: Rules) -> Reply:
    record = shard.record
    if shard.is_cold or record is None:
        return Reply("", shard)
    if not record.is_final and rules.forgetting_spares_the_unfinished:
        return Reply("", shard)
    old = max(shard.old, record.generation)  # so old a generation is not adopted
    return Reply("", shard._replace(record=None, old=old))
