"""The step of `set_rules.lua`, for a pause."""

from tests.models.lanes.lane import Lane, LaneReply
from tests.models.rules import Rules
from tests.models.scripts.answers import answers


@answers("COLD", "DONE")
def set_rules(lane: Lane, _rules: Rules, *, is_paused: bool) -> LaneReply:
    if lane.is_cold:
        return LaneReply("COLD", lane)
    return LaneReply("DONE", lane._replace(is_paused=is_paused))
