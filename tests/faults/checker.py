"""Checks every invariant over the history of a run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.faults import invariants
from tests.faults.case import Case
from tests.faults.history import History
from tests.faults.invariants import Finding


@dataclass(frozen=True, slots=True)
class Complaint:
    invariant: str
    subject: str
    what: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.subject}: {self.what}"


def check(history: History) -> list[Complaint]:
    """Return every violation of a run; nothing when all invariants hold."""
    case = Case(history)
    return [
        Complaint(name, subject, what)
        for name, decide in INVARIANTS.items()
        for subject, what in decide(case)
    ]


INVARIANTS: Mapping[str, Callable[[Case], Finding]] = {
    "I1 no loss": invariants.no_loss,
    "I2 no phantom": invariants.no_phantom,
    "I3 one terminal": invariants.one_terminal,
    "I4 monotonic": invariants.monotonic,
    "I5 effect once": invariants.effect_once,
    "I6 fencing": invariants.fencing,
    "I7 not early": invariants.not_early,
    "I8 idempotency": invariants.idempotency,
    "I10 attempts": invariants.attempts,
    "P1 blame": invariants.blame,
    "I13 cron": invariants.cron,
    "I14 conservation": invariants.conservation,
    "I16 bounded": invariants.bounded,
}
