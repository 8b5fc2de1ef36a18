"""The step of `begin_rebuild.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Reply, Shard


@answers("LIVE", "BUSY", "BEGUN")
def begin_rebuild(shard: Shard, _rules: Rules, *, word: int) -> Reply:
    if not shard.is_cold:
        return Reply("LIVE", shard)
    if shard.word:
        return Reply("BUSY", shard)
    return Reply("BEGUN", shard._replace(marker=0, word=word))
