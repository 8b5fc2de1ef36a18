"""The step of `begin_lane.lua`: an empty lane of another epoch, COLD to all."""

from tests.models.lanes.lane import Lane, LaneReply
from tests.models.rules import Rules
from tests.models.scripts.answers import answers


@answers("LIVE", "BUSY", "BEGUN")
def begin_lane(lane: Lane, rules: Rules, *, word: int, is_paused: bool) -> LaneReply:
    """*is_paused* comes from the rule book."""
    if not lane.is_cold:
        return LaneReply("LIVE", lane)
    if lane.word:
        return LaneReply("BUSY", lane)
    paused = is_paused and rules.a_rebuild_keeps_pauses
    return LaneReply("BEGUN", Lane(lane.epoch + 1, is_cold=True, word=word, is_paused=paused))
