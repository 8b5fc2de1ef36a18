"""Submits one task or a batch and returns the receipts."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, assert_never

from functions.gateway.http.answer import Told
from functions.gateway.http.counting import count_receipts, count_refusal
from functions.gateway.http.problem import (
    Problem,
    problem_of,
    too_large,
    unavailable,
    unprocessable,
)
from functions.gateway.payloads import too_many_pointers
from functions.gateway.presenter import task_as_json
from functions.gateway.stores import stores
from taskmill.core.refusal import Refusal, key_reused
from taskmill.core.task import Millis, Submission
from taskmill.platform import process
from taskmill.submission.known_keys import has_a_task
from taskmill.submission.payloads import missing_payload
from taskmill.submission.ports import Blobs
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

BATCH_TASKS = 1_000
BATCH_BYTES = 5 * 1024 * 1024


def submit_one(body: bytes, header_key: str | None) -> Told | Problem:
    submission = read_request(
        body,
        header_key,
        stores().catalogue,
        now=process.clock(),
        blobs=_bucket,
        is_known=_is_known,
    )
    return (
        problem_of(submission)
        if isinstance(submission, Refusal)
        else _tell(_submit([submission])[0])
    )


def submit_batch(body: bytes) -> Told | Problem:
    if len(body) > BATCH_BYTES:
        detail = f"the request has {len(body)} bytes; the limit is {BATCH_BYTES}"
        return too_large("request_too_large", detail)
    given = read_value(body)
    if isinstance(given, Refusal):
        return problem_of(given)
    tasks = given.get("tasks") if isinstance(given, dict) and set(given) == {"tasks"} else None
    if not isinstance(tasks, list) or not 1 <= len(tasks) <= BATCH_TASKS:
        detail = f'a batch is {{"tasks": [ … 1 to {BATCH_TASKS:,} tasks … ]}} and nothing else'
        return unprocessable("invalid_request", detail, "/tasks")
    if (too_many := too_many_pointers(tasks)) is not None:
        return too_many
    now = process.clock()
    return _tell_batch([_checked(one, now=now) for one in tasks])


def _checked(given: Any, *, now: Millis) -> Submission | Refusal:
    submission = read_submission(given, None, stores().catalogue, now=now)
    if isinstance(submission, Refusal):
        return submission
    return (
        untimely(submission, now=now, is_known=_is_known)
        or missing_payload(submission, _bucket, now=now, is_known=_is_known)
        or submission
    )


def _bucket() -> Blobs:
    return stores().blobs


def _is_known(submission: Submission) -> bool:
    return has_a_task(
        submission,
        stores().records,
        elsewhere=lambda task_id: stores().ledger_rows.fingerprint(task_id) is not None,
    )


def _submit(submissions: Sequence[Submission]) -> list[Receipt]:
    now = process.clock()
    envelopes = [as_envelope(one, now=now, entropy=process.entropy()) for one in submissions]
    receipts = Submitter(stores()).submit(envelopes)
    count_receipts(submissions, receipts)
    return receipts


def _tell(receipt: Receipt) -> Told | Problem:
    match receipt:
        case Accepted(task, is_deferred=is_deferred):
            shown = task_as_json(task) | _doubt(is_deferred=is_deferred)
            return Told(HTTPStatus.ACCEPTED, shown, f"/v1/tasks/{task.id}")
        case ReplayOf(task) as replay:
            shown = task_as_json(task) | _doubt(is_deferred=replay.is_deferred)
            return Told(HTTPStatus.OK, shown | {"replayed": True})
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


def _tell_batch(read: Sequence[Submission | Refusal]) -> Told:
    receipts = iter(_submit([one for one in read if isinstance(one, Submission)]))
    told = [problem_of(one) if isinstance(one, Refusal) else _tell(next(receipts)) for one in read]
    refused = sum(isinstance(one, Problem) for one in told)
    results = [_result(index, one) for index, one in enumerate(told)]
    body = {"results": results, "accepted": len(told) - refused, "refused": refused}
    return Told(HTTPStatus.OK, body)


def _result(index: int, told: Told | Problem) -> dict[str, Any]:
    if isinstance(told, Problem):
        count_refusal(told)
        return {"index": index, "status": int(told.status), "error": told.as_json()}
    return {"index": index, "status": int(told.status), "task": told.body}
