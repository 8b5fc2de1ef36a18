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


def cancel(asked: argparse.Namespace) -> Exit:
    answer = ask("POST", f"/v1/tasks/{_name(asked.id)}/cancel")
    exit_ = report(answer, asked, task_card)
    if exit_ is Exit.DONE and answer.body.get("status") == "running" and not asked.json:
        note("The task is running; its worker was asked to stop it.")
    return exit_


def change(asked: argparse.Namespace) -> Exit:
    try:
        metadata = pairs(asked.meta) or None
    except WrongUsage as wrong:
        return complain(str(wrong), Exit.USAGE)
    result = {"delay_seconds": asked.delay, "run_at": asked.run_at, "metadata": metadata}
    wanted = {name: value for name, value in result.items() if value is not None}
    return report(ask("PATCH", f"/v1/tasks/{_name(asked.id)}", wanted), asked, task_card)


def redrive(asked: argparse.Namespace) -> Exit:
    return report(ask("POST", f"/v1/tasks/{_name(asked.id)}/redrive"), asked, task_card)


def history(asked: argparse.Namespace) -> Exit:
    answer = ask("GET", f"/v1/tasks/{_name(asked.id)}/history")
    return report(answer, asked, lambda result: history_text(result, width=width()))


def dead(asked: argparse.Namespace) -> Exit:
    page = {"status": "dead", "limit": asked.limit, "cursor": asked.cursor}
    answer = ask_for_page("/v1/tasks", **page, **_which_dead(asked))
    return report(
        answer, asked, lambda result: table(dead_rows(result["tasks"]), "There are no dead tasks.")
    )


def quarantine(asked: argparse.Namespace) -> Exit:
    if asked.discard is not None:
        answer = ask("POST", f"/v1/quarantine/{_name(asked.discard)}/discard")
        return report(answer, asked, lambda result: table(quarantine_rows([result]), ""))
    if asked.id is not None:
        return report(ask("GET", f"/v1/quarantine/{_name(asked.id)}"), asked, record_card)
    wanted = {"discarded": str(asked.discarded).lower(), "limit": asked.limit}
    answer = ask_for_page("/v1/quarantine", **wanted, cursor=asked.cursor)
    return report(
        answer,
        asked,
        lambda result: table(quarantine_rows(result["records"]), "The quarantine is empty."),
    )


_WITHOUT_REQUESTS: Final = {
    "parked": "No requests were refused.",
    "waiting": "No requests are waiting.",
    "discarded": "No requests were marked as handled.",
}


def enqueued(asked: argparse.Namespace) -> Exit:
    if asked.discard is not None:
        answer = ask("POST", f"/v1/enqueued/{_name(asked.discard)}/discard")
        return report(answer, asked, lambda result: table(enqueued_rows([result]), ""))
    state = "waiting" if asked.waiting else "discarded" if asked.discarded else "parked"
    page = {"limit": asked.limit, "cursor": asked.cursor}
    answer = ask_for_page("/v1/enqueued", state=state, **page)
    without = _WITHOUT_REQUESTS[state]
    return report(answer, asked, lambda result: table(enqueued_rows(result["requests"]), without))


def endpoints(asked: argparse.Namespace) -> Exit:
    if asked.enable is not None:
        answer = ask("POST", "/v1/endpoints/enable", {"url": asked.enable})
        return report(answer, asked, lambda result: f"{result['url']} is enabled again")
    answer = ask_for_page("/v1/endpoints/disabled", limit=asked.limit)
    without = "No webhook endpoint is disabled."
    return report(answer, asked, lambda result: table(endpoint_rows(result["endpoints"]), without))


def redrives(asked: argparse.Namespace) -> Exit:
    if asked.action in _VERBS:
        if asked.id is None:
            return complain(
                f"Give the job's id: taskmill redrives {asked.action} <id>.", Exit.USAGE
            )
        verb = "" if asked.action == "show" else f"/{asked.action}"
        target = f"/v1/redrives/{_name(asked.id)}{verb}"
        return report(ask(_VERBS[asked.action], target), asked, job_card)
    if asked.action == "start":
        return report(ask("POST", "/v1/redrives", _request(asked)), asked, job_card)
    answer = ask_for_page("/v1/redrives", limit=asked.limit)
    return report(
        answer,
        asked,
        lambda result: table(job_rows(result["redrives"]), "There are no redrive jobs."),
    )


def _request(asked: argparse.Namespace) -> Json:
    paced: Json = {"rate_per_second": asked.rate, "limit": asked.limit}
    return _which_dead(asked) | {name: one for name, one in paced.items() if one is not None}


def _which_dead(asked: argparse.Namespace) -> dict[str, Any]:
    wanted = {
        "type": asked.type,
        "reason": asked.reason,
        "error_class": asked.error_class,
        "dead_after": asked.after,
        "dead_before": asked.before,
    }
    return {name: one for name, one in wanted.items() if one is not None}


def _name(given: str) -> str:
    return quote(given, safe="")
