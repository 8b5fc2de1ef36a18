"""Asks for one thing, and tells the answer as text or as JSON."""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import closing

from taskmill_local.cli.api import Answer, Api, Json
from taskmill_local.cli.ask import address, print_line, refused, width
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.text import aligned


def ask(method: str, target: str, body: str | Json | None = None) -> Answer:
    with closing(Api(address())) as api:
        return api.ask(method, target, body)


def tell(answer: Answer, asked: argparse.Namespace, show: Callable[[Json], str]) -> Exit:
    if answer.is_refusal:
        return refused(answer)
    text = json.dumps(answer.body) if asked.json else show(answer.body)
    if text:
        print_line(text)
    return Exit.DONE


def table(rows: list[tuple[str, ...]], without: str) -> str:
    """Lay the rows out below their head; say *without* when there are none."""
    if len(rows) > 1:
        return aligned(rows, width=width())
    sys.stderr.write(f"{without}\n")
    return ""
