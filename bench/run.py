"""`taskmill bench`: measures a fresh local system and prints what a person can read."""

import json
import os
from dataclasses import asdict

from bench.drain import Drain, drain
from bench.latency import Latency, latency
from bench.system import running

WARM_UPS = 2
WARM_UP_TASKS = 4_000
SECONDS_TO_WARM_UP = 2
DRAIN_TASKS = 20_000
RATES = (100,)
SECONDS_PER_RATE = 20


def main(*, as_json: bool) -> None:
    with running(os.environ) as system:
        _say("warming up …", as_json=as_json)
        for _ in range(WARM_UPS):
            drain(system, WARM_UP_TASKS)
            latency(system, per_second=RATES[0], seconds=SECONDS_TO_WARM_UP)
        _say(f"submitting at {RATES[0]}/s for {SECONDS_PER_RATE} s …", as_json=as_json)
        latencies = [latency(system, per_second=rate, seconds=SECONDS_PER_RATE) for rate in RATES]
        _say(f"draining {DRAIN_TASKS:,} tasks …", as_json=as_json)
        drained = drain(system, DRAIN_TASKS)
    if as_json:
        told = asdict(drained) | {"intake_rate": drained.intake_rate, "rate": drained.rate}
        print(json.dumps({"drain": told, "latency": [asdict(one) for one in latencies]}))
        return
    print("\n".join([*_drain_lines(drained), "", *map(_latency_line, latencies)]))


def _say(line: str, *, as_json: bool) -> None:
    if not as_json:
        print(line, flush=True)


def _drain_lines(drained: Drain) -> list[str]:
    used = sorted(drained.cpu_ms_per_1000.items(), key=lambda pair: -pair[1])
    return [
        "",
        _rate_line("accepted over HTTP in batches", drained, drained.intake_rate),
        _rate_line("drained until the ledger is complete", drained, drained.rate),
        "",
        "CPU ms per 1,000 tasks, by process",
        *(f"  {name:<12} {spent:7.1f}" for name, spent in used),
        f"  {'all':<12} {sum(drained.cpu_ms_per_1000.values()):7.1f}",
    ]


def _rate_line(what: str, drained: Drain, rate: float) -> str:
    return f"{drained.tasks:,} tasks of 500 bytes {what}: {rate:,.0f} tasks/s"


def _latency_line(measured: Latency) -> str:
    return (
        f"submit → start at {measured.per_second}/s, {measured.tasks:,} tasks:"
        f" p50 {measured.p50_ms:.1f} ms, p95 {measured.p95_ms:.1f} ms,"
        f" p99 {measured.p99_ms:.1f} ms"
    )
