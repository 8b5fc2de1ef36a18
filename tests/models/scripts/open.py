"""The step of `open.lua`: the marker is set, only by whom the word belongs to."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Reply, Shard


@answers("AGAIN", "OPENED")
def open(shard: Shard, rules: Rules, *, word: int) -> Reply:  # noqa: A001 - named like its script
    if shard.word != word and rules.rebuild_compares_its_word:
        return Reply("AGAIN", shard)
    return Reply("OPENED", shard._replace(marker=shard.server, word=0))
