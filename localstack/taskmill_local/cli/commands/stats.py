"""`taskmill stats`: queue depths, waits and throughput."""

from collections.abc import Mapping
from typing import Any, Final

from taskmill_local.cli.text import aligned, span

Json = Mapping[str, Any]

_STATUSES: Final = ("queued", "running", "retrying", "scheduled")
_ENDS: Final = ("succeeded", "died", "cancelled")


def stats_text(statistics: Json, *, width: int | None) -> str:
    minute = ", ".join(f"{count} {word}" for word, count in statistics["last_minute"].items())
    parts = [f"in the last minute: {minute}", aligned(_types(statistics), width=width)]
    parts.append(aligned(_lags(statistics), width=width))
    parts.append(_enqueued(statistics["enqueued"]))
    if any(statistics["outbox"].values()):
        parts.append(_outbox(statistics["outbox"]))
    if not statistics["is_complete"]:
        parts.append("The count stopped at its limit; more tasks are waiting.")
    if statistics["as_of"] is not None:
        parts.append(f"ledger as of {statistics['as_of']}")
    return "\n\n".join(parts)


def _enqueued(backlog: Json) -> str:
    wait = span(_milliseconds(backlog["oldest_wait_seconds"]))
    since = f", the oldest for {wait}" if backlog["waiting"] else ""
    return f"enqueued requests: {backlog['waiting']} waiting{since}; {backlog['parked']} refused"


def _outbox(outbox: Json) -> str:
    return f"outbox: {outbox['waiting']} waiting for Kafka; {outbox['parked']} refused by it"


def _types(statistics: Json) -> list[tuple[str, ...]]:
    rows = [
        (
            name,
            *(str(one["depth"].get(status, 0)) for status in _STATUSES),
            str(one["in_line"]),
            span(_milliseconds(one["oldest_wait_seconds"])),
            str(sum(one["last_minute"].get(end, 0) for end in _ENDS)),
        )
        for name, one in statistics["types"].items()
    ]
    head = ("TYPE", *map(str.upper, _STATUSES), "WAITING", "OLDEST WAIT", "ENDED/MIN")
    return [head, *(rows or [("no tasks", *[""] * (len(head) - 1))])]


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _lags(statistics: Json) -> list[tuple[str, ...]]:
    return [("READER", "LAG"), *((name, str(lag)) for name, lag in statistics["lag"].items())]
