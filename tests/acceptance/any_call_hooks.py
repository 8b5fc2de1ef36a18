"""Schemathesis hooks: values that schemas cannot express, and a bearable rate of requests."""

import re
from datetime import UTC, datetime, timedelta
from itertools import count

import schemathesis
from hypothesis import strategies as st

from taskmill.core.task import Status

LONGEST_WAIT = 0.2
OF_THE_DEAD = {"reason", "error_class", "dead_after", "dead_before"}
MOST_KNOWN = 20
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt].*([Zz]|[+-][0-9]{2}:[0-9]{2})")
_numbers = count()
_known = {"/v1/tasks": [], "/v1/redrives": [], "/v1/schedules": [], "/v1/pauses": []}
MADE = {201, 202}
SELDOM = 86_400

# Nobody is called: without a signing secret the worker discards a webhook at once.
schemathesis.openapi.format("webhook-url", st.just("https://hooks.example.com/in"))
schemathesis.openapi.format("cron", st.sampled_from(["0 0 1 1 *", "30 2 * 1 1", "0 0 1 1 * 30"]))
schemathesis.openapi.format("timezone", st.sampled_from(["UTC", "Europe/Berlin"]))
schemathesis.openapi.format("webhook-header", st.sampled_from(["X-Shop", "X-Order"]))
_times = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - the strategy adds the zone
schemathesis.openapi.format("date-time", _times.map(datetime.isoformat))
schemathesis.openapi.format("header-value", st.from_regex(r"\A[!-~]{0,20}\Z"))


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Hide fields that refer to uploads or earlier responses: they cannot be made up."""
    schemas = raw_schema["components"]["schemas"]
    schemas["RevisedSchedule"]["properties"].pop("revision")
    for name, schema in schemas.items():
        if name.startswith("TaskRequest."):
            schema["properties"].pop("payload_ref")
            schema["required"] += ["payload"] if "if" in schema else []
            for word in ("if", "then", "else", "not"):
                schema.pop(word, None)


@schemathesis.hook
def after_call(context, case, response):
    """Record the names of created objects, for requests about existing ones."""
    if case.path in _known and response.status_code in MADE:
        made = response.json()
        name = made.get("id") or made["name"]
        _known[case.path] = [*_known[case.path], name][-MOST_KNOWN:]


@schemathesis.hook
def before_call(context, case, kwargs):
    _name_what_is_there(case.path, case.path_parameters or {})
    case.query = _question(case.query or {})
    if case.path == "/v1/payloads" and _names_a_type(case.body):
        case.body["type"] = "echo"  # one that is deployed
    if case.path == "/v1/pauses" and isinstance(case.body, dict):
        _pause_what_nobody_waits_for(case.body)
    for task in _tasks_of(case.body):
        _write_whole_numbers_without_a_point(task)
        _begin_before_the_end(task)
        _hurry(task)
        _give_a_key_of_its_own(task)
    if case.path.startswith("/v1/schedules") and isinstance(case.body, dict):
        _fire_seldom(case.body)
    if "Idempotency-Key" in (case.headers or {}):
        del case.headers["Idempotency-Key"]  # another one than in the body is refused


def _name_what_is_there(path, parameters):
    """Use a known name in every other path that has a parameter for one."""
    for collection, names in _known.items():
        if path.startswith(f"{collection}/{{") and names and next(_numbers) % 2:
            name = names[next(_numbers) % len(names)]
            parameters |= dict.fromkeys(parameters, name)


def _names_a_type(body):
    name = body.get("type") if isinstance(body, dict) else None
    return isinstance(name, str) and 1 <= len(name) <= 128


def _pause_what_nobody_waits_for(body):
    """Pause one deployed type, and until a time to come."""
    if "type" not in body or _names_a_type(body):
        body["type"] = "report"
    if isinstance(body.get("until"), str) and MOMENT.fullmatch(body["until"]):
        body["until"] = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
        if isinstance(body.get("seconds"), int | float):
            del body["until"]


def _question(query):
    """Remove cursors, which cannot be made up, and complete filters for dead tasks."""
    answer = {name: value for name, value in query.items() if name != "cursor"}
    if _is_key(answer.get("idempotency_key")) and answer.keys() != {"type", "idempotency_key"}:
        del answer["idempotency_key"]  # it goes with its type alone
    if OF_THE_DEAD & answer.keys() and answer.get("status") in [*Status, None]:
        answer["status"] = "dead"
    if isinstance(answer.get("wait"), float | int) and 0 <= answer["wait"] <= 25:
        answer["wait"] = round(min(answer["wait"], LONGEST_WAIT), 3)
    return answer


def _write_whole_numbers_without_a_point(fields):
    for name, value in fields.items():
        if isinstance(value, float) and value.is_integer():
            fields[name] = int(value)


def _begin_before_the_end(fields):
    """Keep only one start time, within the allowed range."""
    now = datetime.now(UTC)
    for name, ahead in (("run_at", timedelta()), ("expires_at", timedelta(days=500))):
        if isinstance(fields.get(name), str) and MOMENT.fullmatch(fields[name]):
            fields[name] = (now + ahead).isoformat(timespec="seconds")
            if name == "run_at" and isinstance(fields.get("delay_seconds"), int | float):
                del fields["run_at"]


def _fire_seldom(body):
    """Let no schedule keep the system busy, and backfill at most one instant."""
    every = body.get("every_seconds")
    if isinstance(every, int) and 1 <= every < SELDOM:
        body["every_seconds"] = SELDOM
    moments = [body.get("from"), body.get("until")]
    if all(isinstance(one, str) and MOMENT.fullmatch(one) for one in moments):
        body["from"] = body["until"]


def _hurry(task):
    payload = task.get("payload")
    seconds = payload.get("sleep_seconds") if isinstance(payload, dict) else None
    if isinstance(seconds, float | int) and LONGEST_WAIT < seconds <= 300:
        payload["sleep_seconds"] = LONGEST_WAIT


def _give_a_key_of_its_own(task):
    """Give each request its own key: a repeated one would rightly be refused."""
    key = task.get("idempotency_key")
    if _is_key(key):
        task["idempotency_key"] = f"{next(_numbers)} {key}"[:255]


def _is_key(key):
    is_text = isinstance(key, str) and 1 <= len(key) <= 255
    return is_text and key.isascii() and key.isprintable()


def _tasks_of(body):
    if not isinstance(body, dict):
        return []
    tasks = body.get("tasks", [body, body.get("task")])
    return [one for one in tasks if isinstance(one, dict)] if isinstance(tasks, list) else []
