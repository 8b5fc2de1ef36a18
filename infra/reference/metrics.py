"""Writes the page of metrics from the table of what is counted."""

from infra.reference.text import code, page, sentence, table, words
from taskmill.core.counting import BUCKETS, DEPLOYED, OTHER, TABLE, Count, Counted

_ABOUT = f"""
The functions write what they count as metrics into their logs: one line for an invocation that
counted something. In a deployment CloudWatch turns these lines into metrics of the stack's
namespace. On a laptop the local platform reads the lines, adds them up and serves `GET /metrics` in
the format of Prometheus.

* **Counters are for alarms and graphs; the ledger has the truth.** What a killed process had
  counted and not yet written is gone.
* **Labels are bounded.** `type` knows the deployed types; every other label knows the words below.
  Anything else is counted as `{OTHER}`.
* **Alarm** means that the deployment has an alarm on the sum over all labels. The stack's other
  alarms look at parts of some counters (parked rows of the outbox) and at what AWS measures.
* Histograms use these bounds, in seconds: {", ".join(f"{bound:g}" for bound in BUCKETS)}.

`GET /v1/stats` and `taskmill stats` answer questions about now (what waits, since when, where); see
[operations](../operations/monitor.md).
"""
_LOCAL = """
## What the platform measures

The local platform adds what it sees itself; in a deployment CloudWatch measures the same.
"""
_OF_THE_PLATFORM = (
    (
        "`taskmill_function_*`",
        "invocations, errors, cold starts, throttles, in flight, queued, environments",
        "`tasks_inflight`, `workers_total`",
    ),
    (
        "`taskmill_mapping_*`",
        "lag, in flight, records, batches, failures of each Kafka mapping",
        "`queue_depth`",
    ),
)

_ELSEWHERE = {
    "taskmill_submissions_total": (
        "`tasks_submitted_total`, `tasks_enqueued_total`, Celery's `task-sent`"
    ),
    "taskmill_dispatched_total": "`tasks_routed_total`, Celery's `task-received`",
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
    "taskmill_wait_seconds": "Sidekiq's queue latency, `task_claim_duration_seconds`",
    "taskmill_attempt_seconds": "`task_duration_seconds`, Celery's `runtime`",
}
"""What other queues call the same, for those who move dashboards."""


_WORDS = (
    ("`taskmill_inbox_total`", "`put_off`", "the record comes again: a store is away"),
    ("`taskmill_inbox_total`", "`known`", "the same record was read before"),
    ("`taskmill_claims_total`", "`held`", "another record or process has the turn"),
    ("`taskmill_settlements_total`", "`stale`", "came too late: the turn is another's, or over"),
    (
        "`taskmill_cancel_orders_total`",
        "`end`, `ask`",
        "a waiting task ends; a running one is asked",
    ),
    ("several", "`moved`", "the task changed meanwhile, and is looked at again"),
    ("several", "`cold`", "Redis is being rebuilt"),
    ("`taskmill_due_published_total`", "`submission`, `facts`", "whose author did not publish it"),
    ("`taskmill_parked_total`", "`parked`, `over`", "waits for its worker; waited too long"),
    ("`taskmill_enqueued_total`", "`taken`, `put_off`", "became a task; cannot be taken yet"),
    ("`taskmill_webhooks_total`", "`busy`, `unreachable`", "are tried again"),
    ("`taskmill_webhooks_total`", "`refused`, `redirected`, `gone`", "by their receivers"),
    (
        "`taskmill_webhooks_total`",
        "`walled`, `unsigned`, `disabled`",
        "by us, before they are sent",
    ),
    ("`taskmill_schedule_instants_total`", "`skipped`", "the task before had not ended"),
    ("`taskmill_schedule_instants_total`", "`missed`", "no scheduler was there, or a pause"),
    ("`taskmill_schedule_instants_total`", "`triggered`, `backfilled`", "by people"),
)
"""Words of labels that do not explain themselves."""


def metrics() -> str:
    """Return the tables of counters and histograms."""
    counters = [_row(what) for what in TABLE if isinstance(what, Count)]
    timed = [_row(what) for what in TABLE if not isinstance(what, Count)]
    heads = ["metric", "labels", "what it counts", "alarm", "known elsewhere as"]
    return page(
        "Metrics",
        _ABOUT,
        f"## Counters\n\n{table(heads, counters)}",
        f"## Histograms\n\n{table(heads, timed)}",
        f"## Words of labels\n\n{table(['metric', 'word', 'meaning'], _WORDS)}",
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
