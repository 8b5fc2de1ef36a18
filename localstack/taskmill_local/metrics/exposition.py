"""Prometheus's text format, version 0.0.4."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from taskmill.core.counting import BUCKETS, TABLE, Count, Gauge
from taskmill_local.metrics.meter import Histogram, Labels, Meter

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    name: str
    about: str
    kind: Literal["counter", "gauge", "histogram"]
    samples: Iterable[tuple[str, Labels, float]]
    """Suffix of the name, labels, value."""


def exposition(families: Iterable[Family]) -> bytes:
    return "".join(line + "\n" for family in families for line in _lines(family)).encode()


def families_of(meter: Meter) -> Iterator[Family]:
    """Return everything in the table of metrics, including what is still zero."""
    for what, measure in TABLE.items():
        if isinstance(what, Count):
            sums: Mapping[Labels, int] = meter.sums.get(what) or _nothing(measure.labels, 0)
            samples = [("", labels, float(value)) for labels, value in sums.items()]
            yield Family(name=what, about=measure.about, kind="counter", samples=samples)
        elif isinstance(what, Gauge):
            values = [("", labels, value) for labels, value in meter.values(what).items()]
            yield Family(name=what, about=measure.about, kind="gauge", samples=values)
        else:
            histograms: Mapping[Labels, Histogram] = meter.histograms.get(what, {})
            buckets = [line for labels, one in histograms.items() for line in _buckets(labels, one)]
            yield Family(name=what, about=measure.about, kind="histogram", samples=buckets)


def _nothing(labels: Mapping[str, object], value: int) -> Mapping[Labels, int]:
    return {} if labels else {(): value}


def _buckets(labels: Labels, histogram: Histogram) -> Iterator[tuple[str, Labels, float]]:
    bounds = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]
    below = list(accumulate(histogram.within))
    for bound, count in zip(bounds, below, strict=True):
        yield "_bucket", (*labels, ("le", bound)), count
    yield "_sum", labels, histogram.seconds
    yield "_count", labels, below[-1]


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {_escaped(family.about)}"
    yield f"# TYPE {family.name} {family.kind}"
    for suffix, labels, value in family.samples:
        yield f"{family.name}{suffix}{_braced(labels)} {_number(value)}"


def _braced(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_quotable(value)}"' for name, value in labels) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quotable(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
