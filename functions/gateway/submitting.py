"""Submits one task or a batch and returns the receipts."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, assert_never

from functions.gateway.http.problem import (
    Problem,
    problem_of,
    too_large,
    unavailable,
    unprocessable,
)
from functions.gateway.http.routes import ApiRequest, Routes, Success, count_refusal
from functions.gateway.payloads import too_many_pointers
from functions.gateway.presenter import task_as_json
from taskmill.core.counting import Count
from taskmill.core.refusal import Refusal, key_reused
from taskmill.core.task import Millis, Submission
from taskmill.platform import process
from taskmill.stores.stores import Stores
from taskmill.submission.known_keys import has_a_task
from taskmill.submission.payloads import missing_payload
from taskmill.submission.read import read_request, read_submission, read_value, untimely
from taskmill.submission.submission import (
    Accepted,
    KeyReused,
    NotConfirmed,
    NotTaken,
    Receipt,
    ReplayOf,
    Unreadable,
    as_envelope,
)
from taskmill.submission.submit import Submitter

routes = Routes()

BATCH_TASKS = 1_000
BATCH_BYTES = 5 * 1024 * 1024


ANSWERS: Final[Mapping[type[Receipt], str]] = {
    Accepted: "created",
    ReplayOf: "replayed",
    KeyReused: "conflict",
    NotTaken: "unavailable",
    NotConfirmed: "unconfirmed",
    Unreadable: "unreadable",
}
"""What is counted of each receipt."""


@routes.post("/v1/tasks", takes_json=True)
def submit_one(request: ApiRequest) -> Success | Problem:
    stores = request.stores
    submission = read_request(
        request.body,
        request.headers.get("idempotency-key"),
        stores.catalogue,
        now=stores.clock(),
        blobs=lambda: stores.blobs,
        is_known=_known_to(stores),
    )
    if isinstance(submission, Refusal):
        return problem_of(submission)
    (receipt,) = _submit(stores, {0: submission})
    return _answer(receipt)


@routes.post("/v1/tasks/batch", takes_json=True)
def submit_batch(request: ApiRequest) -> Success | Problem:
    body = request.body
    if "idempotency-key" in request.headers:
        # If it were ignored, a client would believe that a repeated batch creates no second
        # tasks.
        detail = "a batch has no key of its own: give each of its tasks an idempotency_key"
        return unprocessable("invalid_request", detail, "/tasks")
    if len(body) > BATCH_BYTES:
        detail = f"the request has {len(body)} bytes; the limit is {BATCH_BYTES}"
        return too_large("request_too_large", detail)
    value = read_value(body)
    if isinstance(value, Refusal):
        return problem_of(value)
    tasks = value.get("tasks") if isinstance(value, dict) and set(value) == {"tasks"} else None
    if not isinstance(tasks, list) or not 1 <= len(tasks) <= BATCH_TASKS:
        detail = f'a batch must be {{"tasks": [ … 1 to {BATCH_TASKS:,} tasks … ]}} and nothing else'
        return unprocessable("invalid_request", detail, "/tasks")
    if (too_many := too_many_pointers(tasks)) is not None:
        return too_many
    now = request.stores.clock()
    return _answer_batch(request.stores, [_checked(request.stores, one, now=now) for one in tasks])


def _checked(stores: Stores, value: Any, *, now: Millis) -> Submission | Refusal:
    submission = read_submission(value, None, stores.catalogue, now=now)
    if isinstance(submission, Refusal):
        return submission
    is_known = _known_to(stores)
    return (
        untimely(submission, now=now, is_known=is_known)
        or missing_payload(submission, lambda: stores.blobs, now=now, is_known=is_known)
        or submission
    )


def _known_to(stores: Stores) -> Callable[[Submission], bool]:
    return lambda submission: has_a_task(
        submission,
        stores.records,
        elsewhere=lambda task_id: stores.ledger_rows.fingerprint(task_id) is not None,
    )


def _submit(stores: Stores, submissions: Mapping[int, Submission]) -> list[Receipt]:
    """Submit the items at these places of the request."""
    now = stores.clock()
    envelopes = [
        as_envelope(one, now=now, entropy=process.entropy(), index=index)
        for index, one in submissions.items()
    ]
    receipts = Submitter(stores).submit(envelopes)
    for submission, receipt in zip(submissions.values(), receipts, strict=True):
        stores.counters.count(Count.SUBMISSIONS, type=submission.type, answer=_counted(receipt))
    return receipts


def _counted(receipt: Receipt) -> str:
    if isinstance(receipt, Accepted):
        return "spilled" if receipt.is_spilled else "deferred" if receipt.is_deferred else "created"
    return ANSWERS[type(receipt)]


def _answer(receipt: Receipt) -> Success | Problem:
    match receipt:
        case Accepted(task, is_deferred=is_deferred):
            view = task_as_json(task) | _doubt(is_deferred=is_deferred)
            return Success(HTTPStatus.ACCEPTED, view, f"/v1/tasks/{task.id}")
        case ReplayOf(task) as replay:
            view = task_as_json(task) | _doubt(is_deferred=replay.is_deferred)
            return Success(HTTPStatus.OK, view | {"replayed": True})
        case KeyReused(task_id):
            return problem_of(key_reused(task_id))
        case NotTaken():
            detail = "neither Kafka nor the outbox is available; nothing was accepted"
            return unavailable(detail, 2)
        case NotConfirmed():
            return unavailable("the request may have been accepted; repeat it with the same key", 1)
        case Unreadable():
            detail = "the task of the same earlier request cannot be read now; repeat the request"
            return unavailable(detail, 1)
        case _:
            assert_never(receipt)


def _doubt(*, is_deferred: bool) -> dict[str, str]:
    return {"dedupe": "deferred"} if is_deferred else {}


def _answer_batch(stores: Stores, entries: Sequence[Submission | Refusal]) -> Success:
    sound = {index: one for index, one in enumerate(entries) if isinstance(one, Submission)}
    receipts = iter(_submit(stores, sound))
    answers = [
        problem_of(one) if isinstance(one, Refusal) else _answer(next(receipts)) for one in entries
    ]
    refusals = sum(isinstance(one, Problem) for one in answers)
    results = [_result(index, one) for index, one in enumerate(answers)]
    body = {"results": results, "accepted": len(answers) - refusals, "refused": refusals}
    return Success(HTTPStatus.OK, body)


def _result(index: int, answer: Success | Problem) -> dict[str, Any]:
    if isinstance(answer, Problem):
        count_refusal(answer)
        return {"index": index, "status": int(answer.status), "error": answer.as_json()}
    return {"index": index, "status": int(answer.status), "task": answer.body}
