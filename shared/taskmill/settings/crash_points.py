"""Named points between two store calls where tests can crash the process."""

import re
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class CrashMoment(StrEnum):
    BEFORE = "before"
    AFTER = "after"


class Edge(Struct, frozen=True):
    """A call with at least one non-empty argument; calls without any do not count."""

    port: str
    method: str
    moment: CrashMoment
    where: str = ""
    """The name of the stores, when several stores of a process have this port."""


POINTS: Mapping[str, Edge] = {
    "gateway after admit": Edge("admission", "admit", CrashMoment.AFTER),
    "gateway after publish before clear": Edge("admission", "clear", CrashMoment.BEFORE),
    "gateway after clear before answer": Edge("admission", "clear", CrashMoment.AFTER),
    "inbox after admit": Edge("admission", "admit", CrashMoment.AFTER, "inbox"),
    "inbox after publish before clear": Edge("admission", "clear", CrashMoment.BEFORE, "inbox"),
    "inbox after clear before the batch ends": Edge(
        "admission", "clear", CrashMoment.AFTER, "inbox"
    ),
    "dispatcher after read": Edge("lanes", "enter", CrashMoment.BEFORE),
    "dispatcher after enter before the batch ends": Edge("lanes", "enter", CrashMoment.AFTER),
    "dispatcher after the due set write": Edge("delays", "delay", CrashMoment.AFTER),
    "worker after take": Edge("lanes", "take", CrashMoment.AFTER),
    "worker after claim": Edge("leases", "claim", CrashMoment.AFTER),
    "worker after the effect before settle": Edge("leases", "settle", CrashMoment.BEFORE),
    "worker after settle before the facts are flushed": Edge("leases", "settle", CrashMoment.AFTER),
    "worker after the facts before the leave": Edge("bus", "flush", CrashMoment.AFTER),
    "recorder before commit": Edge("ledger", "record", CrashMoment.BEFORE),
    "recorder after commit": Edge("ledger", "record", CrashMoment.AFTER),
    "scheduler after take": Edge("due", "take", CrashMoment.AFTER),
    "scheduler after publish before clear": Edge("due", "clear", CrashMoment.BEFORE),
    "scheduler after clear": Edge("due", "clear", CrashMoment.AFTER),
    "watching after the look": Edge("turns", "look", CrashMoment.AFTER),
    "watching after the put back": Edge("lanes", "put_back", CrashMoment.AFTER),
    "watching after the facts before the leave": Edge("lanes", "leave", CrashMoment.BEFORE),
    "relay after publish before mark": Edge("bus", "flush", CrashMoment.AFTER, "relaying"),
    "enqueued after admit": Edge("admission", "admit", CrashMoment.AFTER, "taking"),
    "enqueued after take before mark": Edge("admission", "clear", CrashMoment.AFTER, "taking"),
    "rebuild before the marker": Edge("shards", "open", CrashMoment.BEFORE, "rebuilding"),
    "gateway after the script of redrive": Edge("control", "redrive", CrashMoment.AFTER, "gateway"),
    "gateway after the script of cancel": Edge("control", "cancel", CrashMoment.AFTER, "gateway"),
    "gateway after the script of change": Edge("control", "change", CrashMoment.AFTER, "gateway"),
    "nearing before the due set write": Edge("delays", "delay", CrashMoment.BEFORE, "nearing"),
    "nearing after the due set write": Edge("far", "leave", CrashMoment.BEFORE, "nearing"),
    "shelving after the records before the enter": Edge(
        "shelved_records", "unshelve", CrashMoment.AFTER, "shelving"
    ),
    "shelving after the enter before the rows": Edge(
        "lanes", "bring_in", CrashMoment.AFTER, "shelving"
    ),
    "expiring after the script": Edge("control", "cancel", CrashMoment.AFTER, "expiring"),
    "firing before the statement": Edge("firing", "advance", CrashMoment.BEFORE, "firing"),
    "firing behind the statement": Edge("firing", "advance", CrashMoment.AFTER, "firing"),
    "redrive job after the script": Edge("control", "redrive", CrashMoment.AFTER, "redriving"),
    "reconciler after select": Edge("control", "see", CrashMoment.BEFORE, "reconciling"),
}
"""Every crash point, by the function it belongs to."""

_FORM = re.compile(r"(?P<point>[a-z ]+):(?P<nth>[1-9][0-9]{0,5})")


class CrashAt(Struct, frozen=True):
    edge: Edge
    nth: int


def crash_at(text: str) -> CrashAt:
    """Parse `<point>:<nth>`, or raise ValueError with what is wrong."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"must be <point>:<nth>, as in 'worker after claim:1', not {text!r}")
    if match["point"] not in POINTS:
        raise ValueError(
            f"names an unknown point {match['point']!r}, not one of: {', '.join(POINTS)}"
        )
    return CrashAt(POINTS[match["point"]], int(match["nth"]))
