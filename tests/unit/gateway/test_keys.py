"""Requests without a valid key are rejected and learn nothing."""

import json
import logging
from hashlib import sha256

import pytest

from functions.gateway.handler import lambda_handler
from taskmill.core import topics
from taskmill.stores.api_keys import ApiKeys
from tests.unit.gateway.calls import hold_to_description
from tests.unit.stage import Stage, an_http_event
from tests.unit.world import Instead

KEY = "k-4f1d"
BEARER = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def stage(monkeypatch):
    hashed = json.dumps({"ci": sha256(KEY.encode()).hexdigest()})
    stage = Stage(api_keys=ApiKeys(lambda: hashed))
    stage.bind(monkeypatch)
    return stage


def ask(stage, path="/v1/types", *, method="GET", **request):
    event = an_http_event(method, path, **request)
    answer = lambda_handler(event, stage.context())
    hold_to_description(event, answer)
    return answer


@pytest.mark.parametrize(
    "headers",
    [
        BEARER,
        {"authorization": f"bearer {KEY}"},
        {"X-Api-Key": KEY},
        {"Authorization": "Basic dTpw", "x-api-key": KEY},
    ],
)
def test_a_key_opens_in_either_header(stage, headers):
    assert ask(stage, headers=headers)["statusCode"] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": KEY},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {KEY}, Bearer {KEY}"},
        {"Authorization": f"Basic {KEY}"},
        {"Authorization": "Bearer wrong", "X-Api-Key": KEY},
        {"X-Api-Key": KEY.upper()},
        {"X-Api-Key": sha256(KEY.encode()).hexdigest()},
    ],
)
def test_whatever_is_wrong_with_a_key_the_answer_is_the_same(stage, headers):
    answer = ask(stage, headers=headers)
    assert answer["statusCode"] == 401
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    assert answer["headers"]["WWW-Authenticate"] == "Bearer"
    assert answer["headers"]["X-Request-Id"].startswith("request-")
    assert json.loads(answer["body"]) == {
        "type": "unauthorized",
        "title": "Unauthorized",
        "status": 401,
        "detail": "send an API key: Authorization: Bearer <key>, or X-Api-Key: <key>",
    }


@pytest.mark.parametrize("headers", [{}, BEARER])
@pytest.mark.parametrize("answer", [KEY, f"{KEY},x", f"x,{KEY}"])
def test_a_key_in_the_query_is_refused_even_beside_a_good_one(stage, headers, answer):
    assert ask(stage, headers=headers, query={"api_key": answer})["statusCode"] == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/tasks"),
        ("POST", "/v1/tasks/batch"),
        ("GET", "/v1/tasks"),
        ("GET", "/v1/tasks/1"),
        ("GET", "/v1/types"),
        ("GET", "/readyz"),
        ("GET", "/nothing"),
        ("GET", "/healthz/"),
        ("GET", "//healthz"),
    ],
)
def test_every_route_but_one_asks_for_a_key(stage, method, path):
    request = {"headers": {"Content-Type": "application/json"}, "body": '{"type": "echo"}'}
    assert ask(stage, path, method=method, **request)["statusCode"] == 401
    assert stage.log.tasks(topics.PENDING) == []


def test_who_asks_for_the_health_needs_no_key(stage):
    assert ask(stage, "/healthz")["statusCode"] == 200


def test_no_key_is_ever_logged(stage, caplog):
    def breaks(*_):
        raise RuntimeError

    stage.ports.catalogue = Instead(stage.catalogue, entries=breaks)
    with caplog.at_level(logging.DEBUG):
        assert ask(stage, headers=BEARER)["statusCode"] == 500
        ask(stage, headers={"X-Api-Key": f"{KEY}-wrong"})
        ask(stage, query={"key": KEY})
    assert "request failed" in caplog.text
    assert KEY not in caplog.text
