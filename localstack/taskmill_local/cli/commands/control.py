"""Commands for operators of a running system: cancel, change, redrive and others."""

import argparse
from typing import Any, Final
from urllib.parse import quote

from taskmill_local.cli.api import Json
from taskmill_local.cli.control_text import (
    dead_rows,
    endpoint_rows,
    enqueued_rows,
    history_text,
    job_card,
    job_rows,
    quarantine_rows,
    record_card,
)
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.printing import complain, note
from taskmill_local.cli.reporting import WrongUsage, ask, ask_for_page, pairs, report, table, width
from taskmill_local.cli.text import task_card

_VERBS: Final = {"stop": "POST", "resume": "POST", "show": "GET"}


def cancel(options: argparse.Namespace) -> Exit:
    answer = ask("POST", f"/v1/tasks/{_name(options.id)}/cancel")
    exit_ = report(answer, options, task_card)
    if exit_ is Exit.DONE and answer.body.get("status") == "running" and not options.json:
        note("The task is running; its worker was asked to stop it.")
    return exit_


def change(options: argparse.Namespace) -> Exit:
    try:
        metadata = pairs(options.meta) or None
    except WrongUsage as wrong:
        return complain(str(wrong), Exit.USAGE)
    fields = {
        "delay_seconds": options.delay,
        "run_at": options.run_at,
        "metadata": metadata,
        "priority": options.priority,
    }
    changes = {name: value for name, value in fields.items() if value is not None}
    return report(ask("PATCH", f"/v1/tasks/{_name(options.id)}", changes), options, task_card)


def redrive(options: argparse.Namespace) -> Exit:
    return report(ask("POST", f"/v1/tasks/{_name(options.id)}/redrive"), options, task_card)


def history(options: argparse.Namespace) -> Exit:
    answer = ask("GET", f"/v1/tasks/{_name(options.id)}/history")
    return report(answer, options, lambda body: history_text(body, width=width()))


def dead(options: argparse.Namespace) -> Exit:
    page = {"status": "dead", "limit": options.limit, "cursor": options.cursor}
    answer = ask_for_page("/v1/tasks", **page, **_which_dead(options))
    return report(
        answer, options, lambda body: table(dead_rows(body["tasks"]), "There are no dead tasks.")
    )


def quarantine(options: argparse.Namespace) -> Exit:
    if options.discard is not None:
        answer = ask("POST", f"/v1/quarantine/{_name(options.discard)}/discard")
        return report(answer, options, lambda body: table(quarantine_rows([body]), ""))
    if options.id is not None:
        return report(ask("GET", f"/v1/quarantine/{_name(options.id)}"), options, record_card)
    filters = {"discarded": str(options.discarded).lower(), "limit": options.limit}
    answer = ask_for_page("/v1/quarantine", **filters, cursor=options.cursor)
    return report(
        answer,
        options,
        lambda body: table(quarantine_rows(body["records"]), "The quarantine is empty."),
    )


_WITHOUT_REQUESTS: Final = {
    "parked": "No requests were refused.",
    "waiting": "No requests are waiting.",
    "discarded": "No requests were marked as handled.",
}


def enqueued(options: argparse.Namespace) -> Exit:
    if options.discard is not None:
        answer = ask("POST", f"/v1/enqueued/{_name(options.discard)}/discard")
        return report(answer, options, lambda body: table(enqueued_rows([body]), ""))
    state = "waiting" if options.waiting else "discarded" if options.discarded else "parked"
    page = {"limit": options.limit, "cursor": options.cursor}
    answer = ask_for_page("/v1/enqueued", state=state, **page)
    without = _WITHOUT_REQUESTS[state]
    return report(answer, options, lambda body: table(enqueued_rows(body["requests"]), without))


def endpoints(options: argparse.Namespace) -> Exit:
    if options.enable is not None:
        answer = ask("POST", "/v1/endpoints/enable", {"url": options.enable})
        return report(answer, options, lambda body: f"{body['url']} is enabled again")
    answer = ask_for_page("/v1/endpoints/disabled", limit=options.limit)
    without = "No webhook endpoint is disabled."
    return report(answer, options, lambda body: table(endpoint_rows(body["endpoints"]), without))


def redrives(options: argparse.Namespace) -> Exit:
    if options.action in _VERBS:
        if options.id is None:
            return complain(
                f"Give the job's id: taskmill redrives {options.action} <id>.", Exit.USAGE
            )
        verb = "" if options.action == "show" else f"/{options.action}"
        target = f"/v1/redrives/{_name(options.id)}{verb}"
        return report(ask(_VERBS[options.action], target), options, job_card)
    if options.action == "start":
        return report(ask("POST", "/v1/redrives", _request(options)), options, job_card)
    answer = ask_for_page("/v1/redrives", limit=options.limit)
    return report(
        answer,
        options,
        lambda body: table(job_rows(body["redrives"]), "There are no redrive jobs."),
    )


def _request(options: argparse.Namespace) -> Json:
    limits: Json = {"rate_per_second": options.rate, "limit": options.limit}
    return _which_dead(options) | {name: one for name, one in limits.items() if one is not None}


def _which_dead(options: argparse.Namespace) -> dict[str, Any]:
    filters = {
        "type": options.type,
        "reason": options.reason,
        "error_class": options.error_class,
        "dead_after": options.after,
        "dead_before": options.before,
    }
    return {name: one for name, one in filters.items() if one is not None}


def _name(text: str) -> str:
    return quote(text, safe="")
