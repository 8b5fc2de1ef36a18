"""`taskmill batch`: submits many tasks from a file with one JSON task per line."""

import argparse
import json
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from typing import Any, Final

from taskmill_local.cli.api import Answer, Api, Json, problem_sentence
from taskmill_local.cli.commands.payloads import read
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.printing import complain, note
from taskmill_local.cli.reporting import WrongUsage, address, refused, report, table

_MOST_AT_ONCE: Final = 1_000
_MOST_BYTES: Final = 4_000_000  # a request takes 6 MB, and its event is larger than its body


def submit_batch(options: argparse.Namespace) -> Exit:
    try:
        tasks = _tasks(read(options.file))
    except WrongUsage as wrong:
        return complain(str(wrong), Exit.USAGE)
    total: Json = {"results": [], "accepted": 0, "refused": 0}
    with closing(Api(address())) as api:
        for part in _parts(tasks):
            answer = api.ask("POST", "/v1/tasks/batch", f'{{"tasks": [{", ".join(part)}]}}')
            if answer.is_refusal:
                _confess(total)
                return refused(answer)
            _add(total, answer.body)
    report(Answer(HTTPStatus.OK, total), options, lambda all_: table(_rows(all_["results"]), ""))
    note(f"{total['accepted']} accepted, {total['refused']} refused")
    return Exit.USAGE if total["refused"] else Exit.DONE


def _tasks(text: str) -> list[str]:
    """Return the text of each task unchanged, so that numbers keep their form."""
    tasks = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(tasks, start=1):
        try:
            is_task = isinstance(json.loads(line), dict)
        except (ValueError, RecursionError) as error:
            raise WrongUsage(f"Task {number} of the file is not JSON: {error}.") from error
        if not is_task:
            hint = 'such as {"type": "echo", "payload": {"say": 1}}'
            raise WrongUsage(f"Task {number} of the file is not a JSON object, {hint}.")
    if not tasks:
        raise WrongUsage("The file contains no task; it takes one JSON object per line.")
    return tasks


def _parts(tasks: list[str]) -> Iterator[list[str]]:
    """Split the tasks into requests that the API accepts."""
    part: list[str] = []
    size = 0
    for task in tasks:
        octets = len(task.encode())
        if part and (len(part) == _MOST_AT_ONCE or size + octets > _MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(task)
        size += octets
    yield part


def _add(total: Json, answer: Json) -> None:
    before = len(total["results"])
    total["results"] += [one | {"index": one["index"] + before} for one in answer["results"]]
    for figure in ("accepted", "refused"):
        total[figure] += answer[figure]


def _confess(total: Json) -> None:
    """Report what was done before a request failed: repeating it without keys duplicates it."""
    if total["accepted"]:
        note(f"{total['accepted']} tasks of the first {len(total['results'])} lines were accepted.")


def _rows(results: list[Any]) -> list[tuple[str, ...]]:
    return [("LINE", "ID", "STATUS"), *map(_row, results)]


def _row(one: Json) -> tuple[str, ...]:
    number = str(one["index"] + 1)
    if "task" in one:
        return number, one["task"]["id"], one["task"]["status"]
    return number, "-", problem_sentence(Answer(one["status"], one["error"]))
