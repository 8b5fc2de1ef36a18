"""How much waits in Redis at most; the rest of a line waits on its shelf, in the ledger."""

from typing import Final

from msgspec import Struct

_MIB: Final = 1 << 20


class Caps(Struct, frozen=True, kw_only=True):
    """Bytes are those of the envelopes that wait."""

    line_tasks: int = 100_000
    line_bytes: int = 96 * _MIB
    lane_tasks: int = 150_000
    lane_bytes: int = 144 * _MIB
    small_tasks: int = 500
    """A line that holds fewer tasks, and fewer bytes than `small_bytes`, grows in a full lane, too:
    a flood shelves its own tasks, not those of others. In twice a full lane no line grows."""

    small_bytes: int = _MIB

    def has_room(self, line: "Size", lane: "Size", *, part: float = 1) -> bool:
        """Return whether a line may grow, when it may hold only a *part* of what it may hold."""
        if not lane.is_below(2 * self.lane_tasks, 2 * self.lane_bytes):
            return False
        if line.is_below(self.small_tasks * part, self.small_bytes * part):
            return True
        is_lane_full = not lane.is_below(self.lane_tasks, self.lane_bytes)
        return not is_lane_full and line.is_below(self.line_tasks * part, self.line_bytes * part)


class Size(Struct, frozen=True):
    tasks: int
    bytes: int

    def is_below(self, tasks: float, octets: float) -> bool:
        return self.tasks < tasks and self.bytes < octets


USUAL_CAPS: Final = Caps()
HALF: Final = 0.5
"""A line that holds less than this part is refilled from its shelf."""
