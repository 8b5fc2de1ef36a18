"""The command line: commands, options and their help."""

import argparse
from typing import Final, NoReturn, TypeAlias

from taskmill import __version__
from taskmill_local.cli.control_words import (
    add_control,
    add_fairness_key,
    add_page,
    add_priority,
    add_retry,
)
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.pause_words import add_pauses
from taskmill_local.cli.schedule_words import add_schedule
from taskmill_local.cli.values import count, positive, seconds, some_seconds

_ABOUT: Final = "A distributed task queue of stateless functions, on this machine."
_EXAMPLES: Final = """\
a first look:
  taskmill demo                                  run sample tasks, then stop the system
  taskmill up                                    start the system; Ctrl-C stops it

with `taskmill up` running in another terminal:
  taskmill submit echo '{"say": "hello"}' --wait 5
  taskmill list --status dead
  taskmill schedule put pulse echo --every 10    a task every ten seconds
  taskmill logs EchoWorker -f

exit codes:
  0  done                                        2  wrong usage, or a request that was refused
  1  a task did not succeed or was not found     3  the system cannot be reached or did not start
                                                 130  interrupted with Ctrl-C

environment:
  TASKMILL_URL    address of the API (default http://127.0.0.1:$TASKMILL_PORT)
  TASKMILL_PORT   port of `up` (default 8080; 0 takes any free port)
  TASKMILL_KAFKA_PORT, TASKMILL_REDIS_PORT, TASKMILL_POSTGRES_PORT, TASKMILL_BUCKET_PORT
                  ports of its stores (default: those of the last start, if free)
  TASKMILL_HOME   where `up` keeps its data and logs (default .taskmill in the project)
  TASKMILL_CONCURRENCY   maximum processes per function (default 2; the gateway has 8)
  TASKMILL_BACKOFF_SECONDS   maximum wait before a failed batch is retried (default 5)
  TASKMILL_KAFKA_BROKERS, TASKMILL_REDIS_URL, TASKMILL_POSTGRES_DSN, TASKMILL_POSTGRES_OWNER_DSN
                  your own stores, each in place of the one that `up` would start
"""
_SUBMIT: Final = """\
examples:
  taskmill submit echo '{"say": "hello"}'
  taskmill submit echo '{"sleep_seconds": 2}' --wait 10     wait until it ends, show the result
  taskmill submit echo --delay 90                           start it after 90 seconds
  taskmill submit echo --file payload.json --key order-17   repeat it: still one task
  taskmill submit echo --retry 5:2:600       5 s before the second attempt, then 10 s, 20 s, …
  jq -n '{say: 1}' | taskmill submit echo --file -
"""
_STATUS: Final = """\
examples:
  taskmill status 019f4a6b-1c2d-7e3f-8a4b-5c6d7e8f9a0b --wait 10
  taskmill status --type echo --key order-17     find a task by its idempotency key
  taskmill status                                what the system is doing
"""
_BATCH: Final = """\
examples:
  taskmill batch tasks.jsonl
  jq -nc 'range(100) | {type: "echo", payload: {say: .}}' | taskmill batch -
"""
_UPLOAD: Final = """\
`submit` uploads a large payload automatically. Use this command for the tasks of a batch:
give each of them "payload_ref" instead of "payload".

examples:
  taskmill upload report rows.json --json
"""
_GET: Final = """\
examples:
  taskmill get /readyz
  taskmill get '/v1/tasks?status=dead&limit=200'
  taskmill get /openapi.json
"""
_UP: Final = """\
examples:
  taskmill up
  TASKMILL_PORT=0 taskmill up --json             any free port, named in the first line
  TASKMILL_REDIS_URL=redis://127.0.0.1:6379/0 taskmill up    a Redis of your own, on this machine
"""

_BENCH: Final = """\
examples:
  taskmill bench                                 run all benchmarks; takes several minutes
  taskmill bench --only drain --only cold --json
  taskmill bench --against main                  compare with another version, as ratios
  taskmill bench --profile worker                profile a function during a drain
"""

MEASURES: Final = ("idle", "submit", "latency", "head", "drain", "cold", "far", "growth", "paused")
PROFILES: Final = ("worker", "gateway", "dispatcher", "recorder", "scheduler")


_COST: Final = """\
examples:
  taskmill cost --tasks-per-month 1000000
  taskmill cost --tasks-per-month 500e6 --per-submit 100 --per-run 100 --task-milliseconds 5
"""


_LEAVE_LANES: Final = """\
A step on the way back to version 0.1. Stop the dispatcher and the schedulers first; the recorder
must run. Closes all lanes, publishes every task in them and on their shelves to the topic of its
worker, and empties the lanes. May be repeated: a task that is published twice runs once. Uses the
stores that TASKMILL_KAFKA_BROKERS, TASKMILL_REDIS_URL, TASKMILL_POSTGRES_DSN and TASKMILL_SHARDS
name. A local system runs schedulers, which open the lanes again: there the command fails.
Exit code 0: all were published; 1: something keeps tasks back, and what; 3: a store is unavailable.
"""


_DOCTOR: Final = """\
Checks the tasks of the last hour and all older unfinished tasks, and repeats the check where
something disagrees, as the scheduler does every minute. Also checks for schedules whose tasks would
be refused. Uses the stores and settings of the running local system, or the stores that
TASKMILL_KAFKA_BROKERS, TASKMILL_REDIS_URL, TASKMILL_POSTGRES_DSN and TASKMILL_SHARDS name.
Exit code 0: no findings; 1: findings; 3: the comparison was not possible.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(Exit.USAGE, f"{self.prog}: {message}. See `{self.prog} --help`.\n")


_Words: TypeAlias = "argparse._SubParsersAction[_Parser]"  # noqa: SLF001 - it has no public name


def parser() -> argparse.ArgumentParser:
    root = _Parser(
        prog="taskmill",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"taskmill {__version__}")
    words = root.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (
        _up,
        _demo,
        _submit,
        _batch,
        _upload,
        _status,
        _list,
        _types,
        _stats,
        _get,
        _logs,
        _migrate,
        _leave_lanes,
        _doctor,
        _bench,
        _cost,
    ):
        add(words)
    add_control(lambda *about: _command(words, *about))
    add_pauses(lambda *about: _command(words, *about))
    add_schedule(lambda *about: _command(words, *about))
    return root


def _command(
    words: "_Words", name: str, about: str, examples: str | None = None
) -> argparse.ArgumentParser:
    return words.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _up(words: "_Words") -> None:
    one = _command(words, "up", "start the whole system and keep it running", _UP)
    one.add_argument("--json", action="store_true", help="print one line of JSON when it is up")


def _demo(words: "_Words") -> None:
    one = _command(words, "demo", "run sample tasks through the whole system, then stop it")
    one.add_argument("--json", action="store_true", help="print one line of JSON at the end")


def _submit(words: "_Words") -> None:
    one = _command(words, "submit", "submit a task", _SUBMIT)
    one.add_argument("type", help="the task type, see `taskmill types`")
    one.add_argument("payload", nargs="?", help="the payload as JSON (default {})")
    one.add_argument("--file", metavar="PATH", help="read the payload from a file; - is stdin")
    one.add_argument("--key", help="idempotency key: one key makes one task")
    one.add_argument(
        "--wait", type=seconds, metavar="SECONDS", help="wait this long for the task to end"
    )
    one.add_argument(
        "--meta", action="append", default=[], metavar="KEY=VALUE", help="metadata; repeatable"
    )
    add_priority(one)
    add_fairness_key(one)
    one.add_argument(
        "--max-attempts", type=positive, metavar="N", help="maximum number of attempts"
    )
    one.add_argument(
        "--timeout", type=some_seconds, metavar="SECONDS", help="time limit of one attempt"
    )
    add_retry(one)
    one.add_argument(
        "--delay", type=seconds, metavar="SECONDS", help="start it after this many seconds"
    )
    one.add_argument(
        "--run-at", metavar="TIME", help="start it at this time, such as 2026-01-31T12:00:00Z"
    )
    one.add_argument("--expires-at", metavar="TIME", help="drop it if it has not started by then")
    one.add_argument("--json", action="store_true", help="print the task as JSON")


def _batch(words: "_Words") -> None:
    one = _command(words, "batch", "submit many tasks from a file, one on each line", _BATCH)
    one.add_argument("file", metavar="PATH", help="a task in JSON on each line; - is stdin")
    one.add_argument("--json", action="store_true", help="print the results as JSON")


def _upload(words: "_Words") -> None:
    one = _command(words, "upload", "upload a large payload, and print its payload_ref", _UPLOAD)
    one.add_argument("type", help="the task type, see `taskmill types`")
    one.add_argument("file", metavar="PATH", help="the payload in JSON; - is stdin")
    one.add_argument("--json", action="store_true", help="print the payload_ref as JSON")


def _get(words: "_Words") -> None:
    one = _command(words, "get", "print the JSON response of an API path", _GET)
    one.add_argument("path", help="the path with its query, such as /readyz")


def _status(words: "_Words") -> None:
    one = _command(words, "status", "show a task or, without an id, the system", _STATUS)
    one.add_argument("id", nargs="?", help="the task's id; omit it to see the system")
    one.add_argument("--type", help="the task's type, to find it by --key")
    one.add_argument("--key", help="the task's idempotency key")
    one.add_argument("--wait", type=seconds, metavar="SECONDS", help="wait this long for it to end")
    one.add_argument("--payload", action="store_true", help="show its payload too")
    one.add_argument("--json", action="store_true", help="print the task as JSON")


def _list(words: "_Words") -> None:
    one = _command(words, "list", "list tasks, newest first")
    one.add_argument("--type", help="only of this type")
    one.add_argument("--status", help="only in this status")
    one.add_argument(
        "--meta",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="only tasks with this metadata; repeatable",
    )
    one.add_argument("--after", metavar="TIME", help="only tasks created after this time")
    one.add_argument("--before", metavar="TIME", help="only tasks created before this time")
    one.add_argument("--reason", help="with --status dead: only this reason")
    one.add_argument("--error-class", help="with --status dead: only this class of the last error")
    one.add_argument(
        "--dead-after", metavar="TIME", help="with --status dead: died after this time"
    )
    one.add_argument(
        "--dead-before", metavar="TIME", help="with --status dead: died before this time"
    )
    add_page(one)
    one.add_argument("--json", action="store_true", help="print the page as JSON")


def _types(words: "_Words") -> None:
    one = _command(words, "types", "list the task types and their payloads")
    one.add_argument("--json", action="store_true", help="print them as JSON, with their schemas")


def _stats(words: "_Words") -> None:
    one = _command(words, "stats", "show queue depths, waits and throughput")
    one.add_argument("--json", action="store_true", help="print the figures as JSON")


def _logs(words: "_Words") -> None:
    one = _command(words, "logs", "show the log of a function or a store")
    one.add_argument("name", nargs="?", help="function or store; omit it to list the logs")
    one.add_argument("-f", "--follow", action="store_true", help="follow the log until Ctrl-C")
    one.add_argument("-n", "--lines", type=count, default=50, help="number of lines (50)")


def _migrate(words: "_Words") -> None:
    one = _command(words, "migrate", "migrate the ledger's schema")
    one.add_argument("--dsn", required=True, help="the database, as its owner")


def _leave_lanes(words: "_Words") -> None:
    one = _command(
        words, "leave-lanes", "move what waits to where version 0.1 looks for it", _LEAVE_LANES
    )
    one.add_argument("--json", action="store_true", help="print the numbers as JSON")


def _doctor(words: "_Words") -> None:
    one = _command(
        words, "doctor", "compare the ledger with Redis without changing anything", _DOCTOR
    )
    one.add_argument("--json", action="store_true", help="print every finding as JSON, by kind")


def _bench(words: "_Words") -> None:
    one = _command(words, "bench", "measure a fresh system of this version", _BENCH)
    one.add_argument("--json", action="store_true", help="print the figures as JSON")
    one.add_argument("--quick", action="store_true", help="small numbers, as a smoke test")
    one.add_argument("--save", action="store_true", help="also save the figures in bench/results")
    one.add_argument(
        "--only",
        action="append",
        default=[],
        choices=MEASURES,
        help="run only this benchmark; repeatable",
    )
    one.add_argument("--far-tasks", type=positive, help="number of tasks for `far` (20000)")
    other = one.add_mutually_exclusive_group()
    other.add_argument("--against", metavar="REF", help="compare with this commit, branch or tag")
    other.add_argument(
        "--profile",
        choices=PROFILES,
        help="profile this function instead of measuring",
    )


def _cost(words: "_Words") -> None:
    one = _command(words, "cost", "estimate the cost of a deployment", _COST)
    one.add_argument(
        "--tasks-per-month",
        type=count,
        required=True,
        metavar="N",
        help="tasks per month; 5e6 is accepted",
    )
    _add_number(one, "--payload-bytes", 1_000, "size of a payload")
    _add_number(one, "--per-submit", 1, "tasks per request; at most 1,000")
    _add_number(one, "--per-run", 10, "average number of tasks per worker invocation")
    _add_number(one, "--task-milliseconds", 20, "average run time of a task")
    one.add_argument(
        "--types", type=positive, metavar="N", help="number of task types (those deployed)"
    )
    one.add_argument("--keyed", action="store_true", help="every task has an idempotency key")
    one.add_argument("--json", action="store_true", help="print the bill as JSON")


def _add_number(one: argparse.ArgumentParser, name: str, default: int, about: str) -> None:
    about = f"{about} ({default:,})"
    one.add_argument(name, type=positive, default=default, metavar="N", help=about)
