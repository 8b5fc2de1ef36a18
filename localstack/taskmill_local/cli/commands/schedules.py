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


def schedule(asked: argparse.Namespace) -> Exit:
    try:
        return _VERBS[asked.verb](asked)
    except WrongUsage as wrong:
        return complain(str(wrong), Exit.USAGE)


def _add(asked: argparse.Namespace) -> Exit:
    return report(
        ask("POST", "/v1/schedules", _wanted(asked, name=asked.name)), asked, schedule_card
    )


def _put(asked: argparse.Namespace) -> Exit:
    body = _wanted(asked, revision=asked.revision)
    return report(ask("PUT", _place(asked), body), asked, schedule_card)


def _list(asked: argparse.Namespace) -> Exit:
    answer = ask_for_page("/v1/schedules", limit=asked.limit, cursor=asked.cursor)
    return report(
        answer,
        asked,
        lambda page: table(schedule_rows(page["schedules"]), "There are no schedules."),
    )


def _show(asked: argparse.Namespace) -> Exit:
    return report(ask("GET", _place(asked)), asked, schedule_card)


def _next(asked: argparse.Namespace) -> Exit:
    answer = ask("GET", f"{_place(asked)}/next?count={asked.count}")
    return report(
        answer,
        asked,
        lambda page: table(coming_rows(page["next"]), "The schedule does not fire any more."),
    )


def _pause(asked: argparse.Namespace) -> Exit:
    return report(ask("POST", f"{_place(asked)}/pause"), asked, schedule_card)


def _resume(asked: argparse.Namespace) -> Exit:
    return report(ask("POST", f"{_place(asked)}/resume"), asked, schedule_card)


def _trigger(asked: argparse.Namespace) -> Exit:
    answer = ask("POST", f"{_place(asked)}/trigger")
    return report(answer, asked, lambda fire: table(fire_rows([fire]), ""))


def _backfill(asked: argparse.Namespace) -> Exit:
    answer = ask("POST", f"{_place(asked)}/backfill", {"from": asked.since, "until": asked.until})
    return report(
        answer,
        asked,
        lambda done: table(fire_rows(done["fires"]), "The range contains no time of the schedule."),
    )


def _delete(asked: argparse.Namespace) -> Exit:
    return report(ask("DELETE", _place(asked)), asked, lambda _: f"{asked.name} was deleted")


def _apply(asked: argparse.Namespace) -> Exit:
    from taskmill_local.declared import declare_all
    from taskmill_local.settings import Settings

    done = asdict(declare_all(asked.dsn, Settings.from_environment().root))
    if asked.json:
        print_json(done)
        return Exit.DONE
    lines = [f"{what} {name}" for what, names in done.items() for name in names]
    print_line("\n".join(lines) or "nothing to do: the schedules are as declared")
    return Exit.DONE


def _place(asked: argparse.Namespace) -> str:
    return f"/v1/schedules/{quote(asked.name, safe='')}"


def _wanted(asked: argparse.Namespace, **own: Any) -> str:
    """Build the request; the payload's text is sent as typed."""
    task = _given(
        type=asked.type,
        max_attempts=asked.max_attempts,
        timeout_seconds=asked.timeout,
        retry=asked.retry,
        metadata=pairs(asked.meta) or None,
    )
    fields = _given(
        cron=asked.cron,
        every_seconds=asked.every,
        timezone=asked.timezone,
        dst=_given(gap=asked.gap, fold=asked.fold) or None,
        overlap=asked.overlap,
        catch_up=asked.catch_up,
        catch_up_window_seconds=asked.window,
        jitter_seconds=asked.jitter,
        enabled=asked.enabled,
        **own,
    )
    submission = with_payload(task, payload_of(asked))
    return f'{json.dumps(fields)[:-1]}, "task": {submission}}}'


def _given(**fields: Any) -> Json:
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
