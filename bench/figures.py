"""Measured figures that know which direction is better, and their limits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Better(StrEnum):
    MORE = "more"
    LESS = "less"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    section: str
    name: str
    value: float
    unit: str
    better: Better = Better.LESS
    limit: float | None = None
    """The limit: a minimum or a maximum, depending on which direction is better."""

    @property
    def holds(self) -> bool | None:
        if self.limit is None:
            return None
        return self.value >= self.limit if self.better is Better.MORE else self.value <= self.limit


_VERDICTS: Final = {True: "holds", False: "MISSED", None: ""}
_AT: Final = {Better.MORE: "≥", Better.LESS: "≤"}
_WHOLE_FROM: Final = 100


def table(figures: Sequence[Figure]) -> str:
    width = max(len(figure.name) for figure in figures)
    return "\n".join(_lines(figures, width))


def _lines(figures: Sequence[Figure], width: int) -> Iterator[str]:
    for section in dict.fromkeys(figure.section for figure in figures):
        yield f"\n{section}"
        for figure in (one for one in figures if one.section == section):
            line = f"  {figure.name:<{width}}  {number(figure.value):>9} {figure.unit:<10}"
            yield f"{line}{_limit_text(figure)}".rstrip()


def _limit_text(figure: Figure) -> str:
    if figure.limit is None:
        return ""
    return f"{_AT[figure.better]} {number(figure.limit)}: {_VERDICTS[figure.holds]}"


def number(value: float) -> str:
    """Format a number with a meaningful precision."""
    if abs(value) >= _WHOLE_FROM:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def percentile(ordered: Sequence[float], percent: int) -> float:
    """Return the value that the given percentage of *ordered* does not exceed."""
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]
