"""Interprets a function's response to its batch."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from taskmill_local.lambdas.answer import Answer, Failed, Responded
from taskmill_local.mappings.event import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Everything from the named offset of a partition onward is retried; the rest is done.

    AWS does not document whether records after a failed one are retried. Here they are, which keeps
    the order within a partition.
    """

    again_from: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None


class _Malformed(Exception):
    """The response is not a valid partial batch response."""


def verdict_on(batch: Mapping[str, Sequence[Record]], answer: Answer) -> Verdict:
    match answer:
        case Failed(failure, body):
            return _nothing_done(batch, f"{failure.value}: {_decoded(body)}")
        case Responded(body):
            try:
                return _partial(batch, body)
            except _Malformed as error:
                return _nothing_done(batch, str(error))
        case _:
            assert_never(answer)


def _nothing_done(batch: Mapping[str, Sequence[Record]], reason: str) -> Verdict:
    return Verdict(
        again_from={name: records[0].offset for name, records in batch.items()}, reason=reason
    )


def _partial(batch: Mapping[str, Sequence[Record]], body: bytes) -> Verdict:
    offsets = {name: {record.offset for record in records} for name, records in batch.items()}
    again: dict[str, int] = {}
    count = 0
    for name, offset in _failures(body):
        if offset not in offsets.get(name, ()):
            raise _Malformed(f"batchItemFailures names {name} offset {offset}: not in the batch")
        again[name] = min(offset, again.get(name, offset))
        count += 1
    reason = f"the function reported {count} of the batch's records as failed" if count else None
    return Verdict(again_from=again, reason=reason)


def _failures(body: bytes) -> Iterator[tuple[str, int]]:
    response = _parsed(body)
    failures = response.get("batchItemFailures")
    if failures is None:
        return
    if not isinstance(failures, list):
        raise _Malformed("batchItemFailures is not a list")
    for failure in failures:
        match failure:
            case {"itemIdentifier": {"partition": str(name), "offset": int(offset)}} if (
                not isinstance(offset, bool)
            ):
                yield name, offset
            case _:
                raise _Malformed(
                    "an entry of batchItemFailures is not "
                    '{"itemIdentifier": {"partition": "<topic>-<n>", "offset": <number>}}'
                )


def _parsed(body: bytes) -> Mapping[str, Any]:
    try:
        response = json.loads(body or b"null")
    except ValueError:
        raise _Malformed("the response is not JSON") from None
    if response is None:
        return {}
    if not isinstance(response, dict):
        raise _Malformed("the response is not an object with batchItemFailures")
    return response


def _decoded(body: bytes) -> str:
    """Return the error in one line, as far as the body contains it."""
    try:
        error = json.loads(body)
    except ValueError:
        return "the function gave no reason"
    match error:
        case {"errorType": kind, "errorMessage": message}:
            return f"{kind}: {message}"
        case {"errorMessage": message}:
            return str(message)
        case _:
            return "the function gave no reason"
