"""Estimates the monthly cost of a deployment: a model of `template.yaml` at list prices."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Final

from taskmill_local.prices import DEPLOYED, LISTED, Load, Prices, Shape

_HOURS: Final = 720
_SECONDS: Final = _HOURS * 3600
_MILLION: Final = 1_000_000
_GB: Final = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    what: str
    usd: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    standing: tuple[Line, ...]
    """The cost of a month without tasks."""

    running: tuple[Line, ...]
    """The cost that the load adds."""

    tasks: int

    @property
    def standing_usd(self) -> float:
        return sum(line.usd for line in self.standing)

    @property
    def running_usd(self) -> float:
        return sum(line.usd for line in self.running)

    @property
    def usd_per_million(self) -> float:
        return self.running_usd * _MILLION / self.tasks if self.tasks else 0.0


def bill(load: Load, prices: Prices = LISTED, shape: Shape = DEPLOYED) -> Bill:
    return Bill(
        standing=tuple(_standing(load, prices, shape)),
        running=tuple(_running(load, prices, shape)),
        tasks=load.tasks,
    )


def _standing(load: Load, prices: Prices, shape: Shape) -> Iterator[Line]:
    mappings = shape.fixed_mappings + load.types
    functions = shape.fixed_functions + load.types
    pollers = shape.fixed_mappings + shape.pollers_each_type * load.types
    units = ceil(pollers / shape.pollers_per_unit)
    disks = shape.brokers * shape.broker_gb
    yield Line(
        what="Kafka",
        usd=shape.brokers * _HOURS * prices.broker_hour + disks * prices.broker_gb_month,
        why=f"{shape.brokers} brokers (m7g.large) with {shape.broker_gb} GB each",
    )
    yield Line(
        what="pollers",
        usd=units * _HOURS * prices.pollers_hour,
        why=f"{pollers} pollers share {units} event poller unit{'s' if units > 1 else ''}",
    )
    yield Line(
        what="ledger",
        usd=shape.ledger_minimum * _HOURS * prices.ledger_unit_hour,
        why=f"Aurora at its minimum of {shape.ledger_minimum} units",
    )
    yield Line(
        what="ledger's proxy",
        usd=shape.proxy_minimum * _HOURS * prices.proxy_unit_hour,
        why=f"billed as at least {shape.proxy_minimum:.0f} units",
    )
    yield _idle_cache(prices, shape)
    yield Line(
        what="scheduler",
        usd=shape.schedulers_alive * shape.memory_gb * _SECONDS * prices.lambda_gb_second,
        why=f"{shape.schedulers_alive:.1f} runs of {shape.memory_gb} GB alive at any time",
    )
    metrics = shape.metrics + shape.metrics_each_type * load.types
    yield Line(
        what="metrics",
        usd=metrics * prices.metric_month,
        why=f"{metrics} custom metrics, one per set of labels",
    )
    alarms = (
        shape.alarms_each_function * functions
        + shape.alarms_each_mapping * mappings
        + shape.alarms_each_log_reader * shape.fixed_mappings
        + shape.alarms_else
    )
    yield Line(
        what="the rest",
        usd=shape.zones * _HOURS * prices.endpoint_hour
        + _HOURS * prices.nat_hour
        + shape.secrets * prices.secret_month
        + alarms * prices.alarm_month,
        why=f"NAT, endpoint in {shape.zones} zones, {shape.secrets} secrets, {alarms} alarms",
    )


def _idle_cache(prices: Prices, shape: Shape) -> Line:
    ticks = shape.schedulers_alive * shape.ticks_per_second * _SECONDS
    commands = ticks * shape.shards * shape.commands_per_tick_and_shard
    size = shape.cache_minimum_gb * _HOURS * prices.cache_gb_hour
    return Line(
        what="Redis",
        usd=size + commands * prices.cache_command,
        why=f"minimum size, and polling of {shape.shards} shards by the schedulers",
    )


def _running(load: Load, prices: Prices, shape: Shape) -> Iterator[Line]:
    submits = load.tasks / load.tasks_per_submit
    runs = load.tasks / load.tasks_per_run
    yield Line(
        what="HTTP API",
        usd=submits * prices.http_api_request,
        why=f"{_tasks(load.tasks_per_submit)} per request",
    )
    yield from _functions(load, prices, shape)
    yield _busy_cache(load, prices, shape)
    yield _busy_log(load, prices, shape)
    yield _busy_ledger(load, prices, shape)
    yield Line(
        what="logs",
        usd=(submits + 4 * runs) * shape.log_line_bytes / _GB * prices.log_gb,
        why="the platform's log lines and the metrics of each invocation",
    )


def _functions(load: Load, prices: Prices, shape: Shape) -> Iterator[Line]:
    own = dict(shape.milliseconds) | {"workers": load.task_milliseconds}
    for name, milliseconds in own.items():
        together = load.tasks_per_submit if name == "gateway" else load.tasks_per_run
        # The recorder reads each task twice: as a submission and as facts.
        invocations = load.tasks / together * (2 if name == "recorder" else 1)
        busy = (invocations * shape.run_milliseconds + load.tasks * milliseconds) / 1000
        yield Line(
            what=name,
            usd=invocations * prices.lambda_request
            + busy * shape.memory_gb * prices.lambda_gb_second,
            why=f"{_tasks(together)} per invocation, {milliseconds:g} ms each",
        )


def _busy_cache(load: Load, prices: Prices, shape: Shape) -> Line:
    # The payload passes through the due set once; commands are billed per KB.
    commands = shape.commands + load.payload_bytes // 1024
    hours = shape.keyed_record_hours if load.is_keyed else shape.record_hours
    gigabyte_hours = load.tasks * shape.record_bytes / _GB * hours
    minimum = shape.cache_minimum_gb * _HOURS
    return Line(
        what="Redis",
        usd=load.tasks * commands * prices.cache_command
        + max(0.0, gigabyte_hours - minimum) * prices.cache_gb_hour,
        why=f"{commands} commands per task, records kept for {hours} h",
    )


def _busy_log(load: Load, prices: Prices, shape: Shape) -> Line:
    each = 2 * (load.payload_bytes + shape.envelope_bytes) + shape.facts_bytes
    size = load.tasks * each * shape.copies * shape.log_days / 30 / _GB
    more = max(0.0, size - shape.brokers * shape.broker_gb)
    return Line(
        what="Kafka",
        usd=more * prices.broker_gb_month,
        why=f"{size:,.0f} GB kept for {shape.log_days} days, {more:,.0f} more than the disks hold",
    )


def _busy_ledger(load: Load, prices: Prices, shape: Shape) -> Line:
    size = load.tasks * (load.payload_bytes + shape.row_bytes) * shape.ledger_days / 30 / _GB
    hours = load.tasks * shape.ledger_unit_seconds / 3600
    return Line(
        what="ledger",
        usd=size * prices.ledger_gb_month
        + load.tasks * shape.row_ios * prices.ledger_io
        + hours * prices.ledger_unit_hour,
        why=f"{size:,.1f} GB kept for {shape.ledger_days} days; {shape.row_ios:g} I/Os per task",
    )


def _tasks(number: int) -> str:
    return "one task" if number == 1 else f"{number:,} tasks"
