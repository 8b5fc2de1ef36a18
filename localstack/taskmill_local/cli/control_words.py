"""The words of the command line for those who look after a running system."""

import argparse
from collections.abc import Callable
from typing import Final, TypeAlias

from taskmill_local.cli.values import positive, rate, retry, seconds

Add: TypeAlias = Callable[..., argparse.ArgumentParser]
"""Adds a command: its name, what it is about, examples."""

_DEAD: Final = """\
examples:
  taskmill dead                                  the latest deaths first
  taskmill dead --reason timeout --type echo
  taskmill dead --after 2026-11-01T00:00:00Z --error-class KeyError
"""
_REDRIVES: Final = """\
A job brings back the dead that it finds when it is made, slowly: some go first, and when more than
a third of those that ended failed again it pauses.

examples:
  taskmill redrives                              what jobs there are
  taskmill redrives start --reason timeout --rate 20
  taskmill redrives show <id>
  taskmill redrives stop <id>                    and `resume <id>` takes it up again
"""
_QUARANTINE: Final = """\
What stood in the log and was never a task is kept here with its bytes.

examples:
  taskmill quarantine
  taskmill quarantine tasks.pending:0:7:0              what one of them holds
  taskmill quarantine --discard tasks.pending:0:7:0    kept, and marked as dealt with
  taskmill quarantine --discarded
"""
_CHANGE: Final = """\
examples:
  taskmill change <id> --delay 3600              not before an hour from now
  taskmill change <id> --run-at 2026-01-31T12:00:00Z --meta order=17
"""
_ENQUEUED: Final = """\
What an application enqueued in its database becomes a task a moment later, or is refused and kept.

examples:
  taskmill enqueued                              what was refused, and why
  taskmill enqueued --waiting
"""
_ENDPOINTS: Final = """\
A receiver of webhooks that answers 410 is called no more until it is enabled.

examples:
  taskmill endpoints
  taskmill endpoints --enable https://hooks.example.com/in
"""
CONTROL: Final = (
    "cancel",
    "change",
    "redrive",
    "history",
    "dead",
    "quarantine",
    "enqueued",
    "endpoints",
    "redrives",
)
ACTIONS: Final = ("list", "start", "show", "stop", "resume")


def add_control(add: Add) -> None:
    _with_id(add("cancel", "cancel a task: at once while it waits, by asking while it runs"))
    _change(add("change", "give a task that waits another time or other metadata", _CHANGE))
    _with_id(add("redrive", "give a dead or cancelled task another life"))
    _with_id(add("history", "show what happened to a task"))
    _dead(add("dead", "list the dead, the latest first", _DEAD))
    _quarantine(add("quarantine", "show records that were never a task", _QUARANTINE))
    _enqueued(add("enqueued", "show requests that were enqueued and are no task", _ENQUEUED))
    _endpoints(add("endpoints", "show receivers of webhooks that are disabled", _ENDPOINTS))
    _redrives(add("redrives", "bring many of the dead back", _REDRIVES))


def _with_id(one: argparse.ArgumentParser) -> None:
    one.add_argument("id", help="the task's id")
    _as_json(one)


def _change(one: argparse.ArgumentParser) -> None:
    one.add_argument("--delay", type=seconds, metavar="SECONDS", help="so long from now")
    one.add_argument("--run-at", metavar="TIME", help="at this time, with its zone")
    one.add_argument(
        "--meta", action="append", default=[], metavar="KEY=VALUE", help="metadata; repeatable"
    )
    _with_id(one)


def _dead(one: argparse.ArgumentParser) -> None:
    _which_dead(one)
    add_page(one)
    _as_json(one)


def _which_dead(one: argparse.ArgumentParser) -> None:
    one.add_argument("--type", help="only of this type")
    one.add_argument("--reason", help="only those that died of this, such as failed or timeout")
    one.add_argument("--error-class", help="only those whose last error was of this class")
    one.add_argument("--after", metavar="TIME", help="only those that died after this time")
    one.add_argument("--before", metavar="TIME", help="only those that died before this time")


def _quarantine(one: argparse.ArgumentParser) -> None:
    one.add_argument("id", nargs="?", help="a record, to show what it holds")
    one.add_argument("--discarded", action="store_true", help="those that were dealt with")
    one.add_argument("--discard", metavar="ID", help="mark this one as dealt with")
    add_page(one)
    _as_json(one)


def _enqueued(one: argparse.ArgumentParser) -> None:
    one.add_argument("--waiting", action="store_true", help="those that wait to become tasks")
    add_page(one)
    _as_json(one)


def _endpoints(one: argparse.ArgumentParser) -> None:
    one.add_argument("--enable", metavar="URL", help="let this one be called again")
    one.add_argument("--limit", type=positive, metavar="N", help="at most so many (50)")
    _as_json(one)


def _redrives(one: argparse.ArgumentParser) -> None:
    one.add_argument("action", nargs="?", choices=ACTIONS, default="list", help="what to do (list)")
    one.add_argument("id", nargs="?", help="the job's id, for show, stop and resume")
    _which_dead(one)
    one.add_argument("--rate", type=rate, metavar="N", help="tasks a second (10)")
    one.add_argument("--limit", type=positive, metavar="N", help="at most so many tasks, or jobs")
    _as_json(one)


def add_page(one: argparse.ArgumentParser, usual: int = 20) -> None:
    about = f"at most so many ({usual}); 200 are the most of a page"
    one.add_argument("--limit", type=positive, default=usual, metavar="N", help=about)
    one.add_argument("--cursor", help="go on where a page ended, with what it said")


def add_retry(one: argparse.ArgumentParser) -> None:
    about = "wait so long before the second attempt, by so much longer before each, up to the cap"
    one.add_argument("--retry", type=retry, metavar="FIRST[:FACTOR[:CAP]]", help=about)


def _as_json(one: argparse.ArgumentParser) -> None:
    one.add_argument("--json", action="store_true", help="print it as JSON")
