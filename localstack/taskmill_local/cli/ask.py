"""The commands that ask a running system: submit, status, list, types."""

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from taskmill_local.cli.api import LONGEST_WAIT_SECONDS, Answer, Api, Json, problem_sentence
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.overview import overview
from taskmill_local.cli.stats import stats_text
from taskmill_local.cli.text import FINAL, aligned, task_card, task_rows, type_card

_DEFAULT_PORT: Final = "8080"
_LEAST_WAIT_SECONDS: Final = 0.05


class WrongUsage(Exception):
    """What was typed cannot be sent; the message says why."""


def submit(asked: argparse.Namespace) -> Exit:
    try:
        body = _submission(asked)
    except WrongUsage as wrong:
        return complain(str(wrong), Exit.USAGE)
    api = Api(address())
    answer = api.submit(body)
    if answer.is_refusal:
        return refused(answer)
    told = dict(answer.body)
    if asked.wait:
        found = _awaited(api, told["id"], asked.wait)
        if found.is_refusal:
            return refused(found)
        told |= found.body
    _tell(told, as_json=asked.json)
    if told.get("replayed") and not asked.json:
        sys.stderr.write("This key was used before: it is the same task, and nothing is new.\n")
    return _verdict(told, was_awaited=bool(asked.wait))


def status(asked: argparse.Namespace) -> Exit:
    api = Api(address())
    if (asked.type is None) != (asked.key is None) or (asked.key is not None and asked.id):
        sentence = "Name the task by its id, or by --type and --key together."
        return complain(sentence, Exit.USAGE)
    if asked.key is not None:
        return _status_of_key(api, asked)
    if asked.id is None:
        return _show_platform(api, as_json=asked.json)
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
    _tell(answer.body, as_json=asked.json)
    return _verdict(answer.body, was_awaited=bool(asked.wait))


def _show_platform(api: Api, *, as_json: bool) -> Exit:
    answer = api.platform()
    if answer.is_refusal:
        return refused(answer)
    print_line(json.dumps(answer.body) if as_json else overview(answer.body, width=width()))
    return Exit.DONE


def list_tasks(asked: argparse.Namespace) -> Exit:
    wanted = {"type": asked.type, "status": asked.status, "limit": str(asked.limit)}
    answer = Api(address()).tasks({name: value for name, value in wanted.items() if value})
    if answer.is_refusal:
        return refused(answer)
    if asked.json:
        print_line(json.dumps(answer.body))
    elif answer.body["tasks"]:
        print_line(aligned(task_rows(answer.body["tasks"]), width=width()))
        if answer.body.get("next_cursor"):
            sys.stderr.write("There are more; --limit shows up to 200.\n")
    else:
        sys.stderr.write("No such task is in the ledger, which may be a second behind.\n")
    return Exit.DONE


def show_stats(asked: argparse.Namespace) -> Exit:
    answer = Api(address()).stats()
    if answer.is_refusal:
        return refused(answer)
    print_line(json.dumps(answer.body) if asked.json else stats_text(answer.body, width=width()))
    return Exit.DONE


def list_types(asked: argparse.Namespace) -> Exit:
    answer = Api(address()).types()
    if answer.is_refusal:
        return refused(answer)
    if asked.json:
        print_line(json.dumps(answer.body))
        return Exit.DONE
    for entry in answer.body["types"]:
        print_line(type_card(entry))
    return Exit.DONE


def address() -> str:
    port = os.environ.get("TASKMILL_PORT") or _DEFAULT_PORT
    return os.environ.get("TASKMILL_URL") or f"http://127.0.0.1:{port}"


def _submission(asked: argparse.Namespace) -> str:
    """Write the request; the payload's own text goes out as it was typed."""
    fields: dict[str, Any] = {
        "type": asked.type,
        "idempotency_key": asked.key,
        "max_attempts": asked.max_attempts,
        "timeout_seconds": asked.timeout,
        "delay_seconds": asked.delay,
        "run_at": asked.run_at,
        "expires_at": asked.expires_at,
        "metadata": dict(pair(text) for text in asked.meta) or None,
    }
    told = {name: value for name, value in fields.items() if value is not None}
    return with_payload(told, payload_of(asked))


def with_payload(fields: Json, payload: str) -> str:
    return f'{json.dumps(fields)[:-1]}, "payload": {payload}}}'


def payload_of(asked: argparse.Namespace) -> str:
    if asked.file is not None and asked.payload is not None:
        raise WrongUsage("Give the payload either as an argument or with --file, not both.")
    try:
        text = _read(asked.file) if asked.file is not None else asked.payload or "{}"
        json.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUsage(f"The payload cannot be read: {error}.") from error
    except (ValueError, RecursionError) as error:
        hint = 'Quote it for the shell, such as \'{"say": "hello"}\'.'
        raise WrongUsage(f"The payload is not JSON: {error}. {hint}") from error
    return str(text)


def _read(path: str) -> str:
    return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")


def pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not key or not sign:
        raise WrongUsage(f"--meta takes KEY=VALUE, not {text!r}.")
    return key, value


def _awaited(api: Api, task_id: str, seconds: float) -> Answer:
    """Wait longer than one request may: ask again until the time is over."""
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


def refused(answer: Answer) -> Exit:
    if answer.status == HTTPStatus.NOT_FOUND:
        return complain(problem_sentence(answer), Exit.OTHERWISE)
    is_theirs = answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
    is_theirs = is_theirs and answer.status != HTTPStatus.TOO_MANY_REQUESTS
    return complain(problem_sentence(answer), Exit.USAGE if is_theirs else Exit.UNAVAILABLE)


def complain(sentence: str, code: Exit) -> Exit:
    sys.stderr.write(f"taskmill: {sentence}\n")
    return code


def _tell(task: Json, *, as_json: bool) -> None:
    print_line(json.dumps(task) if as_json else task_card(task))


def print_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def width() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
