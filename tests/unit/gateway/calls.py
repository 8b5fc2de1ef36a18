"""Calls the gateway like a client, and checks general promises of every response."""

import json
from dataclasses import dataclass
from typing import Any

from functions.gateway.handler import lambda_handler
from functions.workers.echo.handler import lambda_handler as echo
from taskmill.core import topics
from tests.builders import a_claim, a_death
from tests.unit.gateway import described
from tests.unit.stage import an_http_event

JSON = {"Content-Type": "application/json"}
PROBLEM = "application/problem+json"
NOBODY = "01a1b2c3-0000-7000-8000-000000000001"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: Any

    @property
    def kind(self) -> tuple[int, str | None, str | None]:
        return self.status, self.body.get("type"), self.body.get("field")


def answer_to(stage, event):
    """Return the response after checking the promises of every response."""
    answer = lambda_handler(event, stage.context())
    assert answer["headers"]["X-Request-Id"] == event["requestContext"]["requestId"]
    is_fine = answer["statusCode"] < 400
    assert answer["headers"]["Content-Type"] == ("application/json" if is_fine else PROBLEM)
    assert "Traceback" not in answer["body"]
    if answer["statusCode"] in {429, 503}:
        assert answer["headers"]["Retry-After"].isdecimal()
        assert int(answer["headers"]["Retry-After"]) >= 1
    hold_to_description(event, answer)
    return Answer(answer["statusCode"], answer["headers"], json.loads(answer["body"]))


def hold_to_description(event, answer):
    asked = event["requestContext"]["http"]
    described.check(
        asked["method"], asked["path"], answer["statusCode"], answer["headers"], answer["body"]
    )


def call(stage, method, path, **request):
    return answer_to(stage, an_http_event(method, path, **request))


def get(stage, path, **query):
    return call(stage, "GET", path, query=query)


def post(stage, path, body=None):
    text = None if body is None else json.dumps(body)
    return call(stage, "POST", path, headers=JSON if body is not None else {}, body=text)


def submit(stage, *, headers=JSON, **fields):
    body = json.dumps({"type": "echo"} | fields)
    return call(stage, "POST", "/v1/tasks", headers=headers, body=body)


def batch(stage, *tasks):
    return call(
        stage, "POST", "/v1/tasks/batch", headers=JSON, body=json.dumps({"tasks": list(tasks)})
    )


def end(stage, task_id):
    """End a task as its worker does."""
    tasks = [task for task in stage.log.tasks(topics.PENDING) if task.id == task_id]
    stage.deliver(echo, tasks[0])


def die(stage):
    """Submit a task that its worker discards, and record its end in the ledger."""
    task = submit(stage).body
    (envelope,) = [one for one in stage.log.tasks(topics.PENDING) if one.id == task["id"]]
    leases = stage.leases
    (claimed,) = leases.claim([a_claim(envelope)])
    settlement = a_death(envelope, claimed.token)
    leases.settle([settlement])
    stage.log.send_facts(settlement.facts)
    stage.log.flush()
    stage.record()
    stage.pass_time(milliseconds=1_000)
    return task
