"""Commands that submit and read tasks: submit, status, list, types."""

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
from taskmill_local.cli.text import FINAL, task_card, task_rows, type_card

_LEAST_WAIT_SECONDS: Final = 0.05


def submit(asked: argparse.Namespace) -> Exit:
    api = Api(address())
    try:
        answer = _submitted(api, asked)
    except WrongUsage as wrong:
        return complain(str(wrong), Exit.USAGE)
    if answer.is_refusal:
        return refused(answer)
    result = dict(answer.body)
    if asked.wait:
        found = _awaited(api, result["id"], asked.wait)
        if found.is_refusal:
            return refused(found)
        result |= found.body
    report(Answer(HTTPStatus.OK, result), asked, task_card)
    if result.get("replayed") and not asked.json:
        note("This key was used before; this is the existing task.")
    return _verdict(result, was_awaited=bool(asked.wait))


def status(asked: argparse.Namespace) -> Exit:
    api = Api(address())
    if (asked.type is None) != (asked.key is None) or (asked.key is not None and asked.id):
        sentence = "Give the task's id, or both --type and --key."
        return complain(sentence, Exit.USAGE)
    if asked.key is not None:
        return _status_of_key(api, asked)
    if asked.id is None:
        return report(api.platform(), asked, lambda page: overview(page, width=width()))
    return _status_of(api, asked.id, asked)


def _status_of_key(api: Api, asked: argparse.Namespace) -> Exit:
    found = api.tasks({"type": asked.type, "idempotency_key": asked.key})
    if found.is_refusal:
        return refused(found)
    if not found.body["tasks"]:
        return complain(f"no {asked.type} task has the key {asked.key!r}", Exit.OTHERWISE)
    return _status_of(api, found.body["tasks"][0]["id"], asked)


def _status_of(api: Api, task_id: str, asked: argparse.Namespace) -> Exit:
    answer = _awaited(api, task_id, asked.wait) if asked.wait else api.task(task_id)
    if asked.payload and not answer.is_refusal:
        answer = api.task(task_id, include="payload")
    if answer.is_refusal:
        return refused(answer)
    report(answer, asked, task_card)
    return _verdict(answer.body, was_awaited=bool(asked.wait))


def list_tasks(asked: argparse.Namespace) -> Exit:
    try:
        metadata = {f"metadata.{name}": value for name, value in pairs(asked.meta).items()}
    except WrongUsage as wrong:
        return complain(str(wrong), Exit.USAGE)
    answer = ask_for_page(
        "/v1/tasks",
        type=asked.type,
        status=asked.status,
        created_after=asked.after,
        created_before=asked.before,
        reason=asked.reason,
        error_class=asked.error_class,
        dead_after=asked.dead_after,
        dead_before=asked.dead_before,
        limit=asked.limit,
        cursor=asked.cursor,
        **metadata,
    )
    without = "No task in the ledger matches; the ledger may lag by a second."
    return report(answer, asked, lambda page: table(task_rows(page["tasks"]), without))


def show_stats(asked: argparse.Namespace) -> Exit:
    return report(Api(address()).stats(), asked, lambda result: stats_text(result, width=width()))


def list_types(asked: argparse.Namespace) -> Exit:
    return report(
        Api(address()).types(), asked, lambda result: "\n".join(map(type_card, result["types"]))
    )


def get(asked: argparse.Namespace) -> Exit:
    """Print the response of any path of the API."""
    answer = ask("GET", f"/{asked.path.removeprefix('/')}")
    if answer.is_refusal:
        return refused(answer)
    print_line(json.dumps(answer.body, indent=2))
    return Exit.DONE


def _submitted(api: Api, asked: argparse.Namespace) -> Answer:
    """Send the request; a payload too large for it is uploaded first."""
    fields, payload = _fields(asked), payload_of(asked)
    if not is_large(payload):
        return api.submit(with_payload(fields, payload))
    offer = uploaded(api, asked.type, payload)
    if offer.answer.is_refusal:
        return offer.answer
    return api.submit(fields | {"payload_ref": offer.pointer})


def _fields(asked: argparse.Namespace) -> Json:
    fields: dict[str, Any] = {
        "type": asked.type,
        "idempotency_key": asked.key,
        "max_attempts": asked.max_attempts,
        "timeout_seconds": asked.timeout,
        "retry": asked.retry,
        "delay_seconds": asked.delay,
        "run_at": asked.run_at,
        "expires_at": asked.expires_at,
        "metadata": pairs(asked.meta) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _awaited(api: Api, task_id: str, seconds: float) -> Answer:
    """Wait longer than one request can, by repeating it until the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        left = min(max(deadline - time.monotonic(), _LEAST_WAIT_SECONDS), LONGEST_WAIT_SECONDS)
        answer = api.task(task_id, wait=f"{left:.2f}")
        is_over = time.monotonic() >= deadline or answer.is_refusal
        if is_over or answer.body["status"] in FINAL:
            return answer


def _verdict(task: Mapping[str, Any], *, was_awaited: bool) -> Exit:
    if task["status"] == "succeeded" or not (was_awaited or task["status"] in FINAL):
        return Exit.DONE
    return Exit.OTHERWISE
