"""Returns the history of a task: its facts in order and its attempts."""

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Raw

from functions.gateway.http.problem import Problem, unavailable
from functions.gateway.http.read_your_writes import NO_TIME, caught_up, hear_the_log, since_heard
from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.presenter import moment
from functions.gateway.reading import finder, id_of, unread
from taskmill.core.facts import TaskCancelled, TaskChanged, TaskDied, TaskSucceeded
from taskmill.core.view import TaskView
from taskmill.ledger.listing import History
from taskmill.ledger.projection import HistoryEntry

routes = Routes("the history is in the ledger")

LONGEST_HISTORY = 500
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SAID_ELSEWHERE = {"id", "kind", "generation", "turn", "at_ms", "type", "tenant", "token"}
_TOO_LARGE = {"envelope", "result", "result_ref"}
_NAMES = {"due_at_ms": "next_attempt_at", "started_at_ms": "started_at"}
_LAST = {one.__name__ for one in (TaskSucceeded, TaskDied, TaskCancelled)}
_ENDS = {"attempt_lost", "deferred", "succeeded", "died", "cancelled"}


@routes.get("/v1/tasks/<task_id>/history")
def read_history(request: ApiRequest, task_id: str) -> Success | Problem:
    identity, stores = id_of(task_id), request.stores
    if isinstance(identity, Problem):
        return identity
    finding = finder(stores)(identity)
    heard_ms = hear_the_log(stores, NO_TIME)
    history = caught_up(
        stores,
        lambda: stores.ledger_rows.history_of(identity, most=LONGEST_HISTORY),
        lambda history: isinstance(finding, TaskView) and _is_behind(history, finding),
    )
    if history.entries:
        view = {"id": identity} | history_as_json(history) | since_heard(heard_ms)
        return Success(HTTPStatus.OK, view)
    if isinstance(finding, TaskView):
        return unavailable("the ledger does not have the task yet", 1)
    return unread(identity, finding)


def _is_behind(history: History, task: TaskView) -> bool:
    """Return whether the task is known to be further along than its history shows."""
    kinds = {one.kind for one in history.entries if one.generation == task.generation}
    return not kinds or (task.status.is_final and kinds.isdisjoint(_LAST))


def history_as_json(history: History) -> dict[str, Any]:
    facts = [_fact(entry) for entry in history.entries]
    return {
        "facts": facts,
        "attempts": _attempts(history.entries, facts),
        "as_of": moment(history.as_of_ms) if history.as_of_ms is not None else None,
    }


def _fact(entry: HistoryEntry) -> dict[str, Any]:
    body = _body(entry)
    view: dict[str, Any] = {
        "kind": _WORD.sub("_", entry.kind.removeprefix("Task")).lower(),
        "generation": entry.generation,
        "turn": entry.turn,
        "at": moment(entry.at_ms),
    }
    error = {"class": body.pop("error_class", None), "message": body.pop("error_message", None)}
    if (stack := body.pop("stack", None)) is not None:
        error["stack"] = stack
    if entry.kind == TaskChanged.__name__:
        view["run_at"] = moment(body.pop("due_at_ms"))
    for name, value in body.items():
        if name in _NAMES:
            view[_NAMES[name]] = None if value is None else moment(value)
        else:
            view[name] = value
    return view | ({"error": error} if error["class"] else {})


def _body(entry: HistoryEntry) -> dict[str, Any]:
    """Read the visible fields of a fact, except results, which may be hard to decode."""
    members = msgspec.json.decode(entry.body, type=dict[str, Raw])
    hidden = _SAID_ELSEWHERE | _TOO_LARGE
    return {name: msgspec.json.decode(one) for name, one in members.items() if name not in hidden}


def _attempts(
    entries: Iterable[HistoryEntry], facts: Iterable[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Fold starts and ends into attempts; the fencing token matches each end to its start."""
    attempts: dict[tuple[int, int, str], dict[str, Any]] = {}
    for entry, fact in zip(entries, facts, strict=True):
        is_end = fact["kind"] in _ENDS
        if fact.get("started_at") is None or not (is_end or fact["kind"] == "started"):
            continue
        name = (entry.generation, entry.turn, entry.subject)
        attempt = attempts.setdefault(name, _begun(fact))
        if is_end:
            attempt |= {"ended_at": fact["at"], "outcome": _outcome(fact["kind"])}
            attempt |= {word: fact[word] for word in ("reason", "error") if word in fact}
    return _without_gaps(attempts)


def _without_gaps(attempts: dict[tuple[int, int, str], dict[str, Any]]) -> list[dict[str, Any]]:
    """End each attempt that another one at the same turn followed: Redis lost its end."""
    later: set[tuple[int, int]] = set()
    for (generation, turn, _), attempt in reversed(attempts.items()):
        if (generation, turn) in later:
            attempt.setdefault("outcome", "lost")
        later.add((generation, turn))
    return list(attempts.values())


def _begun(fact: dict[str, Any]) -> dict[str, Any]:
    return {word: fact[word] for word in ("generation", "turn", "attempt", "started_at")}


def _outcome(kind: str) -> str:
    return "lost" if kind == "attempt_lost" else kind
