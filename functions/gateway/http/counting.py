"""Counts what the gateway answers."""

from collections.abc import Mapping, Sequence
from typing import Final

from functions.gateway.http.problem import Problem
from taskmill.core.counting import Count
from taskmill.core.task import Submission
from taskmill.platform import process
from taskmill.submission.submission import (
    Accepted,
    KeyReused,
    NotConfirmed,
    NotTaken,
    Receipt,
    ReplayOf,
    Unreadable,
)

ANSWERS: Final[Mapping[type[Receipt], str]] = {
    Accepted: "created",
    ReplayOf: "replayed",
    KeyReused: "conflict",
    NotTaken: "unavailable",
    NotConfirmed: "unconfirmed",
    Unreadable: "unreadable",
}


def count_receipts(submissions: Sequence[Submission], receipts: Sequence[Receipt]) -> None:
    counters = process.counters()
    for submission, receipt in zip(submissions, receipts, strict=True):
        counters.count(Count.SUBMISSIONS, type=submission.type, answer=_answer(receipt))


def _answer(receipt: Receipt) -> str:
    if isinstance(receipt, Accepted):
        return "spilled" if receipt.is_spilled else "deferred" if receipt.is_deferred else "created"
    return ANSWERS[type(receipt)]


def count_refusal(problem: Problem) -> None:
    process.counters().count(Count.REFUSALS, reason=problem.type)
