"""The step of `relist_owed.lua`, in one page."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Reply, Shard


@answers("")
def relist_owed(shard: Shard, rules: Rules) -> Reply:
    if shard.is_cold or not rules.what_is_owed_is_listed:
        return Reply("", shard)
    for entry in shard.due:
        if entry.when == "unlisted":
            shard = shard.with_entry(entry._replace(when="due"))
    return Reply("", shard)
