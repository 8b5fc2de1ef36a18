"""Pauses over HTTP: make, replace, list and end."""

import json

import pytest

from taskmill.core.errors import StoreUnavailable
from taskmill.stores.api_keys import ApiKeys
from tests.unit.gateway.calls import JSON, call, get, post, submit
from tests.unit.stage import NOW, Stage

PATH = "/v1/pauses"
ECHO = f"{PATH}/type:echo"
NOW_TEXT = "2026-11-06T21:20:00.000Z"
SOON = "2026-11-06T21:30:00.000Z"


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def paused(stage):
    return get(stage, PATH).body["pauses"]


def end(stage, path=ECHO):
    return call(stage, "DELETE", path)


class AwayLanes:
    def set_pauses(self, pauses, **_how):
        raise StoreUnavailable("Redis", f"asked to set {len(pauses)} pauses")


def test_a_type_is_paused_until_it_is_resumed(stage):
    made = post(stage, PATH, {"type": "echo", "reason": "the bank is down"})
    assert made.status == 201
    assert made.body == {
        "id": "type:echo",
        "type": "echo",
        "reason": "the bank is down",
        "by": "anybody",
        "at": NOW_TEXT,
    }
    assert paused(stage) == [made.body]
    submit(stage)
    stage.dispatch()
    assert stage.take() == ()
    assert (end(stage).status, paused(stage)) == (200, [])
    assert len(stage.take()) == 1


def test_everything_is_paused_without_a_type(stage):
    post(stage, PATH, {"type": "echo"})
    made = post(stage, PATH, {})
    assert (made.status, made.body) == (201, {"id": "all", "by": "anybody", "at": NOW_TEXT})
    assert [one["id"] for one in paused(stage)] == ["all", "type:echo"]
    assert end(stage, f"{PATH}/all").body == made.body
    assert [one["id"] for one in paused(stage)] == ["type:echo"]


@pytest.mark.parametrize("span", [{"seconds": 600}, {"until": "2026-11-06T22:30:00+01:00"}])
def test_a_pause_may_have_an_end(stage, span):
    assert post(stage, PATH, {"type": "echo"} | span).body["until"] == SOON
    stage.clock.move_to(NOW + 599_999)
    assert len(paused(stage)) == 1
    stage.clock.move_to(NOW + 600_000)
    assert paused(stage) == []
    assert end(stage).kind == (404, "not_found", None)


def test_a_second_pause_replaces_the_first(stage):
    post(stage, PATH, {"type": "echo", "reason": "slow", "seconds": 600})
    again = post(stage, PATH, {"type": "echo"})
    assert (again.status, paused(stage)) == (200, [again.body])
    assert {"reason", "until"}.isdisjoint(again.body)


def test_the_name_of_the_key_is_kept_with_the_pause(stage):
    digest = "2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683"  # of "key"
    stage.ports.api_keys = ApiKeys(lambda: json.dumps({"ops": digest}))
    made = call(stage, "POST", PATH, headers=JSON | {"X-Api-Key": "key"}, body="{}")
    assert made.body["by"] == "ops"


@pytest.mark.parametrize(
    ("fields", "kind", "field", "detail"),
    [
        ({"type": "nobody"}, "unknown_type", "/type", "the deployed types are: echo, "),
        ({"type": ""}, "invalid_request", "/type", ""),
        ({"type": None}, "invalid_request", "/type", ""),
        ({"typ": "echo"}, "invalid_request", "", "typ"),
        ({"until": "soon"}, "invalid_request", "/until", "must be a time with a zone"),
        ({"until": "2026-11-06T21:20:00"}, "invalid_request", "/until", "with a zone"),
        ({"until": NOW_TEXT}, "invalid_request", "/until", f"it is {NOW_TEXT} now"),
        ({"until": "1969-01-01T00:00:00Z"}, "invalid_request", "/until", "in the past"),
        ({"until": "2028-01-01T00:00:00Z"}, "invalid_request", "/until", "at most 400 days"),
        ({"until": SOON, "seconds": 1}, "invalid_request", "/seconds", "not both"),
        ({"seconds": 0}, "invalid_request", "/seconds", ""),
        ({"seconds": 34_560_001}, "invalid_request", "/seconds", ""),
        ({"reason": ""}, "invalid_request", "/reason", ""),
        ({"reason": "x" * 501}, "invalid_request", "/reason", ""),
    ],
)
def test_what_cannot_be_is_refused_with_the_field_and_the_reason(
    stage, fields, kind, field, detail
):
    answer = post(stage, PATH, fields)
    assert answer.kind == (422, kind, field)
    assert detail in answer.body["detail"]
    assert paused(stage) == []


@pytest.mark.parametrize("name", ["type:echo", "type:nobody", "type:", "all", "echo", "lane:*"])
def test_a_pause_that_is_not_there_is_not_found(stage, name):
    answer = end(stage, f"{PATH}/{name}")
    assert answer.kind == (404, "not_found", None)
    assert answer.body["detail"].startswith(f"there is no pause {name}; GET /v1/pauses")


def test_without_redis_a_change_is_kept_and_said_to_come_later(stage):
    stage.ports.lanes = AwayLanes()
    made = post(stage, PATH, {"type": "echo"})
    assert (made.status, made.body["lanes"]) == (201, "deferred")
    (listed,) = paused(stage)
    assert "lanes" not in listed
    assert end(stage).body["lanes"] == "deferred"
    assert paused(stage) == []


def test_without_the_ledger_nobody_pauses(stage):
    stage.ledger.is_away = True
    for answer in (post(stage, PATH, {}), get(stage, PATH), end(stage)):
        assert answer.status == 503
        assert answer.body["detail"] == "pauses are in the ledger: PostgreSQL is unavailable"
