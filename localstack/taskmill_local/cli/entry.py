"""Runs one command and turns every error into a sentence and an exit code."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from taskmill_local.cli.api import Unreachable
from taskmill_local.cli.arguments import parser
from taskmill_local.cli.control_words import CONTROL
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.printing import complain
from taskmill_local.errors import PlatformError

Command: TypeAlias = Callable[[argparse.Namespace], Exit]


def main(arguments: Sequence[str] | None = None) -> int:
    asked = parser().parse_args(arguments)
    try:
        return _COMMANDS[asked.command](asked)
    except Unreachable as error:
        return complain(str(error), Exit.UNAVAILABLE)
    except PlatformError as error:
        return complain(str(error), _code_of(error))
    except BrokenPipeError:
        with suppress(OSError):  # the reader of our output went away: exit without a stack trace
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except OSError as error:
        return complain(f"The operating system refused: {error}.", Exit.UNAVAILABLE)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _code_of(error: PlatformError) -> Exit:
    from taskmill_local.settings import SettingsRefused

    return Exit.USAGE if isinstance(error, SettingsRefused) else Exit.UNAVAILABLE


def _up(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.up import up

    return up(as_json=asked.json)


def _demo(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.demo.run import demo

    return demo(as_json=asked.json)


def _submit(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.ask import submit

    return submit(asked)


def _status(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.ask import status

    return status(asked)


def _list(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.ask import list_tasks

    return list_tasks(asked)


def _types(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.ask import list_types

    return list_types(asked)


def _stats(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.ask import show_stats

    return show_stats(asked)


def _get(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.ask import get

    return get(asked)


def _batch(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.batch import submit_batch

    return submit_batch(asked)


def _upload(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.payloads import upload

    return upload(asked)


def _logs(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.logs import show_logs

    return show_logs(asked.name, lines=asked.lines, follows=asked.follow)


def _migrate(asked: argparse.Namespace) -> Exit:
    from taskmill_local.preparation import bring_up_to_date
    from taskmill_local.settings import Settings

    root = Settings.from_environment().root
    ran = bring_up_to_date(asked.dsn, root / Path("infra/postgres/migrations"))
    sys.stdout.write(
        "".join(f"ran {name}\n" for name in ran) or "nothing to do: the schema is up to date\n"
    )
    return Exit.DONE


def _doctor(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.doctor import examine
    from taskmill_local.cli.reporting import address

    return examine(os.environ, address(), as_json=asked.json)


def _bench(asked: argparse.Namespace) -> Exit:
    from bench.run import Options, main

    options = Options(
        as_json=asked.json,
        quick=asked.quick,
        save=asked.save,
        only=asked.only,
        far_tasks=asked.far_tasks,
        against=asked.against,
        profile=asked.profile,
    )
    main(options)
    return Exit.DONE


def _cost(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.bill import show_cost

    return show_cost(asked)


def _control(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands import control

    command: Command = getattr(control, asked.command)
    return command(asked)


def _schedule(asked: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.schedules import schedule

    return schedule(asked)


_COMMANDS: Final[Mapping[str, Command]] = {
    "up": _up,
    "demo": _demo,
    "submit": _submit,
    "batch": _batch,
    "upload": _upload,
    "status": _status,
    "list": _list,
    "types": _types,
    "stats": _stats,
    "get": _get,
    "logs": _logs,
    "migrate": _migrate,
    "doctor": _doctor,
    "cost": _cost,
    "bench": _bench,
    "schedule": _schedule,
    **dict.fromkeys(CONTROL, _control),
}
