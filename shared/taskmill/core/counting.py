"""Every counter and histogram: one table of names, meanings and bounded labels."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final, TypeAlias, get_args

from msgspec import Struct

from taskmill.core import topics
from taskmill.core.facts import Fact
from taskmill.core.lifetimes import Kept


class Count(StrEnum):
    """Counters. A name is the same in Prometheus and in CloudWatch."""

    SUBMISSIONS = "taskmill_submissions_total"
    REFUSALS = "taskmill_refusals_total"
    INBOX = "taskmill_inbox_total"
    DEFERRED = "taskmill_deferred_submissions_total"
    ENTERED = "taskmill_entered_total"
    TAKEN = "taskmill_taken_total"
    PUT_BACK = "taskmill_put_back_total"
    LEFT = "taskmill_left_total"
    WAKE_UPS = "taskmill_wake_ups_total"
    CLAIMS = "taskmill_claims_total"
    LOSSES = "taskmill_losses_total"
    LEASES_LOST = "taskmill_leases_lost_total"
    ATTEMPTS = "taskmill_attempts_total"
    TIMEOUTS = "taskmill_timeouts_total"
    SETTLEMENTS = "taskmill_settlements_total"
    IN_DOUBT = "taskmill_possible_duplicates_total"
    DEAD = "taskmill_dead_total"
    CANCEL_ORDERS = "taskmill_cancel_orders_total"
    REDRIVEN = "taskmill_redriven_total"
    DUE = "taskmill_due_published_total"
    FORGOTTEN = "taskmill_records_forgotten_total"
    UNDECODABLE = "taskmill_undecodable_total"
    PUBLISH_FAILURES = "taskmill_publish_failures_total"
    FACTS = "taskmill_facts_recorded_total"
    QUARANTINED = "taskmill_quarantined_total"
    LATE_ROWS = "taskmill_late_rows_total"
    CONTRADICTIONS = "taskmill_contradictions_total"
    DELAYED = "taskmill_delayed_total"
    CHANGES = "taskmill_change_orders_total"
    PARKED = "taskmill_parked_total"
    OUTBOX = "taskmill_outbox_rows_total"
    ENQUEUED = "taskmill_enqueued_total"
    ENQUEUED_IN_VAIN = "taskmill_enqueued_in_vain_total"
    BREAKERS = "taskmill_breakers_opened_total"
    CLOCKS_APART = "taskmill_clocks_apart_total"
    CHORES = "taskmill_chores_done_total"
    CHORE_FAILURES = "taskmill_chore_failures_total"
    RESTORED = "taskmill_records_restored_total"
    PLACED = "taskmill_tasks_placed_total"
    RECONCILED = "taskmill_reconciled_total"
    GAPS = "taskmill_log_gaps_total"
    UNSUBMITTED = "taskmill_unsubmitted_total"
    UNREADABLE = "taskmill_unreadable_keys_total"
    RETAINED = "taskmill_retention_removed_total"
    WEBHOOKS = "taskmill_webhooks_total"
    INSTANTS = "taskmill_schedule_instants_total"


class Span(StrEnum):
    """Durations that are measured."""

    WAIT = "taskmill_wait_seconds"
    ATTEMPT = "taskmill_attempt_seconds"
    PUBLISH = "taskmill_publish_seconds"
    FIRE_LATENESS = "taskmill_schedule_lateness_seconds"


class Gauge(StrEnum):
    """Present values; each report replaces the one before."""

    WAITING = "taskmill_waiting"
    OLDEST_WAIT = "taskmill_oldest_wait_seconds"
    IN_FLIGHT = "taskmill_in_flight"


Counted: TypeAlias = Count | Span | Gauge

OTHER: Final = "other"
"""Replaces every unknown label value, because clients choose types and topics."""

DEPLOYED: Final = None
"""The label's values are the deployed types, which the table cannot list."""


class Measure(Struct, frozen=True, kw_only=True):
    about: str
    labels: Mapping[str, frozenset[str] | None]
    calls_for_help: bool = False
    """An alarm watches its sum over all labels; of a gauge, its largest value."""


def _one_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


CHORES: Final = _one_of(
    "bring_near expire fire_schedules forget_expired forget_old measure_lanes publish_due "
    "put_back_parcels rebuild rebuild_lanes reconcile redrive_many refill relay_outbox "
    "repeat_pauses take_requests take_up_requests tell_counts watch_lanes"
)
_TYPE: Final[dict[str, frozenset[str] | None]] = {"type": DEPLOYED}
_TOPICS: Final = frozenset(
    {topics.INBOX, topics.PENDING, topics.EVENTS, topics.DLQ, topics.WORKER_PREFIX + "*"}
)

TABLE: Final[Mapping[Counted, Measure]] = {
    Count.SUBMISSIONS: Measure(
        about="Tasks in well-formed requests to the gateway, by answer",
        labels=_TYPE
        | {
            "answer": _one_of(
                "created deferred replayed conflict spilled unavailable unconfirmed unreadable"
            )
        },
    ),
    Count.REFUSALS: Measure(
        about="Requests refused by the gateway or the inbox, by problem type",
        labels={
            "reason": _one_of(
                "already_exists already_finished another_job_lives bad_request changed_meanwhile"
                " forbidden"
                " idempotency_key_reused internal_error invalid_payload invalid_request"
                " invalid_schedule managed_schedule"
                " not_found not_redrivable not_supported_yet not_waiting payload_conflict"
                " payload_missing payload_too_large"
                " request_too_large unauthorized unavailable unknown_type"
                " unsupported_media_type"
            )
        },
    ),
    Count.INBOX: Measure(
        about="Requests in the inbox, by result; put_off ones are retried",
        labels={"answer": _one_of("created known replayed refused put_off")},
    ),
    Count.DEFERRED: Measure(
        about="Tasks accepted while Redis was unavailable, by its later answer to the dispatcher",
        labels={"answer": _one_of("created known replayed conflict cold")},
    ),
    Count.ENTERED: Measure(
        about="Tasks sent to their lane, by its answer; one that is in it already counts again",
        labels=_TYPE | {"answer": _one_of("waits shelved cold")},
    ),
    Count.TAKEN: Measure(
        about="Tasks that workers took from their lane",
        labels=_TYPE,
    ),
    Count.PUT_BACK: Measure(
        about="Tasks in flight that nobody ran and that were sent back to their line",
        labels=_TYPE,
    ),
    Count.LEFT: Measure(
        about="Tasks sent off from their lane, because the log has their last facts",
        labels=_TYPE,
    ),
    Count.WAKE_UPS: Measure(
        about="Wake-ups that lanes asked for; each starts a process in one partition",
        labels=_TYPE,
    ),
    Count.CLAIMS: Measure(
        about="Claims by workers, by answer",
        labels=_TYPE | {"answer": _one_of("claimed suspect held late over forgotten cold")},
    ),
    Count.LOSSES: Measure(
        about="Attempts that ended because the platform killed them",
        labels=_TYPE,
    ),
    Count.LEASES_LOST: Measure(
        about="Leases found lost at a heartbeat; their attempts are void",
        labels={},
    ),
    Count.ATTEMPTS: Measure(
        about="Settled attempts, by outcome",
        labels=_TYPE | {"end": _one_of("succeeded retried snoozed stopped died cancelled")},
    ),
    Count.TIMEOUTS: Measure(
        about="Attempts stopped at their deadline",
        labels=_TYPE,
    ),
    Count.SETTLEMENTS: Measure(
        about="Settlements sent to Redis, by answer",
        labels={"answer": _one_of("settled stale cancel cold")},
    ),
    Count.IN_DOUBT: Measure(
        about="Attempts retried although their effect may have happened: possible duplicates",
        labels=_TYPE,
    ),
    Count.DEAD: Measure(
        about="Tasks that became dead letters, by reason",
        labels=_TYPE
        | {
            "reason": _one_of(
                "failed discarded timeout poison unknown_type result_invalid invalid_payload"
                " expired"
            )
        },
        calls_for_help=True,
    ),
    Count.CANCEL_ORDERS: Measure(
        about="Cancel orders, by kind and Redis's answer",
        labels={"order": _one_of("end ask"), "answer": _one_of("done moved cold")},
    ),
    Count.REDRIVEN: Measure(
        about="Redrive orders, single ones and those of jobs, by Redis's answer",
        labels=_TYPE | {"answer": _one_of("done moved cold")},
    ),
    Count.DUE: Measure(
        about="Entries of the due set that the scheduler published: due turns, overdue messages",
        labels={"kind": _one_of("submission turn facts parked")},
    ),
    Count.FORGOTTEN: Measure(
        about="Expired records removed from Redis",
        labels={},
    ),
    Count.UNDECODABLE: Measure(
        about="Log records that do not belong in their topic",
        labels={"topic": _TOPICS},
    ),
    Count.PUBLISH_FAILURES: Measure(
        about="Publications that Kafka rejected or did not acknowledge in time",
        labels={},
        calls_for_help=True,
    ),
    Count.FACTS: Measure(
        about="Facts that reached the ledger, including duplicates",
        labels={"kind": frozenset({"TaskSubmitted", *(kind.__name__ for kind in get_args(Fact))})},
    ),
    Count.QUARANTINED: Measure(
        about="Records moved to quarantine, by topic",
        labels={"topic": _TOPICS},
        calls_for_help=True,
    ),
    Count.LATE_ROWS: Measure(
        about="Late or duplicate updates to tasks that were already further along in the ledger",
        labels={},
    ),
    Count.CONTRADICTIONS: Measure(
        about="Facts after the end of their generation, seen in one batch; should stay zero",
        labels={},
    ),
    Count.DELAYED: Measure(
        about="Delayed tasks, by where they wait; a far one counts twice",
        labels={"answer": _one_of("near far over forgotten cold")},
    ),
    Count.CHANGES: Measure(
        about="Orders to change waiting tasks, by Redis's answer",
        labels={"answer": _one_of("done moved cold")},
    ),
    Count.PARKED: Measure(
        about="Tasks whose type has no deployed worker, by result",
        labels={"answer": _one_of("parked over cold")},
    ),
    Count.OUTBOX: Measure(
        about="Outbox rows relayed to the log, or parked as unpublishable",
        labels={"answer": _one_of("relayed parked")},
    ),
    Count.ENQUEUED: Measure(
        about="Enqueued requests, by result",
        labels={"answer": _one_of("taken put_off")},
    ),
    Count.ENQUEUED_IN_VAIN: Measure(
        about="Enqueued requests that were refused",
        labels={},
        calls_for_help=True,
    ),
    Count.BREAKERS: Measure(
        about="Times that a process stopped calling a store that did not answer",
        labels={"store": _one_of("Kafka Redis PostgreSQL S3")},
    ),
    Count.CLOCKS_APART: Measure(
        about="Claims repeated because the clocks of two Redis servers differ by a second or more",
        labels={},
        calls_for_help=True,
    ),
    Count.CHORES: Measure(
        about="Work done by the scheduler's periodic jobs, each in its own unit",
        labels={"chore": CHORES},
    ),
    Count.CHORE_FAILURES: Measure(
        about="Failed runs of periodic jobs; they are retried after a pause",
        labels={"chore": CHORES},
        calls_for_help=True,
    ),
    Count.RESTORED: Measure(
        about="Records rebuilt from the ledger after Redis lost them",
        labels={},
    ),
    Count.PLACED: Measure(
        about="Tasks put into lanes that were rebuilt from the ledger",
        labels={},
    ),
    Count.RECONCILED: Measure(
        about="Repaired disagreements between ledger and Redis, by kind",
        labels={
            "kind": _one_of("ledger_behind record_behind record_missing nowhere_in_line unlisted")
        },
    ),
    Count.GAPS: Measure(
        about="Partitions in which the ledger lacks records that its readers have moved past",
        labels={"topic": _TOPICS},
        calls_for_help=True,
    ),
    Count.UNSUBMITTED: Measure(
        about="Tasks with facts but, an hour later, no submission; counted again every minute",
        labels={},
        calls_for_help=True,
    ),
    Count.UNREADABLE: Measure(
        about="Overwritten keys in Redis that were restored",
        labels={},
        calls_for_help=True,
    ),
    Count.RETAINED: Measure(
        about="Rows removed after their retention time; history is removed by month",
        labels={"kind": frozenset(Kept)},
    ),
    Count.WEBHOOKS: Measure(
        about="Webhook deliveries, by result",
        labels={
            "answer": _one_of(
                "delivered redirected refused gone busy unreachable walled unsigned disabled"
            )
        },
    ),
    Count.INSTANTS: Measure(
        about="Instants of schedules, by result",
        labels={"outcome": _one_of("fired skipped missed triggered backfilled")},
    ),
    Span.WAIT: Measure(
        about="Time from a task's submission to its first start",
        labels=_TYPE,
    ),
    Span.ATTEMPT: Measure(
        about="Time from an attempt's start to its end",
        labels=_TYPE,
    ),
    Span.PUBLISH: Measure(
        about="Time until Kafka acknowledged a publication",
        labels={},
    ),
    Span.FIRE_LATENESS: Measure(
        about="Delay between an instant of a schedule and its firing",
        labels={},
    ),
    Gauge.WAITING: Measure(
        about="Tasks in line or on a shelf, by priority; alone: those that must run alone",
        labels=_TYPE | {"priority": _one_of("critical high normal low alone")},
        calls_for_help=True,
    ),
    Gauge.OLDEST_WAIT: Measure(
        about="How long the oldest of them has waited; 0 when none waits",
        labels=_TYPE,
        calls_for_help=True,
    ),
    Gauge.IN_FLIGHT: Measure(
        about="Tasks that workers took from their lane and that have not left it",
        labels=_TYPE,
    ),
}

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the histogram buckets, in seconds."""


def bounded(
    what: Counted, labels: Mapping[str, str], types: Collection[str | None]
) -> tuple[tuple[str, str], ...]:
    """Return the labels of *what* in the table's order; unknown values become `OTHER`."""
    return tuple(
        (name, value if (value := labels[name]) in (types if known is None else known) else OTHER)
        for name, known in TABLE[what].labels.items()
    )


def topic_label(topic: str) -> str:
    """Return one label value for the topics of all workers: their number is unbounded."""
    return topic if topics.type_of(topic) is None else topics.WORKER_PREFIX + "*"
