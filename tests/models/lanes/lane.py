"""One lane's data, and its changes."""

from typing import NamedTuple

FRESH = -1
"""The look of a member that no tick has in hand."""


class Member(NamedTuple):
    """A task's only name in a lane: one turn of it."""

    task: int
    turn: int
    generation: int = 1

    def __str__(self) -> str:
        life = f"g{self.generation}." if self.generation > 1 else ""
        return f"{self.task}.{life}{self.turn}"


class Flight(NamedTuple):
    """A member that was taken and has not left, and when the tick looks at its record.

    A look is a name here, and each watch gives the member another one: only whether it is still
    the same matters.
    """

    member: Member
    look: int = FRESH


class Lane(NamedTuple):
    """The keys of one lane, in a slot of their own."""

    epoch: int = 1
    is_cold: bool = False
    word: int = 0
    """The word of the rebuild that is under way."""
    is_paused: bool = False
    line: frozenset[Member] = frozenset()
    suspects: frozenset[Member] = frozenset()
    """Those of the line that run alone."""
    flight: frozenset[Flight] = frozenset()
    places: frozenset[Member] = frozenset()
    """The members in flight whose end has not been reported."""
    miscounted: int = 0
    """By how much a counter is too low that every report lowers."""
    shelf: int = -1
    """The last task that was shelved while the shelf is open; -1: it is closed."""

    @property
    def used(self) -> int:
        return len(self.places) - self.miscounted

    def look_of(self, member: Member) -> int | None:
        """Return its look, if it is in flight."""
        return next((one.look for one in self.flight if one.member == member), None)

    def landed(self, member: Member) -> frozenset[Flight]:
        return frozenset(one for one in self.flight if one.member != member)

    def with_look(self, member: Member, look: int) -> "Lane":
        return self._replace(flight=self.landed(member) | {Flight(member, look)})

    def without(self, member: Member) -> "Lane":
        """Forget it wherever it stands."""
        return self._replace(
            line=self.line - {member},
            suspects=self.suspects - {member},
            flight=self.landed(member),
            places=self.places - {member},
        )


class LaneReply(NamedTuple):
    """A script's answer, and the lane after it."""

    answer: str
    lane: Lane


def named(members: frozenset[Member]) -> str:
    return "{" + ", ".join(map(str, sorted(members))) + "}"
