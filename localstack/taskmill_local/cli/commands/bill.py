"""`taskmill cost`: estimates the fixed and the usage cost of a deployment."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from taskmill_local.cli.exits import Exit
from taskmill_local.cost import Bill, Line, bill
from taskmill_local.prices import AS_OF, REGION, Load, deployed_types

_CAVEAT: Final = (
    f"List prices of {REGION}, {AS_OF}, without tax, transfer and discounts,\n"
    "for template.yaml with its defaults.\n"
    "A model, never compared with a bill: use it as an order of magnitude.\n"
)


def show_cost(options: argparse.Namespace) -> Exit:
    load = Load(
        tasks=options.tasks_per_month,
        payload_bytes=options.payload_bytes,
        tasks_per_submit=options.per_submit,
        tasks_per_run=options.per_run,
        task_milliseconds=options.task_milliseconds,
        types=options.types or deployed_types(),
        is_keyed=options.keyed,
    )
    costs = bill(load)
    sys.stdout.write(f"{json.dumps(_as_json(costs))}\n" if options.json else "".join(_lines(costs)))
    return Exit.DONE


def _lines(costs: Bill) -> Iterator[str]:
    yield "fixed cost per month\n"
    yield from map(_line, costs.standing)
    yield _sum("", costs.standing_usd)
    yield f"\n{costs.tasks:,} tasks\n"
    yield from map(_line, costs.running)
    yield _sum(f"{costs.usd_per_million:,.2f} per million tasks", costs.running_usd)
    yield f"\n{'total':<16}{costs.standing_usd + costs.running_usd:>12,.2f} USD per month\n"
    yield f"\n{_CAVEAT}"


def _line(line: Line) -> str:
    return f"  {line.what:<14}{line.usd:>12,.2f}  {line.why}\n"


def _sum(about: str, usd: float) -> str:
    return f"  {'':<14}{usd:>12,.2f}  {about}".rstrip() + "\n"


def _as_json(costs: Bill) -> dict[str, object]:
    return {
        "region": REGION,
        "as_of": AS_OF,
        **asdict(costs),
        "standing_usd": costs.standing_usd,
        "running_usd": costs.running_usd,
        "usd_per_million": costs.usd_per_million,
    }
