"""Counts what the gateway answers."""

from collections.abc import Mapping, Sequence
from typing import Final

from functions.gateway.problem import Problem
from taskmill import bootstrap
from taskmill.domain.counting import Count
from taskmill.domain.submission import (
    Accepted,
    KeyReused,
    NotConfirmed,
    Receipt,
    ReplayOf,
    Submission,
    Unreadable,
)

ANSWERS: Final[Mapping[type[Receipt], str]] = {
    Accepted: "created",
    ReplayOf: "replayed",
    KeyReused: "conflict",
    NotConfirmed: "unconfirmed",
    Unreadable: "unreadable",
}


def count_receipts(submissions: Sequence[Submission], receipts: Sequence[Receipt]) -> None:
    counters = bootstrap.counters()
    for submission, receipt in zip(submissions, receipts, strict=True):
        is_deferred = isinstance(receipt, Accepted) and receipt.is_deferred
        answer = "deferred" if is_deferred else ANSWERS[type(receipt)]
        counters.count(Count.SUBMISSIONS, type=submission.type, answer=answer)


def count_refusal(problem: Problem) -> None:
    bootstrap.counters().count(Count.REFUSALS, reason=problem.type)
