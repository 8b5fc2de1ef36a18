"""Commands that submit and read tasks: submit, status, list."""

import argparse
import json
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from taskmill_local.cli.api import LONGEST_WAIT_SECONDS, Answer, Api, Json
from taskmill_local.cli.commands.overview import overview
from taskmill_local.cli.commands.payloads import is_large, payload_of, uploaded, with_payload
from taskmill_local.cli.commands.stats import stats_text
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.printing import complain, note, print_line
from taskmill_local.cli.reporting import (
    WrongUsage,
    address,
    ask,
    ask_for_page,
    pairs,
    refused,
    report,
    table,
    width,
)
from taskmill_local.cli.text import FINAL, task_card, task_rows

_LEAST_WAIT_SECONDS: Final = 0.05


def submit(options: argparse.Namespace) -> Exit:
    api = Api(address())
    try:
        answer = _submitted(api, options)
    except WrongUsage as wrong:
        return complain(str(wrong), Exit.USAGE)
    if answer.is_refusal:
        return refused(answer)
    task = dict(answer.body)
    if options.wait:
        latest = _awaited(api, task["id"], options.wait)
        if latest.is_refusal:
            return refused(latest)
        task |= latest.body
    report(Answer(HTTPStatus.OK, task), options, task_card)
    if task.get("replayed") and not options.json:
        note("This key was used before; this is the existing task.")
    return _verdict(task, was_awaited=bool(options.wait))


def status(options: argparse.Namespace) -> Exit:
    api = Api(address())
    if (options.type is None) != (options.key is None) or (options.key is not None and options.id):
        sentence = "Give the task's id, or both --type and --key."
        return complain(sentence, Exit.USAGE)
    if options.key is not None:
        return _status_of_key(api, options)
    if options.id is None:
        return report(api.platform(), options, lambda page: overview(page, width=width()))
    return _status_of(api, options.id, options)


def _status_of_key(api: Api, options: argparse.Namespace) -> Exit:
    answer = api.tasks({"type": options.type, "idempotency_key": options.key})
    if answer.is_refusal:
        return refused(answer)
    if not answer.body["tasks"]:
        return complain(f"no {options.type} task has the key {options.key!r}", Exit.OTHERWISE)
    return _status_of(api, answer.body["tasks"][0]["id"], options)


def _status_of(api: Api, task_id: str, options: argparse.Namespace) -> Exit:
    answer = _awaited(api, task_id, options.wait) if options.wait else api.task(task_id)
    if options.payload and not answer.is_refusal:
        answer = api.task(task_id, include="payload")
    if answer.is_refusal:
        return refused(answer)
    report(answer, options, task_card)
    return _verdict(answer.body, was_awaited=bool(options.wait))


def list_tasks(options: argparse.Namespace) -> Exit:
    try:
        metadata = {f"metadata.{name}": value for name, value in pairs(options.meta).items()}
    except WrongUsage as wrong:
        return complain(str(wrong), Exit.USAGE)
    answer = ask_for_page(
        "/v1/tasks",
        type=options.type,
        status=options.status,
        created_after=options.after,
        created_before=options.before,
        reason=options.reason,
        error_class=options.error_class,
        dead_after=options.dead_after,
        dead_before=options.dead_before,
        limit=options.limit,
        cursor=options.cursor,
        **metadata,
    )
    without = "No task in the ledger matches; the ledger may lag by a second."
    return report(answer, options, lambda page: table(task_rows(page["tasks"]), without))


def show_stats(options: argparse.Namespace) -> Exit:
    return report(Api(address()).stats(), options, lambda body: stats_text(body, width=width()))


def get(options: argparse.Namespace) -> Exit:
    """Print the response of any path of the API."""
    answer = ask("GET", f"/{options.path.removeprefix('/')}")
    if answer.is_refusal:
        return refused(answer)
    print_line(json.dumps(answer.body, indent=2))
    return Exit.DONE


def _submitted(api: Api, options: argparse.Namespace) -> Answer:
    """Send the request; a payload too large for it is uploaded first."""
    fields, payload = _fields(options), payload_of(options)
    if not is_large(payload):
        return api.submit(with_payload(fields, payload))
    offer = uploaded(api, options.type, payload)
    if offer.answer.is_refusal:
        return offer.answer
    return api.submit(fields | {"payload_ref": offer.pointer})


def _fields(options: argparse.Namespace) -> Json:
    fields: dict[str, Any] = {
        "type": options.type,
        "idempotency_key": options.key,
        "max_attempts": options.max_attempts,
        "timeout_seconds": options.timeout,
        "retry": options.retry,
        "delay_seconds": options.delay,
        "run_at": options.run_at,
        "expires_at": options.expires_at,
        "metadata": pairs(options.meta) or None,
        "priority": options.priority,
        "fairness_key": options.fairness_key,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _awaited(api: Api, task_id: str, seconds: float) -> Answer:
    """Wait longer than one request can, by repeating it until the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        rest = min(max(deadline - time.monotonic(), _LEAST_WAIT_SECONDS), LONGEST_WAIT_SECONDS)
        answer = api.task(task_id, wait=f"{rest:.2f}")
        is_over = time.monotonic() >= deadline or answer.is_refusal
        if is_over or answer.body["status"] in FINAL:
            return answer


def _verdict(task: Mapping[str, Any], *, was_awaited: bool) -> Exit:
    if task["status"] == "succeeded" or not (was_awaited or task["status"] in FINAL):
        return Exit.DONE
    return Exit.OTHERWISE
