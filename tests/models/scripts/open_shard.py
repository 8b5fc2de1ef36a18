"""The step of `open_shard.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Reply, Shard


@answers("START AGAIN", "OPEN")
def open_shard(shard: Shard, rules: Rules, *, word: int) -> Reply:
    if shard.word != word and rules.rebuild_compares_its_word:
        return Reply("START AGAIN", shard)
    return Reply("OPEN", shard._replace(marker=shard.server, word=0))
