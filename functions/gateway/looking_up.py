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
    query = request.query
    for name in query:
        if name not in {KEY, "type"}:
            detail = f"{name} cannot be combined with {KEY}, which identifies one task"
            return unprocessable("invalid_request", detail, name)
    if "type" not in query:
        return unprocessable("invalid_request", f"{KEY} requires type", "type")
    refusal = key_refusal(query[KEY], KEY)
    if refusal is not None:
        return problem_of(refusal)
    if not query["type"].isascii():  # nobody can have submitted such a task
        return _page()
    task_id = keyed_id(DEFAULT_TENANT, TaskType(query["type"]), query[KEY])
    finding = finder(request.stores)(task_id)
    if isinstance(finding, TaskView):
        return _page(finding)
    return _page() if finding == Nowhere() else unread(task_id, finding)


def _page(*tasks: TaskView) -> Success:
    views = [task_as_json(task) for task in tasks]
    return Success(HTTPStatus.OK, {"tasks": views, "next_cursor": None, "as_of": None})
