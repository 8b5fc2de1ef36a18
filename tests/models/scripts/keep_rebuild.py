"""The step of `keep_rebuild.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Reply, Shard


@answers("START AGAIN", "KEPT")
def keep_rebuild(shard: Shard, rules: Rules, *, word: int) -> Reply:
    if shard.word != word and rules.rebuild_compares_its_word:
        return Reply("START AGAIN", shard)
    return Reply("KEPT", shard)
