"""Commands for schedules: put, list, show, next, pause, trigger, backfill and others."""

import argparse
import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

from msgspec.structs import asdict

from taskmill_local.cli.api import Json
from taskmill_local.cli.commands.payloads import payload_of, with_payload
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.printing import complain, print_json, print_line
from taskmill_local.cli.reporting import WrongUsage, ask, ask_for_page, pairs, report, table
from taskmill_local.cli.schedule_text import coming_rows, fire_rows, schedule_card, schedule_rows

Verb = Callable[[argparse.Namespace], Exit]


def schedule(options: argparse.Namespace) -> Exit:
    try:
        return _VERBS[options.verb](options)
    except WrongUsage as wrong:
        return complain(str(wrong), Exit.USAGE)


def _add(options: argparse.Namespace) -> Exit:
    return report(
        ask("POST", "/v1/schedules", _definition(options, name=options.name)),
        options,
        schedule_card,
    )


def _put(options: argparse.Namespace) -> Exit:
    body = _definition(options, revision=options.revision)
    return report(ask("PUT", _place(options), body), options, schedule_card)


def _list(options: argparse.Namespace) -> Exit:
    answer = ask_for_page("/v1/schedules", limit=options.limit, cursor=options.cursor)
    return report(
        answer,
        options,
        lambda page: table(schedule_rows(page["schedules"]), "There are no schedules."),
    )


def _show(options: argparse.Namespace) -> Exit:
    return report(ask("GET", _place(options)), options, schedule_card)


def _next(options: argparse.Namespace) -> Exit:
    answer = ask("GET", f"{_place(options)}/next?count={options.count}")
    return report(
        answer,
        options,
        lambda page: table(coming_rows(page["next"]), "The schedule does not fire any more."),
    )


def _pause(options: argparse.Namespace) -> Exit:
    return report(ask("POST", f"{_place(options)}/pause"), options, schedule_card)


def _resume(options: argparse.Namespace) -> Exit:
    return report(ask("POST", f"{_place(options)}/resume"), options, schedule_card)


def _trigger(options: argparse.Namespace) -> Exit:
    answer = ask("POST", f"{_place(options)}/trigger")
    return report(answer, options, lambda fire: table(fire_rows([fire]), ""))


def _backfill(options: argparse.Namespace) -> Exit:
    answer = ask(
        "POST", f"{_place(options)}/backfill", {"from": options.since, "until": options.until}
    )
    return report(
        answer,
        options,
        lambda page: table(fire_rows(page["fires"]), "The range contains no time of the schedule."),
    )


def _delete(options: argparse.Namespace) -> Exit:
    return report(ask("DELETE", _place(options)), options, lambda _: f"{options.name} was deleted")


def _apply(options: argparse.Namespace) -> Exit:
    from taskmill_local.declared import declare_all
    from taskmill_local.settings import Settings

    names = asdict(declare_all(options.dsn, Settings.from_environment().root))
    if options.json:
        print_json(names)
        return Exit.DONE
    lines = [f"{what} {name}" for what, own in names.items() for name in own]
    print_line("\n".join(lines) or "nothing to do: the schedules are as declared")
    return Exit.DONE


def _place(options: argparse.Namespace) -> str:
    return f"/v1/schedules/{quote(options.name, safe='')}"


def _definition(options: argparse.Namespace, **own: Any) -> str:
    """Build the request; the payload's text is sent as typed."""
    task = _without_none(
        type=options.type,
        max_attempts=options.max_attempts,
        timeout_seconds=options.timeout,
        retry=options.retry,
        metadata=pairs(options.meta) or None,
        priority=options.priority,
        fairness_key=options.fairness_key,
    )
    fields = _without_none(
        cron=options.cron,
        every_seconds=options.every,
        timezone=options.timezone,
        dst=_without_none(gap=options.gap, fold=options.fold) or None,
        overlap=options.overlap,
        catch_up=options.catch_up,
        catch_up_window_seconds=options.window,
        jitter_seconds=options.jitter,
        enabled=options.enabled,
        **own,
    )
    submission = with_payload(task, payload_of(options))
    return f'{json.dumps(fields)[:-1]}, "task": {submission}}}'


def _without_none(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


_VERBS: Final[Mapping[str, Verb]] = {
    "add": _add,
    "put": _put,
    "list": _list,
    "show": _show,
    "next": _next,
    "pause": _pause,
    "resume": _resume,
    "trigger": _trigger,
    "backfill": _backfill,
    "delete": _delete,
    "apply": _apply,
}
