"""Finds a task by its type and idempotency key."""

from http import HTTPStatus

from functions.gateway.http.problem import Problem, problem_of, unprocessable
from functions.gateway.http.routes import ApiRequest, Success
from functions.gateway.presenter import task_as_json
from functions.gateway.reading import finder, unread
from taskmill.core.task import DEFAULT_TENANT, TaskType, keyed_id
from taskmill.core.view import Nowhere, TaskView
from taskmill.submission.read import key_refusal

KEY = "idempotency_key"


def look_up(request: ApiRequest) -> Success | Problem:
    """Return a list of one task or none; the task is as current as when it is read by id."""
    given = request.query
    for name in given:
        if name not in {KEY, "type"}:
            detail = f"{name} cannot be combined with {KEY}, which identifies one task"
            return unprocessable("invalid_request", detail, name)
    if "type" not in given:
        return unprocessable("invalid_request", f"{KEY} requires type", "type")
    refusal = key_refusal(given[KEY], KEY)
    if refusal is not None:
        return problem_of(refusal)
    if not given["type"].isascii():  # nobody can have submitted such a task
        return _page()
    task_id = keyed_id(DEFAULT_TENANT, TaskType(given["type"]), given[KEY])
    found = finder(request.stores)(task_id)
    if isinstance(found, TaskView):
        return _page(found)
    return _page() if found == Nowhere() else unread(task_id, found)


def _page(*tasks: TaskView) -> Success:
    shown = [task_as_json(task) for task in tasks]
    return Success(HTTPStatus.OK, {"tasks": shown, "next_cursor": None, "as_of": None})
