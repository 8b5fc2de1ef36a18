"""Everything that is counted or timed: one table of names, meanings and bounded labels."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final, TypeAlias, get_args

from msgspec import Struct

from taskmill.core import topics
from taskmill.core.facts import Fact
from taskmill.core.lifetimes import Kept


class Count(StrEnum):
    """What is added up. The name is the same in Prometheus and in CloudWatch."""

    SUBMISSIONS = "taskmill_submissions_total"
    REFUSALS = "taskmill_refusals_total"
    INBOX = "taskmill_inbox_total"
    DEFERRED = "taskmill_deferred_submissions_total"
    DISPATCHED = "taskmill_dispatched_total"
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
    CHORES = "taskmill_chores_done_total"
    CHORE_FAILURES = "taskmill_chore_failures_total"
    RESTORED = "taskmill_records_restored_total"
    RECONCILED = "taskmill_reconciled_total"
    GAPS = "taskmill_log_gaps_total"
    UNSUBMITTED = "taskmill_unsubmitted_total"
    UNREADABLE = "taskmill_unreadable_keys_total"
    RETAINED = "taskmill_retention_removed_total"
    WEBHOOKS = "taskmill_webhooks_total"
    INSTANTS = "taskmill_schedule_instants_total"


class Span(StrEnum):
    """What is timed."""

    WAIT = "taskmill_wait_seconds"
    ATTEMPT = "taskmill_attempt_seconds"
    PUBLISH = "taskmill_publish_seconds"
    FIRE_LATENESS = "taskmill_schedule_lateness_seconds"


Counted: TypeAlias = Count | Span

OTHER: Final = "other"
"""What stands for every value that a label does not know: strangers choose types and topics."""

DEPLOYED: Final = None
"""The values of a label are the deployed types, which the table cannot know."""


class Measure(Struct, frozen=True, kw_only=True):
    about: str
    labels: Mapping[str, frozenset[str] | None]
    calls_for_help: bool = False
    """An alarm looks at its sum over all labels."""


def _one_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


CHORES: Final = _one_of(
    "bring_near expire fire_schedules forget_expired forget_old publish_due"
    " put_back_parcels rebuild reconcile redrive_many relay_outbox"
    " take_requests take_up_requests tell_counts"
)
_TYPE: Final[dict[str, frozenset[str] | None]] = {"type": DEPLOYED}
_TOPICS: Final = frozenset(
    {topics.INBOX, topics.PENDING, topics.EVENTS, topics.DLQ, topics.WORKER_PREFIX + "*"}
)

TABLE: Final[Mapping[Counted, Measure]] = {
    Count.SUBMISSIONS: Measure(
        about="Tasks that the gateway was asked for and could read, by what it answered",
        labels=_TYPE
        | {
            "answer": _one_of(
                "created deferred replayed conflict spilled unavailable unconfirmed unreadable"
            )
        },
    ),
    Count.REFUSALS: Measure(
        about="Requests that the gateway or the inbox turned away, by the type of the problem",
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
        about="Requests that stood in the inbox, by what became of them; put_off ones come again",
        labels={"answer": _one_of("created known replayed refused put_off")},
    ),
    Count.DEFERRED: Measure(
        about="Tasks taken while Redis could not answer, by what it said to the dispatcher later",
        labels={"answer": _one_of("created known replayed conflict cold")},
    ),
    Count.DISPATCHED: Measure(
        about="Tasks put in line for their worker, at once or at their time",
        labels=_TYPE,
    ),
    Count.CLAIMS: Measure(
        about="Turns that a worker asked for, by the answer",
        labels=_TYPE | {"answer": _one_of("claimed suspect held refused forgotten cold")},
    ),
    Count.LOSSES: Measure(
        about="Attempts that ended because the platform died under them",
        labels=_TYPE,
    ),
    Count.LEASES_LOST: Measure(
        about="Leases that were another's at the heartbeat: their attempts are void",
        labels={},
    ),
    Count.ATTEMPTS: Measure(
        about="Attempts that were settled, by how they ended",
        labels=_TYPE | {"end": _one_of("succeeded retried snoozed stopped died cancelled")},
    ),
    Count.TIMEOUTS: Measure(
        about="Attempts that ran past their deadline and were cut off",
        labels=_TYPE,
    ),
    Count.SETTLEMENTS: Measure(
        about="Ends that a worker brought to Redis, by the answer",
        labels={"answer": _one_of("settled stale cancel cold")},
    ),
    Count.IN_DOUBT: Measure(
        about="Attempts tried again although their effect may be there: possible duplicates",
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
        about="Orders to cancel, by what was ordered and by what Redis answered",
        labels={"order": _one_of("end ask"), "answer": _one_of("done moved cold")},
    ),
    Count.REDRIVEN: Measure(
        about="Orders to redrive, one by one and by jobs, by what Redis answered",
        labels=_TYPE | {"answer": _one_of("done moved cold")},
    ),
    Count.DUE: Measure(
        about="What the scheduler published: turns at their time, and what others still owed",
        labels={"kind": _one_of("submission turn facts parked")},
    ),
    Count.FORGOTTEN: Measure(
        about="Records that outlived their time in Redis",
        labels={},
    ),
    Count.UNDECODABLE: Measure(
        about="Records of the log that are not what their topic holds",
        labels={"topic": _TOPICS},
    ),
    Count.PUBLISH_FAILURES: Measure(
        about="Publications that Kafka refused, or did not acknowledge in time",
        labels={},
        calls_for_help=True,
    ),
    Count.FACTS: Measure(
        about="Facts that reached the ledger, a repeated one each time",
        labels={"kind": frozenset({"TaskSubmitted", *(kind.__name__ for kind in get_args(Fact))})},
    ),
    Count.QUARANTINED: Measure(
        about="Records kept in quarantine, by the topic in which they stood",
        labels={"topic": _TOPICS},
        calls_for_help=True,
    ),
    Count.LATE_ROWS: Measure(
        about="Tasks told to the ledger that were further in life there: what came late or twice",
        labels={},
    ),
    Count.CONTRADICTIONS: Measure(
        about="Facts that came after the end of their generation, seen in one batch: none should",
        labels={},
    ),
    Count.DELAYED: Measure(
        about="Tasks that were to wait for their time, by where they do: one that is far twice",
        labels={"answer": _one_of("near far over forgotten cold")},
    ),
    Count.CHANGES: Measure(
        about="Orders to change what waits, by what Redis answered",
        labels={"answer": _one_of("done moved cold")},
    ),
    Count.PARKED: Measure(
        about="Tasks whose type no deployed worker takes, by what became of them",
        labels={"answer": _one_of("parked over cold")},
    ),
    Count.OUTBOX: Measure(
        about="Rows of the outbox that were relayed to the log, or parked as unpublishable",
        labels={"answer": _one_of("relayed parked")},
    ),
    Count.ENQUEUED: Measure(
        about="Requests that were enqueued, by whether they became tasks or were put off",
        labels={"answer": _one_of("taken put_off")},
    ),
    Count.ENQUEUED_IN_VAIN: Measure(
        about="Requests that were enqueued and are refused",
        labels={},
        calls_for_help=True,
    ),
    Count.BREAKERS: Measure(
        about="How often a process stopped asking a store that did not answer",
        labels={"store": _one_of("Kafka Redis PostgreSQL S3")},
    ),
    Count.CHORES: Measure(
        about="What the scheduler's chores got done, each in units of its own",
        labels={"chore": CHORES},
    ),
    Count.CHORE_FAILURES: Measure(
        about="Chores that failed, and rest for a while",
        labels={"chore": CHORES},
        calls_for_help=True,
    ),
    Count.RESTORED: Measure(
        about="Records that were made anew from the ledger after Redis forgot",
        labels={},
    ),
    Count.RECONCILED: Measure(
        about="Disagreements between ledger and Redis that were mended, by kind",
        labels={
            "kind": _one_of("ledger_behind record_behind record_missing nowhere_in_line unlisted")
        },
    ),
    Count.GAPS: Measure(
        about="Partitions in which the ledger lacks records that its readers have passed",
        labels={"topic": _TOPICS},
        calls_for_help=True,
    ),
    Count.UNSUBMITTED: Measure(
        about="Tasks with facts and, an hour later, no submission; each is counted every minute",
        labels={},
        calls_for_help=True,
    ),
    Count.UNREADABLE: Measure(
        about="Keys in Redis that something else had overwritten, when they were sound again",
        labels={},
        calls_for_help=True,
    ),
    Count.RETAINED: Measure(
        about="Rows that were removed because they had been kept long enough; history by months",
        labels={"kind": frozenset(Kept)},
    ),
    Count.WEBHOOKS: Measure(
        about="Webhooks that were to be sent, by what became of it",
        labels={
            "answer": _one_of(
                "delivered redirected refused gone busy unreachable walled unsigned disabled"
            )
        },
    ),
    Count.INSTANTS: Measure(
        about="Instants of schedules, by what became of them",
        labels={"outcome": _one_of("fired skipped missed triggered backfilled")},
    ),
    Span.WAIT: Measure(
        about="From a task's submission to its first start",
        labels=_TYPE,
    ),
    Span.ATTEMPT: Measure(
        about="From an attempt's start to its end",
        labels=_TYPE,
    ),
    Span.PUBLISH: Measure(
        about="Until Kafka acknowledged what was sent",
        labels={},
    ),
    Span.FIRE_LATENESS: Measure(
        about="From an instant of a schedule until it was fired",
        labels={},
    ),
}

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""The upper bounds, in seconds, under which Prometheus adds up what was timed."""


def bounded(
    what: Counted, labels: Mapping[str, str], types: Collection[str | None]
) -> tuple[tuple[str, str], ...]:
    """Return the labels of *what* in the table's order, each with a value that it knows."""
    return tuple(
        (name, value if (value := labels[name]) in (types if known is None else known) else OTHER)
        for name, known in TABLE[what].labels.items()
    )


def topic_label(topic: str) -> str:
    """Return one word for the topics of all workers: their number has no bound."""
    return topic if topics.type_of(topic) is None else topics.WORKER_PREFIX + "*"
