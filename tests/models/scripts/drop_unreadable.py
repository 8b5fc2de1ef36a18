"""The step of `drop_unreadable.lua`: an unknown task has no record."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Reply, Shard


@answers("COLD", "DONE")
def drop_unreadable(shard: Shard, _rules: Rules) -> Reply:
    if shard.is_cold:
        return Reply("COLD", shard)
    return Reply("DONE", shard._replace(is_overwritten=False))
