"""Commands and options for pauses."""

import argparse
from typing import Final

from taskmill_local.cli.control_words import Add
from taskmill_local.cli.values import span

_PAUSE: Final = """\
Running tasks finish, waiting ones keep their places, and new ones are accepted.

examples:
  taskmill pause echo --for 10m --reason 'its database is being migrated'
  taskmill pause echo --until 2026-11-06T21:30:00Z
  taskmill pause                                 pause every type, until `taskmill resume`
"""
_RESUME: Final = """\
The pause of a type outlasts that of everything, and the other way round.

examples:
  taskmill resume echo
  taskmill resume                                end the pause of everything
"""
PAUSES: Final = ("pause", "resume", "pauses")


def add_pauses(add: Add) -> None:
    _pause(add("pause", "pause a type, or everything", _PAUSE))
    _of_a_type(add("resume", "resume a type, or everything", _RESUME))
    _as_json(add("pauses", "list the pauses in force"))


def _pause(one: argparse.ArgumentParser) -> None:
    end = one.add_mutually_exclusive_group()
    end.add_argument(
        "--until", metavar="TIME", help="pause until this time, such as 2026-01-31T12:00:00Z"
    )
    end.add_argument(
        "--for", type=span, metavar="SPAN", dest="seconds", help="pause this long: 90s, 10m, 2h, 1d"
    )
    one.add_argument("--reason", metavar="TEXT", help="shown with the pause")
    _of_a_type(one)


def _of_a_type(one: argparse.ArgumentParser) -> None:
    one.add_argument("type", nargs="?", help="the task type; omit it for everything")
    _as_json(one)


def _as_json(one: argparse.ArgumentParser) -> None:
    one.add_argument("--json", action="store_true", help="print it as JSON")
