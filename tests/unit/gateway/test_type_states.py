"""The present state of types over HTTP: what waits, what is in flight, pauses, the worker."""

from datetime import timedelta

import pytest

from taskmill.lanes.lane import place_of
from taskmill.lanes.pauses import pause
from taskmill.lanes.rules import PauseOrder, key_of
from tests.builders import ECHO
from tests.unit.gateway.calls import get
from tests.unit.stage import Stage
from tests.unit.world import Away

NO_SHELF = dict.fromkeys(("critical", "high", "normal", "low"), 0)
IDLE = dict.fromkeys(("critical", "high", "normal", "low", "alone"), 0)


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def now(stage, name=ECHO):
    types = get(stage, "/v1/types").body["types"]
    return next(one["now"] for one in types if one["name"] == name)


def test_an_idle_type_says_so(stage):
    assert now(stage) == {
        "lane": "live",
        "waiting": IDLE,
        "shelved": NO_SHELF,
        "in_flight": 0,
        "oldest_wait_seconds": None,
        "pauses": [],
        "worker": {"state": "idle", "taken_at": None},
    }


def test_what_waits_is_counted_by_priority(stage):
    stage.admitted("a", "b", priority=3)
    stage.admitted("c")
    stage.pass_time(seconds=4)
    stage.take(most=1)
    echo = now(stage)
    assert echo["waiting"] == IDLE | {"critical": 1, "normal": 1}
    assert (echo["in_flight"], echo["oldest_wait_seconds"]) == (1, 4)
    assert echo["worker"]["state"] == "takes"
    assert now(stage, "email")["waiting"] == IDLE


def test_what_is_on_a_shelf_is_counted_beside_what_waits(stage):
    early = stage.request(priority=3)
    stage.ports.shelf.keep([place_of(early)])
    stage.pass_time(seconds=4)
    stage.admitted()
    echo = now(stage)
    assert (echo["waiting"], echo["shelved"]) == (IDLE | {"normal": 1}, NO_SHELF | {"critical": 1})
    assert echo["oldest_wait_seconds"] == 4
    assert now(stage, "email")["shelved"] == NO_SHELF


def test_a_missing_worker_is_reported_with_where_to_look(stage):
    stage.admitted()
    stage.wait(timedelta(seconds=11))
    worker = now(stage)["worker"]
    assert worker["state"] == "absent"
    assert "the log of worker-echo" in worker["detail"]


def test_a_pause_is_shown_with_its_reason(stage):
    pause(PauseOrder(key=key_of(ECHO), by="ann", reason="its database moves"), stage.ports)
    (shown,) = now(stage)["pauses"]
    assert (shown["id"], shown["by"], shown["reason"]) == ("type:echo", "ann", "its database moves")
    assert get(stage, "/v1/stats").body["types"]["echo"]["now"]["pauses"] == [shown]


def test_a_lane_that_is_rebuilt_has_no_numbers(stage):
    stage.admitted()
    stage.hot.lanes[ECHO].restart()
    echo = now(stage)
    assert (echo["lane"], echo["waiting"], echo["in_flight"]) == ("rebuilding", None, None)
    assert echo["worker"]["state"] == "unknown"


def test_types_are_listed_while_their_state_is_unknown(stage):
    stage.ports.lanes = Away()
    stage.ledger.is_away = True
    echo = now(stage)
    assert (echo["lane"], echo["waiting"], echo["pauses"]) == ("unknown", None, None)
    assert echo["shelved"] is None


def test_statistics_have_the_same_state_and_the_ledgers_figures_by_priority(stage):
    stage.admitted("a", "b", priority=3)
    stage.admitted("c")
    stage.record()
    echo = get(stage, "/v1/stats").body["types"]["echo"]
    assert echo["now"] == now(stage)
    assert echo["depth"] == {"queued": 3}
    assert echo["priorities"] == {"critical": {"queued": 2}, "normal": {"queued": 1}}


def test_a_type_that_is_not_deployed_has_no_state(stage):
    stage.log.send_pending([stage.request(type="nobody")])
    stage.log.flush()
    stage.record()
    assert get(stage, "/v1/stats").body["types"]["nobody"]["now"] is None


def test_the_lag_of_workers_is_left_out(stage):
    assert not [name for name in get(stage, "/v1/stats").body["lag"] if "worker" in name]
