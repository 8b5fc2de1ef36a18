"""The step of `fill_lane.lua`, in one page."""

from tests.models.lanes.lane import Flight, Lane, LaneReply, Member
from tests.models.rules import Rules
from tests.models.scripts.answers import answers


@answers("START AGAIN", "FILLED")
def fill_lane(  # noqa: PLR0913 - one step, with all that its caller brings
    lane: Lane,
    rules: Rules,
    *,
    word: int,
    waiting: frozenset[Member],
    running: frozenset[Member] = frozenset(),
    shelved: int = -1,
) -> LaneReply:
    """*shelved* is the last task that the line could not hold."""
    if lane.word != word and rules.opening_compares_its_word:
        return LaneReply("START AGAIN", lane)
    filled = lane._replace(
        line=lane.line | waiting,
        flight=lane.flight | {Flight(member) for member in running},
        places=lane.places | running,
        shelf=shelved,
    )
    return LaneReply("FILLED", filled)
