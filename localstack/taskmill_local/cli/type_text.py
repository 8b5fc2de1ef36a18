"""The present state of task types as text."""

from collections.abc import Iterator, Mapping
from typing import Any

from taskmill_local.cli.pause_text import paused_text
from taskmill_local.cli.text import span

Json = Mapping[str, Any]


def waiting_in(now: Json) -> int | None:
    """Return how many tasks wait in the lane; None if it is not live."""
    return None if now["waiting"] is None else sum(now["waiting"].values())


def shelved_in(now: Json) -> int | None:
    """Return how many tasks wait in the ledger only; None if that is unknown."""
    return None if now["shelved"] is None else sum(now["shelved"].values())


def state_text(now: Json) -> str:
    """Return what waits and what is in flight, in one line."""
    waiting = waiting_in(now)
    if waiting is None:
        return _LANES[now["lane"]]
    by_class = ", ".join(f"{count} {name}" for name, count in now["waiting"].items() if count)
    oldest = span(1000 * (now["oldest_wait_seconds"] or 0))
    line = f"{waiting} waiting ({by_class}; the oldest for {oldest})" if waiting else "none waiting"
    worker = _WORKERS[now["worker"]["state"]]
    return f"{line}{_shelf(now)}, {now['in_flight']} in flight, worker {worker}"


def _shelf(now: Json) -> str:
    shelved = shelved_in(now)
    if shelved is None:
        return ", its shelf unknown"
    return f", {shelved} on its shelf" if shelved else ""


def notes_on(name: str, now: Json) -> Iterator[str]:
    """Yield what keeps the tasks of a type from starting."""
    for pause in now["pauses"] or ():
        reason = f" ({pause['reason']})" if "reason" in pause else ""
        yield f"{paused_text(pause).removesuffix('.')}, by {pause['by']}{reason}"
    if now["lane"] != "live":
        yield f"{name}: {_LANES[now['lane']]}"
    if "detail" in now["worker"]:
        yield f"{name}: {now['worker']['detail']}"


_LANES = {
    "live": "",
    "rebuilding": "Redis lost its lane, which is being filled from the ledger",
    "unknown": "what waits is unknown while Redis is unavailable",
}
_WORKERS = {
    "takes": "takes tasks",
    "busy": "is busy",
    "idle": "is idle",
    "absent": "is absent",
    "unknown": "is unknown",
}
