"""The step that gives a living lane another epoch, before a rebuilt shard opens."""

from tests.models.lanes.lane import Lane, LaneReply
from tests.models.rules import Rules
from tests.models.scripts.answers import answers


@answers("COLD", "DONE")
def renew_epoch(lane: Lane, rules: Rules) -> LaneReply:
    if lane.is_cold:
        return LaneReply("COLD", lane)
    if not rules.a_rebuilt_shard_renews_epochs:
        return LaneReply("DONE", lane)
    return LaneReply("DONE", lane._replace(epoch=lane.epoch + 1))
