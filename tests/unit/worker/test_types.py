"""The type checker ties a worker's function to its payload type."""

import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[3]
WORKERS = """
from dataclasses import dataclass
from typing import TypedDict

from msgspec import Struct

from taskmill.worker import Discard, Outcome, Retry, Succeeded, Worker, serve


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


one: Worker[Letter] = serve(Letter, post)
two: Worker[LetterDict] = serve(LetterDict, post_dict, max_attempts=2)
three: Worker[LetterStruct] = serve(LetterStruct, post_struct, concurrency=1)
"""


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", None),
        ("serve(Letter, post_struct)", "arg-type"),
        ("serve(LetterDict, post)", "arg-type"),
        ("serve(Letter, post, concurrency='many')", "arg-type"),
        ("Retry()", "call-arg"),
    ],
    ids=["as it should be", "other struct", "other kind", "other setting", "no reason"],
)
def test_a_worker_is_checked_before_it_runs(line, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    snippet = tmp_path / "workers.py"
    snippet.write_text(WORKERS + line + "\n")
    told, errors, _ = api.run([str(snippet)])
    assert errors == ""
    assert re.findall(r"error: .*\[(.*)\]", told) == ([complaint] if complaint else [])
