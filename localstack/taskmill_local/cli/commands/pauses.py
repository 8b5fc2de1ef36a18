"""Commands for pauses: pause, resume and list."""

import argparse
from urllib.parse import quote

from taskmill_local.cli.exits import Exit
from taskmill_local.cli.pause_text import pause_rows, paused_text, resumed_text
from taskmill_local.cli.reporting import ask, report, table

_PATH = "/v1/pauses"


def pause(options: argparse.Namespace) -> Exit:
    names = ("type", "until", "seconds", "reason")
    fields = {name: getattr(options, name) for name in names}
    order = {name: value for name, value in fields.items() if value is not None}
    return report(ask("POST", _PATH, order), options, paused_text)


def resume(options: argparse.Namespace) -> Exit:
    name = "all" if options.type is None else f"type:{quote(options.type, safe='')}"
    return report(ask("DELETE", f"{_PATH}/{name}"), options, resumed_text)


def pauses(options: argparse.Namespace) -> Exit:
    answer = ask("GET", _PATH)
    return report(
        answer, options, lambda body: table(pause_rows(body["pauses"]), "Nothing is paused.")
    )
