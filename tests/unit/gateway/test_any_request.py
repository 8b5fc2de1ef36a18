"""Any input gets a proper response: no stack trace, and no 5xx while stores are available."""

import json
from base64 import b64encode

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from functions.gateway.handler import lambda_handler
from taskmill.core import topics
from tests.unit.gateway import described
from tests.unit.gateway.calls import hold_to_description
from tests.unit.stage import Stage, an_http_event

MOST_BYTES = 6_000_000
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
NAMES = ["type", "status", "limit", "cursor", "wait", "include", "created_after", "metadata.k"]
FIELDS = ["type", "payload", "idempotency_key", "max_attempts", "timeout_seconds", "metadata"]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
queries = st.dictionaries(st.sampled_from(NAMES) | texts, texts | st.integers().map(str))
keys = st.dictionaries(st.just("Idempotency-Key"), texts)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
values = st.recursive(
    scalars | st.sampled_from(["echo", {}, {"say": 1}, 10**4000, -0.0, 1e308, "\x00", "\ud800"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(FIELDS), inner),
    max_leaves=8,
)
fields = st.dictionaries(st.sampled_from(FIELDS), values, max_size=4)
tasks = st.builds(lambda given: {"type": "echo"} | given, fields) | values
batches = st.builds(lambda given: {"tasks": given}, st.lists(tasks, max_size=5) | values)
bodies = (tasks | batches).map(lambda value: json.dumps(value).encode()) | st.binary(max_size=60)


@pytest.fixture(scope="module")
def stage():
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage()
        stage.bind(patch)
        yield stage


def answer_to(stage, event):
    answer = lambda_handler(event, stage.context())
    body = json.loads(answer["body"])
    assert "Traceback" not in answer["body"]
    hold_to_description(event, answer)
    assert len(json.dumps(answer)) < MOST_BYTES
    assert answer["headers"]["X-Request-Id"] == event["requestContext"]["requestId"]
    if answer["statusCode"] >= 400:
        assert set(body) - {"field"} == {"type", "title", "status", "detail"}
        assert body["status"] == answer["statusCode"]
    return answer["statusCode"], body


@given(st.sampled_from(["/v1/tasks", "/v1/tasks/batch"]), bodies, keys)
@settings(max_examples=150, deadline=None)
def test_any_body_is_taken_or_refused(stage, path, body, headers):
    before = len(stage.log.tasks(topics.PENDING))
    event = an_http_event(
        "POST",
        path,
        headers={"Content-Type": "application/json"} | headers,
        body=b64encode(body).decode(),
        is_base64=True,
    )
    status, answer = answer_to(stage, event)
    assert status in {200, 202, 400, 413, 422}
    taken = [one["status"] for one in answer.get("results", [{"status": status}])].count(202)
    assert len(stage.log.tasks(topics.PENDING)) == before + taken


@given(st.sampled_from(["/v1/tasks", "/v1/tasks/{}"]), texts, queries)
@settings(max_examples=150, deadline=None)
def test_any_question_is_answered_or_refused(stage, path, task_id, query):
    status, _ = answer_to(stage, an_http_event("GET", path.format(task_id), query=query))
    assert status in {200, 400, 404, 422}


@given(st.sampled_from(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "M-SEARCH"]), texts)
@settings(max_examples=100, deadline=None)
def test_any_other_route_is_not_found_or_not_allowed(stage, method, rest):
    path = f"/v1/{rest}/none"
    assume(not any(described.route_of(one, path) for one in METHODS))
    before = len(stage.log.tasks(topics.PENDING))
    status, answer = answer_to(stage, an_http_event(method, path))
    assert (status, answer["type"]) in {(404, "not_found"), (405, "method_not_allowed")}
    assert len(stage.log.tasks(topics.PENDING)) == before
