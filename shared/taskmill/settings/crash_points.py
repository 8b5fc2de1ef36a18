"""Where tests let a process end: the lines between two stores, by name."""

import re
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Moment(StrEnum):
    BEFORE = "before"
    AFTER = "after"


class Edge(Struct, frozen=True):
    """A call that carries something; calls that carry nothing do not count."""

    port: str
    method: str
    moment: Moment
    where: str = ""
    """Whose port is meant, when several stores of a process have it."""


POINTS: Mapping[str, Edge] = {
    "gateway after admit": Edge("admission", "admit", Moment.AFTER),
    "gateway after publish before clear": Edge("admission", "clear", Moment.BEFORE),
    "gateway after clear before answer": Edge("admission", "clear", Moment.AFTER),
    "inbox after admit": Edge("admission", "admit", Moment.AFTER, "inbox"),
    "inbox after publish before clear": Edge("admission", "clear", Moment.BEFORE, "inbox"),
    "inbox after clear before the batch ends": Edge("admission", "clear", Moment.AFTER, "inbox"),
    "dispatcher after read": Edge("bus", "send_work", Moment.BEFORE),
    "dispatcher after publish before the batch ends": Edge("bus", "flush", Moment.AFTER),
    "dispatcher after the due set write": Edge("delays", "delay", Moment.AFTER),
    "worker after claim": Edge("leases", "claim", Moment.AFTER),
    "worker after the effect before settle": Edge("leases", "settle", Moment.BEFORE),
    "worker after settle before the facts are flushed": Edge("leases", "settle", Moment.AFTER),
    "worker after the facts before the batch ends": Edge("bus", "flush", Moment.AFTER),
    "recorder before commit": Edge("ledger", "record", Moment.BEFORE),
    "recorder after commit": Edge("ledger", "record", Moment.AFTER),
    "scheduler after take": Edge("due", "take", Moment.AFTER),
    "scheduler after publish before clear": Edge("due", "clear", Moment.BEFORE),
    "scheduler after clear": Edge("due", "clear", Moment.AFTER),
    "relay after publish before mark": Edge("bus", "flush", Moment.AFTER, "relaying"),
    "enqueued after admit": Edge("admission", "admit", Moment.AFTER, "taking"),
    "enqueued after take before mark": Edge("admission", "clear", Moment.AFTER, "taking"),
    "rebuild before the marker": Edge("shards", "open", Moment.BEFORE, "rebuilding"),
    "gateway after the script of redrive": Edge("control", "redrive", Moment.AFTER, "gateway"),
    "gateway after the script of cancel": Edge("control", "cancel", Moment.AFTER, "gateway"),
    "gateway after the script of change": Edge("control", "change", Moment.AFTER, "gateway"),
    "nearing before the due set write": Edge("delays", "delay", Moment.BEFORE, "nearing"),
    "nearing after the due set write": Edge("far", "leave", Moment.BEFORE, "nearing"),
    "expiring after the script": Edge("control", "cancel", Moment.AFTER, "expiring"),
    "firing before the statement": Edge("firing", "advance", Moment.BEFORE, "firing"),
    "firing behind the statement": Edge("firing", "advance", Moment.AFTER, "firing"),
    "redrive job after the script": Edge("control", "redrive", Moment.AFTER, "redriving"),
    "reconciler after select": Edge("control", "see", Moment.BEFORE, "reconciling"),
}
"""Every crash point, by the function it belongs to."""

_FORM = re.compile(r"(?P<point>[a-z ]+):(?P<nth>[1-9][0-9]{0,5})")


class CrashAt(Struct, frozen=True):
    edge: Edge
    nth: int


def crash_at(text: str) -> CrashAt:
    """Parse `<point>:<nth>`, or raise ValueError with what is wrong."""
    told = _FORM.fullmatch(text)
    if told is None:
        raise ValueError(f"must be <point>:<nth>, as in 'worker after claim:1', not {text!r}")
    if told["point"] not in POINTS:
        raise ValueError(
            f"names an unknown point {told['point']!r}, not one of: {', '.join(POINTS)}"
        )
    return CrashAt(POINTS[told["point"]], int(told["nth"]))
