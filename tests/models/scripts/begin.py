"""The step of `begin.lua`: a rebuild writes its own word."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Reply, Shard


@answers("OPEN", "BEGUN")
def begin(shard: Shard, _rules: Rules, *, word: int) -> Reply:
    if not shard.is_cold:
        return Reply("OPEN", shard)
    return Reply("BEGUN", shard._replace(marker=0, word=word))
