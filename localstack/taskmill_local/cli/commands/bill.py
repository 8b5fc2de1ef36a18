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


def show_cost(asked: argparse.Namespace) -> Exit:
    load = Load(
        tasks=asked.tasks_per_month,
        payload_bytes=asked.payload_bytes,
        tasks_per_submit=asked.per_submit,
        tasks_per_run=asked.per_run,
        task_milliseconds=asked.task_milliseconds,
        types=asked.types or deployed_types(),
        is_keyed=asked.keyed,
    )
    answer = bill(load)
    sys.stdout.write(f"{json.dumps(_as_json(answer))}\n" if asked.json else "".join(_lines(answer)))
    return Exit.DONE


def _lines(answer: Bill) -> Iterator[str]:
    yield "fixed cost per month\n"
    yield from map(_line, answer.standing)
    yield _sum("", answer.standing_usd)
    yield f"\n{answer.tasks:,} tasks\n"
    yield from map(_line, answer.running)
    yield _sum(f"{answer.usd_per_million:,.2f} per million tasks", answer.running_usd)
    yield f"\n{'total':<16}{answer.standing_usd + answer.running_usd:>12,.2f} USD per month\n"
    yield f"\n{_CAVEAT}"


def _line(line: Line) -> str:
    return f"  {line.what:<14}{line.usd:>12,.2f}  {line.why}\n"


def _sum(about: str, usd: float) -> str:
    return f"  {'':<14}{usd:>12,.2f}  {about}".rstrip() + "\n"


def _as_json(answer: Bill) -> dict[str, object]:
    return {
        "region": REGION,
        "as_of": AS_OF,
        **asdict(answer),
        "standing_usd": answer.standing_usd,
        "running_usd": answer.running_usd,
        "usd_per_million": answer.usd_per_million,
    }
