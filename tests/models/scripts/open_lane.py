"""The step of `open_lane.lua`."""

from tests.models.lanes.lane import Lane, LaneReply
from tests.models.rules import Rules
from tests.models.scripts.answers import answers


@answers("START AGAIN", "OPEN")
def open_lane(lane: Lane, rules: Rules, *, word: int) -> LaneReply:
    if lane.word != word and rules.opening_compares_its_word:
        return LaneReply("START AGAIN", lane)
    return LaneReply("OPEN", lane._replace(is_cold=False, word=0))
