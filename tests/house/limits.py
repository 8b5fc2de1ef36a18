"""Limits of the code's figures: the target, and what is still allowed on the way to it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Limit:
    """A figure may be at most *today*, which only ever goes down to *target*."""

    what: str
    target: int
    today: int

    def line(self, figure: int) -> str:
        """Return the figure with its limits, in one line."""
        allowed = f"target {self.target}"
        if self.today > self.target:
            allowed += f", allowed today {self.today}"
        return f"{self.what}: {figure} ({allowed})"


# Lanes raised both from 45 and 200: a task enters one, is taken from it, and leaves it.
FILES: Final = Limit("files that one task passes", target=55, today=55)
JUMPS: Final = Limit("calls from file to file on its way", target=285, today=285)
FILES_IN_A_FOLDER: Final = Limit("source files in the largest folder", target=20, today=20)
DEFINED_TWICE: Final = Limit("public class names defined twice", target=0, today=0)
WITHOUT_A_ROW: Final = Limit("classes of core/ that the glossary lacks", target=0, today=0)
