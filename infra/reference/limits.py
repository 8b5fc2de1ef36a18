"""Writes the limits page from the constants that enforce them."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from functions.gateway.history import LONGEST_HISTORY
from functions.gateway.http.parameters import LARGEST_PAGE, LONGEST_WAIT_SECONDS, USUAL_PAGE
from functions.gateway.pauses import LONGEST_REASON
from functions.gateway.payloads import MOST_IN_A_BATCH
from functions.gateway.quarantine import SHOWN_BYTES
from functions.gateway.redrives import MOST_TASKS
from functions.gateway.submitting import BATCH_BYTES, BATCH_TASKS
from functions.gateway.trigger import LARGEST_COUNT
from infra.reference.text import page, table
from infra.reference.types import references
from taskmill.core.backoff import DEFAULT_RETRY, LONGEST_WAIT
from taskmill.core.codec import ENVELOPE_BATCH_BYTES, ENVELOPE_BATCH_MEMBERS
from taskmill.core.lifetimes import (
    AT_LEAST_KEPT,
    KEY_GRACE,
    KEY_WINDOW,
    LEDGER_DAYS,
    UNKEYED_RECORD,
)
from taskmill.core.log import LARGEST_KEPT
from taskmill.core.pointers import LINK_LIVES, PAYLOAD_MARGIN, POINTED_BYTES
from taskmill.core.task import LONGEST_FAIRNESS_KEY
from taskmill.core.text import ERROR_TEXT_LIMIT
from taskmill.core.time import FAR, LONGEST_DELAY, LONGEST_TIMEOUT
from taskmill.dispatch.waiting import PATIENCE_WITH_A_TYPE, REQUEUE_AFTER
from taskmill.execution.lease import LOSSES_BEFORE_POISON
from taskmill.execution.outcome import RESULT_LEVELS, RESULT_LIMIT
from taskmill.insight.gather import MOST_COUNTED
from taskmill.orders.redrive_job import CANARY
from taskmill.recovery.reconcile import MOST_MENDED
from taskmill.schedules import catch_up
from taskmill.schedules.manage import MOST_BACKFILLED
from taskmill.schedules.occurrences import LONGEST_EVERY
from taskmill.schedules.request import LONGEST_EXPRESSION, LONGEST_JITTER, LONGEST_WINDOW
from taskmill.stores.breaker import FIRST_PAUSE, LONGEST_PAUSE
from taskmill.submission.catalogue import TypeDefaults
from taskmill.submission.enqueued import LARGEST_REQUEST
from taskmill.submission.outbox import OUTBOX_CAP
from taskmill.submission.payloads import REST
from taskmill.submission.request import LONGEST_KEY, METADATA_BYTES, METADATA_ENTRIES, PAYLOAD_BYTES
from taskmill.submission.strict_json import DEEPEST, LONGEST_INTEGER

Row = tuple[str, str, str]

_ABOUT = """
Every limit and what happens when it is exceeded. The figures come from the constants that
enforce them.
"""


def _number(value: float, unit: str = "") -> str:
    return f"{value:,}{f' {unit}' if unit else ''}"


def _bytes(value: int) -> str:
    mebi, rest = divmod(value, 1024 * 1024)
    return f"{value:,} bytes{f' ({mebi} MiB)' if mebi and not rest else ''}"


_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def _span(span: timedelta) -> str:
    seconds = span.total_seconds()
    for unit, length in _UNITS:
        if seconds >= length and seconds % length == 0:
            count = int(seconds // length)
            return f"{count:,} {unit}{'' if count == 1 else 's'}"
    return f"{seconds:g} seconds"


def _hours(span: timedelta) -> str:
    return f"{span // timedelta(hours=1)} hours"


_DEFAULTS = TypeDefaults()
_RETRY = DEFAULT_RETRY
_BACK_OFF = f"{_RETRY.first_seconds:g} s; {_RETRY.factor:g}; {_RETRY.cap_seconds:g} s"
_GROUPS: Final[dict[str, Sequence[Row]]] = {
    "Requests": (
        ("payload in a request", _bytes(PAYLOAD_BYTES), "413 `payload_too_large`: upload it"),
        (
            "uploaded payload, or result",
            _bytes(POINTED_BYTES),
            "422; a result dies as `result_invalid`",
        ),
        ("link for an upload or a download", _span(LINK_LIVES), "S3 refuses it: request a new one"),
        (
            "an uploaded payload must outlive its task's start by",
            _span(PAYLOAD_MARGIN),
            "422: the task is scheduled too far ahead",
        ),
        ("tasks in a batch", _number(BATCH_TASKS), "422"),
        ("body of a batch", _bytes(BATCH_BYTES), "413 `request_too_large`"),
        ("uploaded payloads in a batch", _number(MOST_IN_A_BATCH), "422 for the whole batch"),
        (
            "request enqueued in SQL",
            _bytes(LARGEST_REQUEST),
            "the statement fails, or the request is parked",
        ),
        ("idempotency key", f"{LONGEST_KEY} printable ASCII characters", "422"),
        (
            "metadata",
            f"{METADATA_ENTRIES} entries, {_bytes(METADATA_BYTES)} in all",
            "422",
        ),
        ("fairness key", f"{LONGEST_FAIRNESS_KEY} characters, no control characters", "422"),
        ("nesting of JSON", f"{DEEPEST} levels", "400"),
        ("digits of an integer", _number(LONGEST_INTEGER), "400"),
        ("delay", _span(LONGEST_DELAY), "422"),
        ("`?wait=`", f"{LONGEST_WAIT_SECONDS:g} seconds", "422"),
    ),
    "Attempts": (
        (
            "attempts, unless a type or request says otherwise",
            _number(_DEFAULTS.max_attempts),
            "dead, `failed`",
        ),
        ("attempts at most", "100", "422"),
        (
            "time of an attempt, unless a type or request says otherwise",
            f"{_DEFAULTS.timeout_seconds:g} seconds",
            "the attempt times out",
        ),
        (
            "time of an attempt at most",
            f"{_span(LONGEST_TIMEOUT)}, and `LongestTimeout` of its type",
            "422",
        ),
        (
            "first wait before a retry; its factor; its cap",
            _BACK_OFF,
            "half of each wait is random",
        ),
        ("wait before a retry at most", _span(LONGEST_WAIT), "shortened"),
        (
            "losses before a task counts as poison",
            _number(LOSSES_BEFORE_POISON),
            "dead, `poison`",
        ),
        ("wait while the bucket is unavailable", _span(REST), "a snooze: it uses up no attempt"),
        ("inline result", _bytes(RESULT_LIMIT), "stored in the bucket"),
        ("nesting of a result", f"{RESULT_LEVELS} levels", "dead, `result_invalid`"),
        ("stored error text", _bytes(ERROR_TEXT_LIMIT), "cut"),
    ),
    "Time": (
        (
            "an idempotency key identifies its task for",
            f"{_hours(KEY_WINDOW)} after submission",
            "",
        ),
        ("and, after the task ended, for at least", _span(KEY_GRACE), ""),
        (
            "Redis keeps the record of an ended task without an idempotency key for",
            _span(UNKEYED_RECORD),
            "then the ledger answers",
        ),
        (
            "a task counts as far in the future when due in more than",
            _span(FAR),
            "kept only in the ledger until then",
        ),
        (
            "a task waits for a type that is not deployed for",
            _span(PATIENCE_WITH_A_TYPE),
            "dead, `unknown_type`",
        ),
        ("and is retried every", _span(REQUEUE_AFTER), ""),
        ("the ledger keeps ended tasks for", f"{LEDGER_DAYS} days (a setting)", "404"),
        ("but for at least", _span(AT_LEAST_KEPT), "the setting is refused"),
        (
            "a gateway stops calling a store that hung for",
            f"{_span(FIRST_PAUSE)}, doubling to {_span(LONGEST_PAUSE)}",
            "",
        ),
    ),
    "Schedules": (
        ("cron expression", f"{LONGEST_EXPRESSION} characters", "422"),
        ("`every_seconds`", f"1 to {_number(int(LONGEST_EVERY.total_seconds()))}", "422"),
        ("`jitter_seconds`", _span(LONGEST_JITTER), "422"),
        ("an instant counts as on time within", _span(catch_up.ON_TIME), "`catch_up` decides"),
        (
            "`catch_up: all`, by default",
            f"{_span(catch_up.WINDOW)}, the latest {catch_up.MOST}",
            "counted as missed",
        ),
        ("`catch_up_window_seconds`", _span(LONGEST_WINDOW), "422"),
        ("instants of a backfill", _number(MOST_BACKFILLED), "422"),
        ("instants of a preview", _number(LARGEST_COUNT), "422"),
    ),
    "Lists and operators": (
        ("tasks on a page", f"{USUAL_PAGE}, at most {LARGEST_PAGE}", "follow `next_cursor`"),
        ("facts of a history", f"the latest {LONGEST_HISTORY}", "older ones are left out"),
        ("end of a pause", f"{LONGEST_DELAY.days} days ahead", "422"),
        ("reason of a pause", f"{LONGEST_REASON} characters", "422"),
        ("tasks of a redrive job", _number(MOST_TASKS), "make another job"),
        ("canary of a redrive job", _number(CANARY), "pauses when more than a third fail again"),
        (
            "tasks that `GET /v1/stats` counts",
            f"{_number(MOST_COUNTED)} young and as many old",
            "`is_complete` is false",
        ),
        ("bytes of a quarantined record that are shown", _bytes(SHOWN_BYTES), "cut"),
        ("repairs of the reconciler", f"{_number(MOST_MENDED)} a minute", "the next minute"),
        ("tasks in the outbox", f"{_number(OUTBOX_CAP)} (a setting)", "503"),
    ),
    "The log": (
        (
            "envelopes in a Kafka record",
            f"{ENVELOPE_BATCH_MEMBERS}, {_bytes(ENVELOPE_BATCH_BYTES)}",
            "split into several records",
        ),
        (
            "record that is kept in quarantine",
            _bytes(LARGEST_KEPT),
            "truncated",
        ),
    ),
}


def limits() -> str:
    """Return a table for each subject."""
    groups = {**_GROUPS, **dict(_of_types())}
    heads = ["limit", "value", "when exceeded"]
    return page(
        "Limits", _ABOUT, *(f"## {title}\n\n{table(heads, rows)}" for title, rows in groups.items())
    )


def _of_types() -> Iterator[tuple[str, Sequence[Row]]]:
    for one in references():
        yield (
            one.TITLE,
            [(what, _value(value, unit), then) for what, value, unit, then in one.LIMITS],
        )


def _value(value: float | timedelta, unit: str) -> str:
    if isinstance(value, timedelta):
        return _span(value)
    return _bytes(int(value)) if unit == "bytes" else _number(value, unit)
