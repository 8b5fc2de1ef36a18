"""Measures two versions alternately and compares them by ratios, which noise affects least.

A machine's speed drifts within seconds, so each measurement of one version is next to the same one
of the other.
"""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

from bench.figures import Better, Figure, number
from bench.measures.drain import warm_up
from bench.measures.every import MEASURES
from bench.say import say
from bench.sizes import COMPARISON, QUICK
from bench.system import running

_USUAL: Final = ("idle", "submit", "latency", "drain", "growth", "cold")
_ROUNDS: Final = 9
_NOISE: Final = 0.05
"""Smaller differences are not reported as such."""


class UnknownVersion(Exception):
    """Git does not know the version to compare with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    here: Figure
    """This version's figure; the value is the median of all rounds."""

    there: float

    spread: tuple[float, float] | None
    """The least and the greatest ratio of the two versions in one round."""

    @property
    def ratio(self) -> float | None:
        return self.here.value / self.there if self.there else None

    @property
    def verdict(self) -> str:
        ratio = self.ratio
        if ratio is None or abs(ratio - 1) < _NOISE:
            return ""
        return "better" if (ratio > 1) is (self.here.better is Better.MORE) else "worse"


def compare(root: Path, reference: str, *, quick: bool, only: Sequence[str]) -> list[Comparison]:
    sizes, rounds = (QUICK, 1) if quick else (COMPARISON, _ROUNDS)
    with version(root, reference) as other, running(root) as here, running(other) as there:
        say("warming up both: their schedulers start a minute apart")
        warm_up(here, sizes)
        warm_up(there, sizes)
        ours: list[Figure] = []
        theirs: list[Figure] = []
        turns = [(here, ours), (there, theirs)]
        for turn in range(rounds):
            say(f"round {turn + 1} of {rounds}")
            for measure in (MEASURES[name] for name in only or _USUAL):
                # The order alternates: the after-effects of a measurement burden the next one.
                for system, figures in turns if turn % 2 else reversed(turns):
                    figures.extend(measure(system, sizes))
    return compared(ours, theirs)


def compared(ours: list[Figure], theirs: list[Figure]) -> list[Comparison]:
    """Compare the medians of the figures that both versions have."""
    here, there = _rounds(ours), _rounds(theirs)
    return [
        Comparison(
            here=_median(rounds),
            there=_median(there[key]).value,
            spread=_spread(rounds, there[key]),
        )
        for key, rounds in here.items()
        if key in there
    ]


def _rounds(figures: list[Figure]) -> dict[tuple[str, str], list[Figure]]:
    """Return the rounds of each figure in their order."""
    rounds: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures:
        rounds.setdefault((figure.section, figure.name), []).append(figure)
    return rounds


def _median(rounds: list[Figure]) -> Figure:
    return replace(rounds[0], value=median(one.value for one in rounds), limit=None)


def _spread(ours: list[Figure], theirs: list[Figure]) -> tuple[float, float] | None:
    pairs = zip(ours, theirs, strict=False)  # a part may have run in some rounds only
    ratios = [here.value / there.value for here, there in pairs if there.value]
    return (min(ratios), max(ratios)) if ratios else None


@contextmanager
def version(root: Path, reference: str) -> Iterator[Path]:
    """Return the code of another version, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="taskmill-bench-") as name:
        Path(name).chmod(0o755)
        folder = Path(name) / "code"
        addition = _git(root, "worktree", "add", "--quiet", "--detach", str(folder), reference)
        if addition.returncode:
            raise UnknownVersion(f"git cannot check out {reference!r}: {addition.stderr.strip()}")
        try:
            yield folder
        finally:
            _git(root, "worktree", "remove", "--force", str(folder))


def _git(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603 - git, with our own words
        ["git", "-C", str(root), *words],  # noqa: S607 - git is where the user has it
        capture_output=True,
        text=True,
        check=False,
    )


def comparison_table(comparisons: Sequence[Comparison], reference: str) -> str:
    width = max(len(one.here.name) for one in comparisons)
    lines = [
        f"{'':<{width}}  {reference[:12]:>12}  {'here':>9}  {'here ÷ there':>12}  {'of rounds':>12}"
    ]
    section = ""
    for one in comparisons:
        if one.here.section != section:
            section = one.here.section
            lines += ["", section]
        ratio = "-" if one.ratio is None else f"{one.ratio:.2f} x"
        spread = "-" if one.spread is None else f"{one.spread[0]:.2f} to {one.spread[1]:.2f}"
        cells = f"{number(one.there):>10}  {number(one.here.value):>9}  {ratio:>12}  {spread:>12}"
        cells += f"  {one.verdict}"
        lines.append(f"  {one.here.name:<{width}}  {cells}".rstrip())
    return "\n".join(lines)
