"""Dead tasks, histories, redrive jobs and the quarantine as plain text."""

from base64 import b64decode
from collections.abc import Iterable
from typing import Any

from taskmill_local.cli.text import Json, aligned, why

Rows = list[tuple[str, ...]]


def dead_rows(tasks: Iterable[Json]) -> Rows:
    head = ("ID", "TYPE", "DIED", "FIRST FAILED", "ATTEMPTS", "LOSSES", "REASON")
    return [head, *(_dead_row(task) for task in tasks)]


def _dead_row(task: Json) -> tuple[str, ...]:
    return (
        task["id"],
        task["type"],
        _second(task["last_failed_at"]),
        _second(task["first_failed_at"]),
        str(task["attempt"]),
        str(task["losses"]),
        why(task),
    )


def history_text(body: Json, *, width: int | None) -> str:
    head = ("AT", "LIFE", "TURN", "WHAT", "DETAILS")
    lives = {generation: n for n, generation in enumerate(_lives(body["facts"]), start=1)}
    rows = [_fact_row(fact, lives[fact["generation"]]) for fact in body["facts"]]
    return aligned([head, *rows], width=width)


def _lives(facts: Iterable[Json]) -> list[int]:
    return sorted({fact["generation"] for fact in facts})


def _fact_row(fact: Json, life: int) -> tuple[str, ...]:
    what = str(fact["kind"]).replace("_", " ")
    return fact["at"], str(life), str(fact["turn"]), what, _details(fact)


def _details(fact: Json) -> str:
    parts = [
        f"attempt {fact['attempt']}" if "attempt" in fact else "",
        why(fact),
        f"next at {fact['next_attempt_at']}" if fact.get("next_attempt_at") else "",
        f"losses {fact['losses']}" if fact.get("losses") else "",
    ]
    return ", ".join(one for one in parts if one)


def quarantine_rows(records: Iterable[Json]) -> Rows:
    head = ("ID", "AT", "BYTES", "DISCARDED BY", "REASON")
    return [head, *(_quarantine_row(record) for record in records)]


def _quarantine_row(record: Json) -> tuple[str, ...]:
    return (
        record["id"],
        _second(record["at"]),
        str(record["size"]),
        record.get("discarded_by", "-"),
        record["reason"],
    )


def record_card(record: Json) -> str:
    """Show the content of a record, with escapes for everything a terminal would interpret."""
    headers = record["headers_base64"].items()
    return "\n".join(
        [
            f"{record['id']}  {_second(record['at'])}  {record['size']} bytes",
            record["reason"],
            *(
                f"  {_escaped(name.encode())}: {_escaped(b64decode(value))}"
                for name, value in headers
            ),
            _escaped(b64decode(record["value_base64"])),
            "",
        ]
    )


def _escaped(octets: bytes) -> str:
    return repr(octets)[2:-1]


def enqueued_rows(requests: Iterable[Json]) -> Rows:
    head = ("TASK", "ENQUEUED", "BYTES", "REFUSED", "REASON")
    return [head, *(_enqueued_row(one) for one in requests)]


def _enqueued_row(one: Json) -> tuple[str, ...]:
    parked_at = _second(one["parked_at"]) if "parked_at" in one else "-"
    words = [one.get("reason"), one.get("detail")]
    place = f" (at {one['field']})" if "field" in one else ""
    reason = ": ".join(word for word in words if word) + place
    return one["task_id"], _second(one["enqueued_at"]), str(one["size"]), parked_at, reason


def endpoint_rows(endpoints: Iterable[Json]) -> Rows:
    rows = [(one["url"], _second(one["disabled_at"])) for one in endpoints]
    return [("URL", "DISABLED"), *rows]


def job_rows(jobs: Iterable[Json]) -> Rows:
    head = ("ID", "STATE", "MADE", "TOTAL", "LEFT", "SUCCEEDED", "FAILED", "WHY")
    return [head, *(_job_row(job) for job in jobs)]


def _job_row(job: Json) -> tuple[str, ...]:
    counts = (str(job[name]) for name in ("total", "left", "succeeded", "failed"))
    return job["id"], job["state"], _second(job["created_at"]), *counts, job.get("why", "")


def job_card(job: Json) -> str:
    filters = {name: job.get(name) for name in _WANTED if job.get(name) is not None}
    about: dict[str, Any] = {
        "state": job["state"],
        "why": job.get("why"),
        "wanted": ", ".join(f"{name}={value}" for name, value in filters.items())
        or "all dead tasks",
        "pace": f"{job['rate_per_second']:g} per second, at most {job['limit']:,}",
        "redriven": f"{job['redriven']} of {job['total']}, {job['skipped']} skipped",
        "ended": f"{job['succeeded']} succeeded, {job['failed']} failed again",
        "made": job["created_at"],
    }
    rows = [(name, str(value)) for name, value in about.items() if value]
    return f"{job['id']}\n{aligned(rows, indent='  ')}"


_WANTED = ("type", "reason", "error_class", "dead_after", "dead_before")


def _second(moment: str) -> str:
    return moment.partition(".")[0].replace("T", " ")
