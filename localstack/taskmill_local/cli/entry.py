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
from taskmill_local.cli.pause_words import PAUSES
from taskmill_local.cli.printing import complain
from taskmill_local.errors import PlatformError

Command: TypeAlias = Callable[[argparse.Namespace], Exit]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        return _COMMANDS[options.command](options)
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


def _up(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.up import up

    return up(as_json=options.json)


def _demo(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.demo.run import demo

    return demo(as_json=options.json)


def _submit(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.ask import submit

    return submit(options)


def _status(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.ask import status

    return status(options)


def _list(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.ask import list_tasks

    return list_tasks(options)


def _types(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.types import list_types

    return list_types(options)


def _stats(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.ask import show_stats

    return show_stats(options)


def _get(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.ask import get

    return get(options)


def _batch(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.batch import submit_batch

    return submit_batch(options)


def _upload(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.payloads import upload

    return upload(options)


def _logs(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.logs import show_logs

    return show_logs(options.name, lines=options.lines, follows=options.follow)


def _migrate(options: argparse.Namespace) -> Exit:
    from taskmill_local.preparation import bring_up_to_date
    from taskmill_local.settings import Settings

    root = Settings.from_environment().root
    ran = bring_up_to_date(options.dsn, root / Path("infra/postgres/migrations"))
    sys.stdout.write(
        "".join(f"ran {name}\n" for name in ran) or "nothing to do: the schema is up to date\n"
    )
    return Exit.DONE


def _leave_lanes(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.leave_lanes import leave_lanes
    from taskmill_local.cli.reporting import address

    return leave_lanes(os.environ, address(), as_json=options.json)


def _doctor(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.doctor import examine
    from taskmill_local.cli.reporting import address

    return examine(os.environ, address(), as_json=options.json)


def _bench(arguments: argparse.Namespace) -> Exit:
    from bench.run import Options, main

    options = Options(
        as_json=arguments.json,
        quick=arguments.quick,
        save=arguments.save,
        only=arguments.only,
        far_tasks=arguments.far_tasks,
        against=arguments.against,
        profile=arguments.profile,
    )
    main(options)
    return Exit.DONE


def _cost(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.bill import show_cost

    return show_cost(options)


def _control(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands import control

    command: Command = getattr(control, options.command)
    return command(options)


def _pauses(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands import pauses

    command: Command = getattr(pauses, options.command)
    return command(options)


def _schedule(options: argparse.Namespace) -> Exit:
    from taskmill_local.cli.commands.schedules import schedule

    return schedule(options)


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
    "leave-lanes": _leave_lanes,
    "doctor": _doctor,
    "cost": _cost,
    "bench": _bench,
    "schedule": _schedule,
    **dict.fromkeys(CONTROL, _control),
    **dict.fromkeys(PAUSES, _pauses),
}
