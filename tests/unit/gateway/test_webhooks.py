"""Webhooks in requests: refused targets, and receivers that are enabled again."""

import pytest

from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.redis.egress import RedisEndpoints
from taskmill.stores.redis.session import Session
from tests.unit.gateway.calls import JSON, call, get, post, submit
from tests.unit.stage import Stage

URL = "https://hooks.example.com/in"
FIRST = {"url": URL, "disabled_at": "2026-11-06T21:20:00.001Z"}


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def ask(stage, **payload):
    return submit(stage, type="webhook", payload={"url": URL, "secret": "run_context"} | payload)


def test_a_webhook_to_a_public_endpoint_is_taken(stage):
    assert ask(stage, body={"order": 17}, headers={"X-Shop": "1"}).status == 202


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://127.0.0.1/in", "127.0.0.1 is not public"),
        ("https://localhost/in", "localhost is not public"),
        ("https://[::1]/in", "::1 is not public"),
        ("https://[::ffff:169.254.169.254]/in", "is not a public address"),
        ("https://2130706433/in", "an address in an unusual form"),
        ("https://①②⑦.0.0.1/in", "written in ASCII"),
        ("https://169.254.169.254/in", "169.254.169.254 is not a public address"),
        ("https://hooks.example.com:6379/", "the port must be 443"),
        ("http://hooks.example.com/", "must begin with https://"),
        ("file:///etc/passwd", "must begin with https://"),
        ("https://me@hooks.example.com/", "must not contain a user or password"),
        ("https://hooks.example.com/#x", "not have a fragment"),
        ("https://hooks.example.com/a\r\nHost: b", "contains an invalid character"),
        ("https://hooks.example.com/" + "a" * 3000, "the limit is 2048"),
    ],
)
def test_a_target_that_may_not_be_called_is_refused(stage, url, why):
    answer = ask(stage, url=url)
    assert answer.kind == (422, "invalid_payload", "/payload/url")
    assert why in answer.body["detail"]


@pytest.mark.parametrize(
    ("headers", "field", "why"),
    [
        ({"X\r\nHost": "a"}, "/payload/headers", "a header name"),
        ({"X ": "a"}, "/payload/headers", "a header name"),
        ({"Host": "a"}, "/payload/headers", "is reserved"),
        ({"webhook-id": "a"}, "/payload/headers", "is reserved"),
        ({"X": "a\r\nHost: b"}, "/payload/headers/X", "printable ASCII"),
        ({"X": "a\n"}, "/payload/headers/X", "printable ASCII"),
        ({"X": 1}, "/payload/headers/X", "string"),
    ],
)
def test_a_header_that_would_break_the_request_is_refused(stage, headers, field, why):
    answer = ask(stage, headers=headers)
    assert answer.kind == (422, "invalid_payload", field)
    assert why in answer.body["detail"]


@pytest.mark.parametrize(
    "payload",
    [{"method": "CONNECT"}, {"method": "post"}, {"secret": ""}, {"secret": "a\n"}, {"extra": 1}],
)
def test_what_a_webhook_does_not_have_is_refused(stage, payload):
    assert ask(stage, **payload).kind[:2] == (422, "invalid_payload")


def test_this_machine_is_let_in_at_the_door_only_where_it_is_allowed():
    payload = {"url": "http://127.0.0.1:8081/in", "secret": "run_context"}
    misfit = AssembledCatalogue().misfit("webhook", payload)
    assert misfit.pointer == "/url"
    assert AssembledCatalogue(reaches_loopback=True).misfit("webhook", payload) is None


def test_disabled_endpoints_are_told_and_enabled_again(stage):
    stage.ports.endpoints.disable(URL, at_ms=1_794_000_000_001)
    stage.ports.endpoints.disable("https://bank.example/", at_ms=1_794_000_000_000)
    answer = get(stage, "/v1/endpoints/disabled")
    assert (answer.status, answer.body["endpoints"][0]) == (200, FIRST)
    assert len(answer.body["endpoints"]) == 2
    assert get(stage, "/v1/endpoints/disabled", limit="1").body == {"endpoints": [FIRST]}
    answer = post(stage, "/v1/endpoints/enable", {"url": f"{URL}?x=1"})
    assert (answer.status, answer.body) == (200, {"url": URL, "enabled": True})
    assert not stage.ports.endpoints.is_disabled(URL)
    assert post(stage, "/v1/endpoints/enable", {"url": URL}).kind == (404, "not_found", None)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"url": "ftp://x"}, (422, "invalid_request", "/url")),
        ({"url": 1}, (422, "invalid_request", "/url")),
        ({}, (422, "invalid_request", "")),
        ({"url": URL, "x": 1}, (422, "invalid_request", "")),
    ],
)
def test_what_is_no_endpoint_is_not_enabled(stage, body, kind):
    assert post(stage, "/v1/endpoints/enable", body).kind == kind


def test_a_body_that_is_no_json_is_refused(stage):
    answer = call(stage, "POST", "/v1/endpoints/enable", headers=JSON, body="{")
    assert answer.kind == (400, "bad_request", None)
    assert get(stage, "/v1/endpoints/disabled", limit="0").status == 422
    assert get(stage, "/v1/endpoints/disabled", what="0").status == 422


def test_without_redis_endpoints_are_not_told(stage):
    stage.ports.endpoints = RedisEndpoints(Session("redis://127.0.0.1:1/0"))
    assert get(stage, "/v1/endpoints/disabled").status == 503
    assert post(stage, "/v1/endpoints/enable", {"url": URL}).status == 503


@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/tasks/batch", "/v1/redrives", "/v1/types"])
def test_what_a_webhook_sends_is_turned_away(stage, path):
    """A task that submits the task that submits it would never end."""
    answer = call(stage, "POST", path, headers=JSON | {"Taskmill-Depth": "1"}, body="{}")
    assert answer.kind == (403, "forbidden", None)
    assert "WWW-Authenticate" not in answer.headers
