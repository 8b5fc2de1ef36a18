"""Commands and options for operators of a running system."""

import argparse
from collections.abc import Callable
from typing import Final, TypeAlias

from taskmill_local.cli.values import positive, rate, retry, seconds

Add: TypeAlias = Callable[..., argparse.ArgumentParser]
"""Adds a command with its name, summary and examples."""

_DEAD: Final = """\
examples:
  taskmill dead                                  latest first
  taskmill dead --reason timeout --type echo
  taskmill dead --after 2026-11-01T00:00:00Z --error-class KeyError
"""
_REDRIVES: Final = """\
A job redrives the tasks that are dead when it is created, at a limited rate. It starts with a
sample, and pauses when more than a third of the tasks that ended failed again.

examples:
  taskmill redrives                              list the jobs
  taskmill redrives start --reason timeout --rate 20
  taskmill redrives show <id>
  taskmill redrives stop <id>                    `resume <id>` continues it
"""
_QUARANTINE: Final = """\
Records of the log that could not be read as tasks are kept here with their bytes.

examples:
  taskmill quarantine
  taskmill quarantine tasks.pending:0:7:0              show one record
  taskmill quarantine --discard tasks.pending:0:7:0    keep it, marked as handled
  taskmill quarantine --discarded
"""
_CHANGE: Final = """\
examples:
  taskmill change <id> --delay 3600              start it in an hour
  taskmill change <id> --run-at 2026-01-31T12:00:00Z --meta order=17
  taskmill change <id> --priority critical       start it before others that wait
"""
_ENQUEUED: Final = """\
A request that an application enqueued in its database becomes a task within moments, or is refused
and kept here.

examples:
  taskmill enqueued                              list refused requests and reasons
  taskmill enqueued --waiting
  taskmill enqueued --discard <id>               keep it, marked as handled
  taskmill enqueued --discarded
"""
_ENDPOINTS: Final = """\
A webhook endpoint that answers 410 is disabled until it is enabled again.

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
PRIORITIES: Final = ("critical", "high", "normal", "low")
ACTIONS: Final = ("list", "start", "show", "stop", "resume")


def add_control(add: Add) -> None:
    _with_id(add("cancel", "cancel a task; a running one is asked to stop"))
    _change(
        add("change", "change the time, the priority or the metadata of a waiting task", _CHANGE)
    )
    _with_id(add("redrive", "run a dead or cancelled task again"))
    _with_id(add("history", "show the history of a task"))
    _dead(add("dead", "list dead tasks, latest first", _DEAD))
    _quarantine(add("quarantine", "show records that could not be read as tasks", _QUARANTINE))
    _enqueued(add("enqueued", "show enqueued requests that have not become tasks", _ENQUEUED))
    _endpoints(add("endpoints", "show disabled webhook endpoints", _ENDPOINTS))
    _redrives(add("redrives", "redrive many dead tasks", _REDRIVES))


def _with_id(one: argparse.ArgumentParser) -> None:
    one.add_argument("id", help="the task's id")
    _as_json(one)


def _change(one: argparse.ArgumentParser) -> None:
    one.add_argument("--delay", type=seconds, metavar="SECONDS", help="start it this long from now")
    one.add_argument("--run-at", metavar="TIME", help="start it at this time, with a UTC offset")
    one.add_argument(
        "--meta", action="append", default=[], metavar="KEY=VALUE", help="metadata; repeatable"
    )
    add_priority(one)
    _with_id(one)


def _dead(one: argparse.ArgumentParser) -> None:
    _which_dead(one)
    add_page(one)
    _as_json(one)


def _which_dead(one: argparse.ArgumentParser) -> None:
    one.add_argument("--type", help="only of this type")
    one.add_argument("--reason", help="only this reason, such as failed or timeout")
    one.add_argument("--error-class", help="only this class of the last error")
    one.add_argument("--after", metavar="TIME", help="only tasks that died after this time")
    one.add_argument("--before", metavar="TIME", help="only tasks that died before this time")


def _quarantine(one: argparse.ArgumentParser) -> None:
    one.add_argument("id", nargs="?", help="the record to show")
    one.add_argument("--discarded", action="store_true", help="list the handled records")
    one.add_argument("--discard", metavar="ID", help="mark this record as handled")
    add_page(one)
    _as_json(one)


def _enqueued(one: argparse.ArgumentParser) -> None:
    which = one.add_mutually_exclusive_group()
    which.add_argument(
        "--waiting", action="store_true", help="list requests that wait to become tasks"
    )
    which.add_argument("--discarded", action="store_true", help="list the handled requests")
    which.add_argument("--discard", metavar="ID", help="mark this refused request as handled")
    add_page(one)
    _as_json(one)


def _endpoints(one: argparse.ArgumentParser) -> None:
    one.add_argument("--enable", metavar="URL", help="enable this endpoint")
    one.add_argument("--limit", type=positive, metavar="N", help="maximum number (50)")
    _as_json(one)


def _redrives(one: argparse.ArgumentParser) -> None:
    one.add_argument("action", nargs="?", choices=ACTIONS, default="list", help="the action (list)")
    one.add_argument("id", nargs="?", help="the job's id, for show, stop and resume")
    _which_dead(one)
    one.add_argument("--rate", type=rate, metavar="N", help="tasks per second (10)")
    one.add_argument("--limit", type=positive, metavar="N", help="maximum number of tasks, or jobs")
    _as_json(one)


def add_page(one: argparse.ArgumentParser, usual: int = 20) -> None:
    about = f"maximum number ({usual}), up to 200"
    one.add_argument("--limit", type=positive, default=usual, metavar="N", help=about)
    one.add_argument("--cursor", help="continue after a page, with its cursor")


def add_retry(one: argparse.ArgumentParser) -> None:
    about = "wait before the second attempt, growth factor for each further one, maximum"
    one.add_argument("--retry", type=retry, metavar="FIRST[:FACTOR[:CAP]]", help=about)


def add_priority(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--priority", choices=PRIORITIES, help="waiting tasks of a higher one start first"
    )


def add_fairness_key(one: argparse.ArgumentParser) -> None:
    about = "waiting tasks with different keys take turns"
    one.add_argument("--fairness-key", metavar="KEY", help=about)


def _as_json(one: argparse.ArgumentParser) -> None:
    one.add_argument("--json", action="store_true", help="print it as JSON")
