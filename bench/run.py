"""`taskmill bench`: measures a fresh local system and prints a readable report."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.against import UnknownVersion, compare, comparison_table
from bench.figures import Figure, table
from bench.measures.drain import TASKMILL, warm_up
from bench.measures.every import MEASURES
from bench.measures.yardsticks import measure_yardsticks
from bench.profiling import profile
from bench.say import say
from bench.sizes import FULL, QUICK
from bench.system import running

ROOT: Final = Path(__file__).parents[1]
_RESULTS: Final = ROOT / "bench" / "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    as_json: bool = False
    quick: bool = False
    save: bool = False
    only: Sequence[str] = ()
    far_tasks: int | None = None
    against: str | None = None
    profile: str | None = None


def main(options: Options) -> None:
    if options.profile is not None:
        print(profile(ROOT, options.profile, quick=options.quick))
    elif options.against is not None:
        _compare(options, options.against)
    else:
        figures = _measure(options)
        rows = [asdict(figure) | {"holds": figure.holds} for figure in figures]
        _report(options, rows, table(figures))


def _measure(options: Options) -> list[Figure]:
    sizes = QUICK if options.quick else FULL
    if options.far_tasks is not None:
        sizes = replace(sizes, far_tasks=options.far_tasks)
    names = options.only or tuple(MEASURES)
    figures: list[Figure] = []
    with running(ROOT) as system:
        say("warming up: its schedulers start a minute apart")
        warm_up(system, sizes)
        for name in names:
            say(name)
            figures += MEASURES[name](system, sizes)
    rates = [figure.value for figure in figures if figure.name == TASKMILL]
    if rates:
        say("Celery and Dramatiq")
        figures += measure_yardsticks(sizes, rate=rates[0])
    return figures


def _compare(options: Options, reference: str) -> None:
    try:
        comparisons = compare(ROOT, reference, quick=options.quick, only=options.only)
    except UnknownVersion as error:
        raise SystemExit(str(error)) from None
    rows = [
        asdict(one.here) | {"there": one.there, "ratio": one.ratio, "spread": one.spread}
        for one in comparisons
    ]
    _report(options, rows, comparison_table(comparisons, reference))


def _report(options: Options, rows: list[dict[str, Any]], text: str) -> None:
    content = json.dumps(rows, indent=1)
    print(content if options.as_json else text)
    if options.save:
        _RESULTS.mkdir(exist_ok=True)
        target = _RESULTS / f"{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}.json"
        target.write_text(f"{content}\n")
        sys.stderr.write(f"written to {target}\n")
