"""`taskmill stats`: queue depths, waits and throughput."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from taskmill_local.cli.text import aligned, span
from taskmill_local.cli.type_text import notes_on, shelved_in, waiting_in

Json = Mapping[str, Any]

_STATUSES: Final = ("running", "retrying", "scheduled")
_PRIORITIES: Final = ("critical", "high", "normal", "low", "alone")
_HEAD: Final = ("TYPE", "WAITING", *map(str.upper, _STATUSES), "OLDEST", "ENDED/MIN", "WORKER")
_ENDS: Final = ("succeeded", "died", "cancelled")


def stats_text(statistics: Json, *, width: int | None) -> str:
    minute = ", ".join(f"{count} {word}" for word, count in statistics["last_minute"].items())
    parts = [f"in the last minute: {minute}", aligned(_types(statistics), width=width)]
    parts += ["\n".join(notes)] if (notes := _notes(statistics)) else []
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
    rows = [row for name, one in statistics["types"].items() for row in _rows(name, one)]
    return [_HEAD, *(rows or [("no tasks", *[""] * (len(_HEAD) - 1))])]


def _rows(name: str, one: Json) -> Iterator[tuple[str, ...]]:
    """Yield a row for the type, and more if its tasks have several priorities."""
    now, by_class = one["now"], one["priorities"]
    waiting = None if now is None else now["waiting"]
    shelf = (now and now["shelved"]) or {}
    yield (
        name,
        _waiting(one),
        *_depths(one["depth"]),
        span(_milliseconds(_oldest(one))),
        str(sum(one["last_minute"].get(end, 0) for end in _ENDS)),
        "not deployed" if now is None else now["worker"]["state"],
    )
    counted = (*(waiting or {}).items(), *shelf.items())
    shown = {name for name, count in counted if count} | set(by_class)
    for priority in _PRIORITIES if shown - {"normal"} else ():
        if priority in shown:
            in_lane = "-" if waiting is None else str(waiting[priority] + shelf.get(priority, 0))
            yield (f"  {priority}", in_lane, *_depths(by_class.get(priority, {})), "", "", "")


def _waiting(one: Json) -> str:
    if one["now"] is None:
        return str(one["in_line"])
    waiting, shelved = waiting_in(one["now"]), shelved_in(one["now"])
    if waiting is None:
        return "?"
    return f"{waiting}+?" if shelved is None else str(waiting + shelved)


def _depths(depth: Json) -> Iterator[str]:
    return (str(depth.get(status, 0)) for status in _STATUSES)


def _oldest(one: Json) -> float | None:
    is_live = one["now"] is not None and one["now"]["lane"] == "live"
    seconds: float | None = (one["now"] if is_live else one)["oldest_wait_seconds"]
    return seconds


def _notes(statistics: Json) -> Sequence[str]:
    """Return what keeps tasks from starting; a pause of everything only once."""
    shown = ((name, one["now"]) for name, one in statistics["types"].items() if one["now"])
    return list(dict.fromkeys(note for name, now in shown for note in notes_on(name, now)))


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _lags(statistics: Json) -> list[tuple[str, ...]]:
    return [("READER", "LAG"), *((name, str(lag)) for name, lag in statistics["lag"].items())]
