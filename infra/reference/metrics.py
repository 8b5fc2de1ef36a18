"""Writes the metrics page from the table of metrics."""

from infra.reference.text import code, page, sentence, table, words
from taskmill.core.counting import BUCKETS, DEPLOYED, OTHER, TABLE, Count, Counted, Gauge, Span

_ABOUT = f"""
The functions write metrics to their logs: one line for each invocation that
counted something. In a deployment CloudWatch turns these lines into metrics of the stack's
namespace. On a laptop the local platform reads the lines, adds them up and serves `GET /metrics` in
the format of Prometheus.

* **Counters are for alarms and graphs; the ledger is authoritative.** Counts that a killed process
  had not yet written are lost.
* **Labels are bounded.** `type` takes the deployed types; every other label takes the values below.
  Any other value is counted as `{OTHER}`.
* **Alarm**: the deployment has an alarm on the sum over all labels, or on a gauge's largest value.
  The stack's other alarms watch single label values (parked rows of the outbox) and AWS's own
  metrics.
* **Gauges** are the present state of the lanes, which the scheduler reports every few seconds: a
  value when there is one, and 0 once. Nothing is reported for a lane that is being rebuilt.
* Histograms use these bounds, in seconds: {", ".join(f"{bound:g}" for bound in BUCKETS)}.

`GET /v1/stats` and `taskmill stats` describe the present (what waits, since when, where); see
[operations](../operations/monitor.md).
"""
_LOCAL = """
## What the platform measures

The local platform adds metrics of its own; in a deployment CloudWatch provides the same.
"""
_OF_THE_PLATFORM = (
    (
        "`taskmill_function_*`",
        "invocations, errors, cold starts, throttles, in flight, queued, environments",
        "`workers_total`",
    ),
    (
        "`taskmill_mapping_*`",
        "lag, in flight, records, batches, failures of each Kafka mapping",
        "",
    ),
)

_ELSEWHERE = {
    "taskmill_submissions_total": (
        "`tasks_submitted_total`, `tasks_enqueued_total`, Celery's `task-sent`"
    ),
    "taskmill_entered_total": "`tasks_routed_total`, Celery's `task-received`",
    "taskmill_taken_total": "Sidekiq's fetched jobs",
    "taskmill_claims_total": "Celery's `task-started`",
    "taskmill_losses_total": (
        "Celery's `WorkerLostError`, orphan claims, Sidekiq's recovered jobs"
    ),
    "taskmill_attempts_total": (
        "`tasks_processed_total{status}`, `tasks_completed_total{status}`, `task_retries_total`,"
        " Celery's `task-succeeded`, `task-retried`"
    ),
    "taskmill_timeouts_total": "Celery's `TimeLimitExceeded`",
    "taskmill_dead_total": (
        "`tasks_dead_letter_total`, `dlq_total`, Sidekiq's dead set, Celery's `task-failed`"
    ),
    "taskmill_cancel_orders_total": "Celery's `task-revoked`",
    "taskmill_redriven_total": "Sidekiq's retries from the dead set",
    "taskmill_delayed_total": "Celery's `eta`",
    "taskmill_parked_total": "Celery's `NotRegistered`",
    "taskmill_waiting": "`queue_depth`, Sidekiq's queue size",
    "taskmill_oldest_wait_seconds": "Sidekiq's queue latency",
    "taskmill_in_flight": "`tasks_inflight`, Sidekiq's busy threads",
    "taskmill_wait_seconds": "Sidekiq's queue latency, `task_claim_duration_seconds`",
    "taskmill_attempt_seconds": "`task_duration_seconds`, Celery's `runtime`",
}
"""Names in other queues, for migrating dashboards."""


_WORDS = (
    ("`taskmill_inbox_total`", "`put_off`", "redelivered because a store was unavailable"),
    ("`taskmill_inbox_total`", "`known`", "the record was already processed"),
    ("`taskmill_claims_total`", "`held`", "another record or process holds the turn"),
    ("`taskmill_settlements_total`", "`stale`", "too late: the turn has a new owner or is over"),
    (
        "`taskmill_cancel_orders_total`",
        "`end`, `ask`",
        "a waiting task ends; a running one is asked to stop",
    ),
    ("several", "`moved`", "the task changed meanwhile and is read again"),
    ("several", "`cold`", "Redis is being rebuilt"),
    ("`taskmill_due_published_total`", "`submission`, `facts`", "its producer did not publish it"),
    ("`taskmill_parked_total`", "`parked`, `over`", "waits for its worker; waited too long"),
    ("`taskmill_enqueued_total`", "`taken`, `put_off`", "became a task; cannot become one yet"),
    ("`taskmill_webhooks_total`", "`busy`, `unreachable`", "retried"),
    ("`taskmill_webhooks_total`", "`refused`, `redirected`, `gone`", "rejected by the receiver"),
    (
        "`taskmill_webhooks_total`",
        "`walled`, `unsigned`, `disabled`",
        "rejected before sending",
    ),
    ("`taskmill_schedule_instants_total`", "`skipped`", "the previous task had not ended"),
    (
        "`taskmill_schedule_instants_total`",
        "`missed`",
        "no scheduler was running, or the schedule was paused",
    ),
    ("`taskmill_schedule_instants_total`", "`triggered`, `backfilled`", "requested by a person"),
)
"""Label values that need an explanation."""


def metrics() -> str:
    """Return the tables of counters, gauges and histograms."""
    counters = [_row(what) for what in TABLE if isinstance(what, Count)]
    gauges = [_row(what) for what in TABLE if isinstance(what, Gauge)]
    histograms = [_row(what) for what in TABLE if isinstance(what, Span)]
    heads = ["metric", "labels", "what it counts", "alarm", "known elsewhere as"]
    return page(
        "Metrics",
        _ABOUT,
        f"## Counters\n\n{table(heads, counters)}",
        f"## Gauges\n\n{table(heads, gauges)}",
        f"## Histograms\n\n{table(heads, histograms)}",
        f"## Label values\n\n{table(['metric', 'value', 'meaning'], _WORDS)}",
        _LOCAL.strip(),
        table(["metric", "what it counts", "known elsewhere as"], _OF_THE_PLATFORM),
    )


def _row(what: Counted) -> list[str]:
    measure = TABLE[what]
    labels = "; ".join(_label(name, known) for name, known in measure.labels.items())
    alarm = "yes" if measure.calls_for_help else ""
    return [code(str(what)), labels, sentence(measure.about), alarm, _ELSEWHERE.get(str(what), "")]


def _label(name: str, known: frozenset[str] | None) -> str:
    return code(name) if known is DEPLOYED else f"{code(name)}: {words(sorted(known))}"
