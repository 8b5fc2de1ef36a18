"""`taskmill stats`: queue depths, waits and throughput."""

from collections.abc import Mapping
from typing import Any, Final

from taskmill_local.cli.text import aligned, span

Json = Mapping[str, Any]

_STATUSES: Final = ("queued", "running", "retrying", "scheduled")
_ENDS: Final = ("succeeded", "died", "cancelled")


def stats_text(answer: Json, *, width: int | None) -> str:
    minute = ", ".join(f"{count} {word}" for word, count in answer["last_minute"].items())
    parts = [f"in the last minute: {minute}", aligned(_types(answer), width=width)]
    parts.append(aligned(_lags(answer), width=width))
    parts.append(_enqueued(answer["enqueued"]))
    if any(answer["outbox"].values()):
        parts.append(_outbox(answer["outbox"]))
    if not answer["is_complete"]:
        parts.append("The count stopped at its limit; more tasks are waiting.")
    if answer["as_of"] is not None:
        parts.append(f"ledger as of {answer['as_of']}")
    return "\n\n".join(parts)


def _enqueued(answer: Json) -> str:
    waited = span(_milliseconds(answer["oldest_wait_seconds"]))
    since = f", the oldest for {waited}" if answer["waiting"] else ""
    return f"enqueued requests: {answer['waiting']} waiting{since}; {answer['parked']} refused"


def _outbox(answer: Json) -> str:
    return f"outbox: {answer['waiting']} waiting for Kafka; {answer['parked']} refused by it"


def _types(answer: Json) -> list[tuple[str, ...]]:
    rows = [
        (
            name,
            *(str(one["depth"].get(status, 0)) for status in _STATUSES),
            str(one["in_line"]),
            span(_milliseconds(one["oldest_wait_seconds"])),
            str(sum(one["last_minute"].get(end, 0) for end in _ENDS)),
        )
        for name, one in answer["types"].items()
    ]
    head = ("TYPE", *map(str.upper, _STATUSES), "WAITING", "OLDEST WAIT", "ENDED/MIN")
    return [head, *(rows or [("no tasks", *[""] * (len(head) - 1))])]


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _lags(answer: Json) -> list[tuple[str, ...]]:
    return [("READER", "LAG"), *((name, str(lag)) for name, lag in answer["lag"].items())]
