"""Figures for the cost estimate: list prices, the template's shape, and a load."""

from dataclasses import dataclass, field
from typing import Final

from taskmill.stores.catalogue import AssembledCatalogue

REGION: Final = "us-east-1"
AS_OF: Final = "2026-11"
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """US dollars without tax. Those marked (r) are from memory, the others were looked up."""

    http_api_request: float = 1.00 / _MILLION
    lambda_request: float = 0.20 / _MILLION
    lambda_gb_second: float = 0.0000133334  # arm64
    broker_hour: float = 0.204  # MSK, m7g.large
    broker_gb_month: float = 0.10  # (r)
    pollers_hour: float = 0.185  # an event poller unit: ten pollers
    cache_command: float = 0.0023 / _MILLION  # of at most 1 KB
    cache_gb_hour: float = 0.084
    ledger_unit_hour: float = 0.12  # an Aurora capacity unit
    ledger_gb_month: float = 0.10
    ledger_io: float = 0.20 / _MILLION
    proxy_unit_hour: float = 0.015
    endpoint_hour: float = 0.01  # (r) an interface endpoint in one zone
    nat_hour: float = 0.045  # (r) NAT for webhooks; traffic costs another 0.045 per GB
    secret_month: float = 0.40  # (r)
    alarm_month: float = 0.10  # (r)
    metric_month: float = 0.30  # (r) a custom metric, for each set of labels
    log_gb: float = 0.50  # (r)


def deployed_types() -> int:
    """Return the number of types that `template.yaml` deploys."""
    return len(AssembledCatalogue().entries())


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A deployment's load in a month."""

    tasks: int
    payload_bytes: int = 1_000
    tasks_per_submit: int = 1
    task_milliseconds: float = 20.0
    tasks_per_run: int = 10
    """Average number of tasks in a Kafka-triggered invocation; a busy queue has hundreds."""

    types: int = field(default_factory=deployed_types)
    is_keyed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The figures of `template.yaml`, and the measured or estimated cost of a task."""

    brokers: int = 3
    broker_gb: int = 100
    copies: int = 3
    log_days: int = 7
    ledger_days: int = 30
    ledger_minimum: float = 0.5
    proxy_minimum: float = 8.0  # (r) minimum billed units
    cache_minimum_gb: float = 0.1
    memory_gb: float = 0.5
    shards: int = 64
    zones: int = 3
    fixed_functions: int = 5
    fixed_mappings: int = 5
    pollers_each_type: int = 2  # five of its six partitions fill one
    pollers_per_unit: int = 10
    alarms_each_function: int = 3
    alarms_each_mapping: int = 2
    alarms_each_log_reader: int = 2  # of mappings whose records are work
    alarms_else: int = 20
    metrics: int = 42  # label sets usually seen, and the additional ones for each type
    metrics_each_type: int = 22
    secrets: int = 4
    schedulers_alive: float = 125 / 60
    ticks_per_second: float = 10.0
    commands_per_tick_and_shard: int = 2
    run_milliseconds: float = 15.0  # of an invocation, without its tasks
    milliseconds: tuple[tuple[str, float], ...] = (
        ("gateway", 0.3),
        ("dispatcher", 0.1),
        ("recorder", 0.2),
    )
    commands: int = 6  # admit, clear, claim, settle, and two more for the due set
    envelope_bytes: int = 600
    facts_bytes: int = 500
    record_bytes: int = 1_000
    record_hours: int = 2
    keyed_record_hours: int = 72
    row_bytes: int = 1_500
    row_ios: float = 4.0
    ledger_unit_seconds: float = 0.00014
    log_line_bytes: int = 1_000  # log lines and metrics of an invocation


LISTED: Final = Prices()
DEPLOYED: Final = Shape()
