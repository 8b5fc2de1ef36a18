"""The type checker connects a worker's function to its payload type."""

import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[3]
WORKERS = """
from dataclasses import dataclass
from datetime import timedelta
from typing import TypedDict

from msgspec import Struct

from taskmill.worker import Discard, Outcome, Retry, RetryPolicy, Snooze, Succeeded, Task
from taskmill.worker import Worker, serve


@dataclass
class Letter:
    to: str


class LetterDict(TypedDict):
    to: str


class LetterStruct(Struct):
    to: str


def post(letter: Letter) -> Outcome:
    return Succeeded(letter.to) if letter.to else Retry("nobody")


def post_dict(letter: LetterDict) -> str:
    return letter["to"]


def post_struct(letter: LetterStruct) -> Discard | None:
    return None


def post_once(letter: Letter, task: Task) -> Outcome:
    task.logger.info("posting", extra={"token": task.idempotency_token})
    if task.cancelled:
        return Discard("cancelled")
    return Snooze(timedelta(minutes=1), "later") if task.attempt > 1 else Retry("now", timedelta())


async def post_soon(letter: Letter) -> str:
    return letter.to


async def post_soon_once(letter: Letter, task: Task) -> Outcome:
    return Succeeded(task.deadline.isoformat())


one: Worker[Letter] = serve(Letter, post)
two: Worker[LetterDict] = serve(LetterDict, post_dict, max_attempts=2)
three: Worker[LetterStruct] = serve(LetterStruct, post_struct, concurrency=1)
four: Worker[Letter] = serve(Letter, post_once, retry=RetryPolicy(first_seconds=2, factor=3))
five: Worker[Letter] = serve(Letter, post_soon, discard=(KeyError, ValueError))
six: Worker[Letter] = serve(Letter, post_soon_once, timeout=timedelta(seconds=5))
seven: Worker[Letter] = serve(Letter, lambda letter: letter.to)
eight: Worker[Letter] = serve(Letter, lambda letter, task: [letter.to, task.id])
"""


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", None),
        ("serve(Letter, post_struct)", "arg-type"),
        ("serve(LetterDict, post)", "arg-type"),
        ("serve(Letter, post_once, discard=KeyError)", "call-overload"),
        ("serve(Letter, lambda letter: letter.nobody)", "attr-defined"),
        ("def peek(task: Task) -> None: print(task.nothing)", "attr-defined"),
        ("Snooze(5)", "arg-type"),
        ("Retry('busy', 5)", "arg-type"),
        ("serve(Letter, post, concurrency='many')", "call-overload"),
        ("Retry()", "call-arg"),
    ],
    ids=[
        "as it should be",
        "other struct",
        "other kind",
        "no tuple",
        "no field of the payload",
        "no field of the task",
        "a number for a delay",
        "another number for a delay",
        "other setting",
        "no reason",
    ],
)
def test_a_worker_is_checked_before_it_runs(line, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    snippet = tmp_path / "workers.py"
    snippet.write_text(WORKERS + line + "\n")
    answer, errors, _ = api.run([str(snippet)])
    assert errors == ""
    assert re.findall(r"error: .*\[(.*)\]", answer) == ([complaint] if complaint else [])
