"""Commands and options for schedules."""

import argparse
from collections.abc import Callable
from typing import Final, TypeAlias

from taskmill_local.cli.control_words import (
    Add,
    add_fairness_key,
    add_page,
    add_priority,
    add_retry,
)
from taskmill_local.cli.values import count, positive, seconds, some_seconds

_ABOUT: Final = """\
A schedule submits a task repeatedly: by a cron expression of five fields (minute, hour, day, month,
day of the week) with an optional sixth for the second, or every so many seconds.

examples:
  taskmill schedule put nightly echo '{"say": 1}' --cron '0 3 * * *' --timezone Europe/Berlin
  taskmill schedule put pulse echo --every 2 --overlap skip
  taskmill schedule next nightly --count 5       the next times, with clock changes
  taskmill schedule pause nightly                `resume` continues with the next time
  taskmill schedule backfill nightly --from 2026-11-01T00:00:00Z --until 2026-11-08T00:00:00Z
  taskmill schedule apply --dsn "$DSN"           apply declared schedules after a deployment
"""
_GAPS: Final = ("skip", "shift")
_FOLDS: Final = ("first", "both")
_OVERLAPS: Final = ("allow", "skip", "queue_one", "cancel_running")
_CATCH_UPS: Final = ("none", "one", "all")
Words: TypeAlias = Callable[[str, str], argparse.ArgumentParser]


def add_schedule(add: Add) -> None:
    """Add the command and its subcommands."""
    one = add("schedule", "submit tasks repeatedly, on a schedule", _ABOUT)
    verbs = one.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, about: str) -> argparse.ArgumentParser:
        return verbs.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")

    _definition(verb("add", "create a schedule; fails if the name is taken"))
    put = verb("put", "create or replace a schedule")
    _definition(put)
    put.add_argument(
        "--revision", type=count, metavar="N", help="only if the schedule has this revision"
    )
    _list(verb("list", "list schedules by name"))
    _by_name(verb("show", "show a schedule and its last run"))
    _next(verb("next", "show when a schedule fires next"))
    _by_name(verb("pause", "pause a schedule until it is resumed"))
    _by_name(verb("resume", "resume a paused schedule with its next time"))
    _by_name(verb("trigger", "fire a schedule now, in addition to its rule"))
    _backfill(verb("backfill", "fire the times of a past range"))
    _by_name(verb("delete", "delete a schedule; its tasks remain"))
    _apply(verb("apply", "apply the declared schedules to a ledger"))


def _definition(one: argparse.ArgumentParser) -> None:
    one.add_argument("name", help="the schedule's name")
    one.add_argument("type", help="the task type, see `taskmill types`")
    one.add_argument("payload", nargs="?", help="the payload as JSON (default {})")
    one.add_argument("--file", metavar="PATH", help="read the payload from a file; - is stdin")
    when = one.add_mutually_exclusive_group(required=True)
    when.add_argument("--cron", metavar="EXPRESSION", help="five fields, or six with seconds last")
    when.add_argument(
        "--every", type=positive, metavar="SECONDS", help="a period, counted from 1970"
    )
    one.add_argument("--timezone", metavar="ZONE", help="such as Europe/Berlin (UTC)")
    _choice(one, "--gap", _GAPS, "times that clocks skip when they go forward (skip)")
    _choice(one, "--fold", _FOLDS, "times that clocks repeat when they go back (first)")
    _choice(one, "--overlap", _OVERLAPS, "while the previous task has not ended (allow)")
    _choice(one, "--catch-up", _CATCH_UPS, "times that were missed (one)")
    one.add_argument(
        "--window",
        type=count,
        metavar="SECONDS",
        help="maximum age of missed times with `all` (a day)",
    )
    one.add_argument(
        "--jitter", type=seconds, metavar="SECONDS", help="random delay of at most this long"
    )
    one.add_argument(
        "--meta", action="append", default=[], metavar="KEY=VALUE", help="metadata; repeatable"
    )
    add_priority(one)
    add_fairness_key(one)
    one.add_argument(
        "--max-attempts", type=positive, metavar="N", help="maximum number of attempts of each task"
    )
    one.add_argument(
        "--timeout", type=some_seconds, metavar="SECONDS", help="time limit of one attempt"
    )
    add_retry(one)
    state = one.add_mutually_exclusive_group()
    for name, is_enabled, about in (
        ("--paused", False, "create it paused"),
        ("--enabled", True, "resume it if it is paused"),
    ):
        state.add_argument(name, action="store_const", const=is_enabled, dest="enabled", help=about)
    _as_json(one)


def _choice(one: argparse.ArgumentParser, name: str, choices: tuple[str, ...], about: str) -> None:
    one.add_argument(name, choices=choices, help=about)


def _by_name(one: argparse.ArgumentParser) -> None:
    one.add_argument("name", help="the schedule's name")
    _as_json(one)


def _list(one: argparse.ArgumentParser) -> None:
    add_page(one, usual=100)
    _as_json(one)


def _next(one: argparse.ArgumentParser) -> None:
    one.add_argument("--count", type=positive, default=10, metavar="N", help="number of times (10)")
    _by_name(one)


def _backfill(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--from", required=True, metavar="TIME", dest="since", help="from 2026-01-31T12:00:00Z on"
    )
    one.add_argument("--until", required=True, metavar="TIME", help="until this time, inclusive")
    _by_name(one)


def _apply(one: argparse.ArgumentParser) -> None:
    one.add_argument("--dsn", required=True, help="the ledger's database")
    _as_json(one)


def _as_json(one: argparse.ArgumentParser) -> None:
    one.add_argument("--json", action="store_true", help="print it as JSON")
