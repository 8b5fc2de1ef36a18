"""`taskmill stats`: queue depths, waits and throughput."""

from collections.abc import Mapping
from typing import Any, Final

from taskmill_local.cli.text import aligned, span

Json = Mapping[str, Any]

_STATUSES: Final = ("queued", "running", "retrying", "scheduled")
_ENDS: Final = ("succeeded", "died", "cancelled")


def stats_text(told: Json, *, width: int | None) -> str:
    minute = ", ".join(f"{count} {word}" for word, count in told["last_minute"].items())
    parts = [f"in the last minute: {minute}", aligned(_types(told), width=width)]
    parts.append(aligned(_lags(told), width=width))
    parts.append(_enqueued(told["enqueued"]))
    if any(told["outbox"].values()):
        parts.append(_outbox(told["outbox"]))
    if not told["is_complete"]:
        parts.append("The count stopped at its limit; more tasks are waiting.")
    if told["as_of"] is not None:
        parts.append(f"ledger as of {told['as_of']}")
    return "\n\n".join(parts)


def _enqueued(told: Json) -> str:
    waited = span(_milliseconds(told["oldest_wait_seconds"]))
    since = f", the oldest for {waited}" if told["waiting"] else ""
    return f"enqueued requests: {told['waiting']} waiting{since}; {told['parked']} refused"


def _outbox(told: Json) -> str:
    return f"outbox: {told['waiting']} waiting for Kafka; {told['parked']} refused by it"


def _types(told: Json) -> list[tuple[str, ...]]:
    rows = [
        (
            name,
            *(str(one["depth"].get(status, 0)) for status in _STATUSES),
            str(one["in_line"]),
            span(_milliseconds(one["oldest_wait_seconds"])),
            str(sum(one["last_minute"].get(end, 0) for end in _ENDS)),
        )
        for name, one in told["types"].items()
    ]
    head = ("TYPE", *map(str.upper, _STATUSES), "WAITING", "OLDEST WAIT", "ENDED/MIN")
    return [head, *(rows or [("no tasks", *[""] * (len(head) - 1))])]


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _lags(told: Json) -> list[tuple[str, ...]]:
    return [("READER", "LAG"), *((name, str(lag)) for name, lag in told["lag"].items())]
