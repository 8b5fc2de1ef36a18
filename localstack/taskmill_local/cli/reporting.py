"""Sends one request to a running system and prints the response as text or JSON."""

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import closing
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode

from taskmill_local.cli.api import Answer, Api, Json, problem_sentence
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.printing import complain, note, print_json, print_line, seen
from taskmill_local.cli.text import aligned

_DEFAULT_PORT: Final = "8080"


class WrongUsage(Exception):
    """The arguments cannot be sent; the message says why."""


def address() -> str:
    port = os.environ.get("TASKMILL_PORT") or _DEFAULT_PORT
    return os.environ.get("TASKMILL_URL") or f"http://127.0.0.1:{port}"


def ask(method: str, target: str, body: str | Json | None = None) -> Answer:
    with closing(Api(address())) as api:
        return api.ask(method, target, body)


def ask_for_page(target: str, **parameters: object) -> Answer:
    """Request a list with the given filters."""
    query = {name: value for name, value in parameters.items() if value is not None}
    return ask("GET", f"{target}?{urlencode(query)}" if query else target)


def report(answer: Answer, options: argparse.Namespace, show: Callable[[Json], str]) -> Exit:
    """Print the response; *show* gets texts that are one harmless line each."""
    if answer.is_refusal:
        return refused(answer)
    if options.json:
        print_json(answer.body)
    elif text := show(seen(answer.body)):
        print_line(text)
    if not options.json:
        _point_on(answer.body)
    return Exit.DONE


def refused(answer: Answer) -> Exit:
    sentence = problem_sentence(answer)
    if answer.status == HTTPStatus.NOT_FOUND:
        return complain(sentence, Exit.OTHERWISE)
    is_theirs = answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
    is_theirs = is_theirs and answer.status != HTTPStatus.TOO_MANY_REQUESTS
    return complain(sentence, Exit.USAGE if is_theirs else Exit.UNAVAILABLE)


def table(rows: list[tuple[str, ...]], without: str) -> str:
    """Align the rows below their header; show *without* when there are none."""
    if len(rows) > 1:
        return aligned(rows, width=width())
    note(without)
    return ""


def width() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def pairs(texts: list[str]) -> dict[str, str]:
    return dict(map(_pair, texts))


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not key or not sign:
        raise WrongUsage(f"--meta takes KEY=VALUE, not {text!r}.")
    return key, value


def _point_on(page: Json) -> None:
    if cursor := page.get("next_cursor"):
        note(f"For more, repeat the command with --cursor {cursor}")
