"""Schedules over HTTP: create, show, edit, pause, trigger and delete."""

import json

import pytest
from msgspec import Raw

from taskmill.core.counting import Count
from taskmill.core.refusal import invalid
from taskmill.core.task import TaskType, keyed_id
from taskmill.schedules.manage import put as put_schedule
from taskmill.schedules.read import WantedSchedule
from taskmill.schedules.schedule import Definition, Draft
from tests.unit.gateway.calls import JSON, call, get, post
from tests.unit.stage import NOW, Stage

HOURLY = {"cron": "0 * * * *", "task": {"type": "echo", "payload": {"say": "hello"}}}
PATH = "/v1/schedules/hourly"
NEXT = "2026-11-06T22:00:00.000Z"  # the stage's clock begins at 21:20


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def put(stage, body, path=PATH):
    return call(stage, "PUT", path, headers=JSON, body=json.dumps(body))


def delete(stage, path=PATH):
    return call(stage, "DELETE", path)


def make(stage, **fields):
    return post(stage, "/v1/schedules", {"name": "hourly"} | HOURLY | fields)


def requests_of(stage):
    return [json.loads(kept.row.request) for kept in stage.requests.kept]


def test_a_schedule_is_made_once_and_shown(stage):
    made = make(stage)
    assert (made.status, made.headers["Location"]) == (201, PATH)
    assert made.body == {
        "name": "hourly",
        "task": HOURLY["task"],
        "cron": "0 * * * *",
        "timezone": "UTC",
        "dst": {"gap": "skip", "fold": "first"},
        "overlap": "allow",
        "catch_up": "one",
        "catch_up_window_seconds": 86_400,
        "jitter_seconds": 0.0,
        "enabled": True,
        "managed": False,
        "revision": 1,
        "next_at": NEXT,
        "fired": 0,
        "skipped": 0,
        "missed": 0,
        "backfilled": 0,
        "created_at": "2026-11-06T21:20:00.000Z",
        "changed_at": "2026-11-06T21:20:00.000Z",
    }
    again = make(stage)
    assert (again.status, again.body) == (200, made.body)
    assert get(stage, PATH).body == made.body
    assert make(stage, jitter_seconds=5).kind == (409, "already_exists", None)
    assert make(stage, enabled=False).kind == (409, "already_exists", None)


REFUSED = [
    ({"cron": "0 0 31 2 *"}, "invalid_schedule", "/cron"),
    ({"cron": "every day"}, "invalid_schedule", "/cron"),
    ({"cron": ""}, "invalid_schedule", "/cron"),
    ({"timezone": "Europe/Berlyn"}, "invalid_schedule", "/timezone"),
    ({"every_seconds": 60}, "invalid_schedule", "/every_seconds"),
    ({"every_seconds": 0}, "invalid_request", "/every_seconds"),
    ({"dst": {"gap": "jump"}}, "invalid_request", "/dst/gap"),
    ({"dst": {"odd": 1}}, "invalid_request", "/dst"),
    ({"overlap": "perhaps"}, "invalid_request", "/overlap"),
    ({"catch_up": "some"}, "invalid_request", "/catch_up"),
    ({"jitter_seconds": -1}, "invalid_request", "/jitter_seconds"),
    ({"name": "a b"}, "invalid_request", "/name"),
    ({"name": ""}, "invalid_request", "/name"),
    ({"name": "hourly\n"}, "invalid_request", "/name"),
    ({"name": "a/b"}, "invalid_request", "/name"),
    ({"task": 7}, "invalid_request", "/task"),
    ({"task": {"type": "nobody"}}, "unknown_type", "/task/type"),
    ({"task": {"type": "echo", "cost": 3}}, "not_supported_yet", "/task/cost"),
    ({"task": {"type": "echo", "run_at": NEXT}}, "invalid_request", "/task/run_at"),
    ({"task": {"type": "echo", "idempotency_key": "k"}}, "invalid_request", None),
    ({"task": {"type": "echo", "payload_ref": {}}}, "invalid_request", "/task/payload_ref"),
    (
        {"task": {"type": "echo", "payload": {"sleep_seconds": -1}}},
        "invalid_payload",
        "/task/payload/sleep_seconds",
    ),
    (
        {"task": {"type": "echo", "payload": {"say": "x" * 300_000}}},
        "payload_too_large",
        "/task/payload",
    ),
]


@pytest.mark.parametrize(
    ("fields", "kind", "field"), REFUSED, ids=[str(fields)[:60] for fields, _, _ in REFUSED]
)
def test_what_cannot_be_is_refused_with_the_field_and_the_reason(stage, fields, kind, field):
    for answer in (make(stage, **fields), put(stage, HOURLY | fields)):
        if "name" in fields and answer.body["detail"].startswith("Object contains unknown"):
            continue  # the name of the path counts
        assert answer.kind[1] == kind
        assert field is None or answer.body["field"] == field
        assert answer.status in {413, 422}
    assert get(stage, "/v1/schedules").body["schedules"] == []


def test_a_schedule_without_a_time_is_refused(stage):
    answer = post(stage, "/v1/schedules", {"name": "never", "task": HOURLY["task"]})
    assert answer.kind == (422, "invalid_schedule", "/cron")


@pytest.mark.parametrize("body", ["[]", "7", "{", '{"name": "a", "name": "b"}', "{}"])
def test_what_is_no_schedule_is_refused(stage, body):
    for method, path in (("POST", "/v1/schedules"), ("PUT", PATH)):
        assert call(stage, method, path, headers=JSON, body=body).status in {400, 422}
        assert call(stage, method, path, body=body).status == 415


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/trigger"),
        ("GET", "/next"),
    ],
)
@pytest.mark.parametrize("name", ["nobody", "no~body"])
def test_what_is_not_there_is_not_found(stage, method, path, name):
    answer = call(stage, method, f"/v1/schedules/{name}{path}")
    assert answer.kind == (404, "not_found", None)


def test_a_name_that_none_may_have_is_not_found(stage):
    assert put(stage, HOURLY, "/v1/schedules/no~body").kind == (404, "not_found", None)


def test_a_schedule_is_replaced_and_knows_its_revisions(stage):
    assert put(stage, HOURLY).status == 201
    stage.pass_time(milliseconds=1_000)
    edited = put(stage, HOURLY | {"cron": "30 * * * *"})
    assert edited.status == 200
    assert (edited.body["revision"], edited.body["next_at"]) == (2, "2026-11-06T21:30:00.000Z")
    assert edited.body["changed_at"] == "2026-11-06T21:20:01.000Z"
    stale = put(stage, HOURLY | {"revision": 1})
    assert stale.kind == (409, "changed_meanwhile", None)
    assert put(stage, HOURLY | {"revision": 2}).body["revision"] == 3
    nobody = put(stage, HOURLY | {"revision": 3}, "/v1/schedules/nobody")
    assert nobody.kind == (404, "not_found", None)


def test_a_deleted_schedule_is_told_once_more(stage):
    made = make(stage).body
    assert (delete(stage).status, get(stage, PATH).status) == (200, 404)
    assert make(stage).body == made | {"revision": 2}


def test_a_paused_schedule_has_no_next_and_an_edit_does_not_wake_it(stage):
    make(stage)
    paused = post(stage, f"{PATH}/pause")
    assert paused.status == 200
    assert (paused.body["enabled"], paused.body["paused_by"]) == (False, "anybody")
    assert "next_at" not in paused.body
    assert post(stage, f"{PATH}/pause").body == paused.body
    edited = put(stage, HOURLY | {"jitter_seconds": 1}).body
    assert (edited["enabled"], edited["paused_at"]) == (False, paused.body["paused_at"])
    resumed = post(stage, f"{PATH}/resume")
    assert (resumed.status, resumed.body["next_at"]) == (200, NEXT)
    assert "paused_by" not in resumed.body
    assert post(stage, f"{PATH}/resume").body == resumed.body


def test_whether_it_is_enabled_can_be_said_with_the_rest(stage):
    assert "next_at" not in make(stage, enabled=False).body
    assert put(stage, HOURLY | {"enabled": True}).body["next_at"] == NEXT
    assert put(stage, HOURLY | {"enabled": False}).body["paused_by"] == "anybody"


def test_a_schedule_is_fired_now_whether_it_is_paused_or_not(stage):
    make(stage, jitter_seconds=60, enabled=False)
    answer = post(stage, f"{PATH}/trigger")
    assert answer.status == 202
    assert answer.body["at"] == "2026-11-06T21:20:00.000Z"
    key = "schedule:hourly:trigger:2026-11-06T21:20:00Z"
    assert requests_of(stage) == [HOURLY["task"] | {"idempotency_key": key}]
    assert answer.body["task_id"] == keyed_id("default", TaskType("echo"), key)
    assert answer.headers["Location"] == f"/v1/tasks/{answer.body['task_id']}"
    shown = get(stage, PATH).body
    assert (shown["fired"], shown["last_task_id"]) == (1, answer.body["task_id"])
    assert shown["last_at"] == shown["last_fired_at"] == "2026-11-06T21:20:00.000Z"


def test_the_tasks_of_a_schedule_have_its_priority_and_its_fairness_key(stage):
    task = HOURLY["task"] | {"priority": "low", "fairness_key": "customer 7"}
    assert make(stage, task=task).body["task"] == task
    assert make(stage, task=task | {"priority": "urgent"}).body["field"] == "/task/priority"
    post(stage, f"{PATH}/trigger")
    (request,) = requests_of(stage)
    assert {name: request[name] for name in task} == task


def backfill(stage, since, until):
    return post(stage, f"{PATH}/backfill", {"from": since, "until": until})


def test_a_range_is_backfilled_under_the_keys_of_its_instants(stage):
    make(stage)
    answer = backfill(stage, "2026-11-06T18:00:00Z", "2026-11-06T20:00:00+00:00")
    assert answer.status == 202
    instants = [f"2026-11-06T{hour}:00:00" for hour in (18, 19, 20)]
    assert [one["at"] for one in answer.body["fires"]] == [f"{at}.000Z" for at in instants]
    keys = [one["idempotency_key"] for one in requests_of(stage)]
    assert keys == [f"schedule:hourly:{at}Z" for at in instants]
    again = backfill(stage, "2026-11-06T18:00:00Z", "2026-11-06T20:00:00Z")
    assert again.body == answer.body
    first, second = stage.requests.kept[0].row, stage.requests.kept[3].row
    assert (first.submission, first.request) == (second.submission, second.request)


def test_what_people_let_fire_and_keep_from_firing_is_counted(stage):
    make(stage)
    backfill(stage, "2026-11-06T18:00:00Z", "2026-11-06T20:00:00Z")
    post(stage, f"{PATH}/trigger")
    stage.pass_time(milliseconds=3 * 3_600_000)
    post(stage, f"{PATH}/pause")
    shown = get(stage, PATH).body
    counts = {"fired": 1, "skipped": 0, "missed": 3, "backfilled": 3}
    assert {name: shown[name] for name in counts} == counts
    for outcome, count in (("triggered", 1), ("backfilled", 3), ("missed", 3), ("fired", 0)):
        assert stage.counters.total(Count.INSTANTS, outcome=outcome) == count


@pytest.mark.parametrize(
    ("since", "until", "count"),
    [
        ("2026-11-06T21:00:00Z", "2027-01-01T00:00:00Z", 1),
        ("2026-11-06T21:00:01Z", "2027-01-01T00:00:00Z", 0),
        ("2026-11-06T21:00:00Z", "2026-11-06T20:00:00Z", 0),
        ("0001-01-01T00:00:00Z", "1970-01-01T00:59:59Z", 1),
        ("9999-01-01T00:00:00Z", "9999-01-01T00:00:00Z", 0),
    ],
)
def test_what_is_still_to_come_is_not_backfilled(stage, since, until, count):
    make(stage)
    assert len(backfill(stage, since, until).body["fires"]) == count


def test_a_range_that_is_too_large_is_backfilled_in_parts(stage):
    make(stage)
    answer = backfill(stage, "2026-01-01T00:00:00Z", "2026-11-01T00:00:00Z")
    assert answer.kind == (422, "invalid_request", "/until")
    assert "7,297" in answer.body["detail"]
    assert stage.requests.kept == []


def test_a_backfill_with_too_large_payloads_is_refused_with_how_many_may_be(stage):
    make(stage, task={"type": "echo", "payload": {"say": "x" * 250_000}})
    answer = backfill(stage, "2026-11-05T00:00:00Z", "2026-11-06T12:00:00Z")
    assert answer.kind == (422, "invalid_request", "/until")
    assert "37 instants" in answer.body["detail"]
    assert "8,388,608 bytes" in answer.body["detail"]
    assert "33 of them" in answer.body["detail"]
    assert stage.requests.kept == []
    fitting = backfill(stage, "2026-11-05T00:00:00Z", "2026-11-06T08:00:00Z")
    assert len(fitting.body["fires"]) == 33
    assert sum(len(kept.row.request) for kept in stage.requests.kept) <= 8 * 1024 * 1024


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"from": "yesterday", "until": NEXT}, "/from"),
        ({"from": NEXT, "until": "2026-11-06"}, "/until"),
        ({"from": NEXT}, ""),
        ({"from": NEXT, "until": NEXT, "odd": 1}, ""),
    ],
)
def test_a_range_is_told_by_two_moments(stage, body, field):
    make(stage)
    assert post(stage, f"{PATH}/backfill", body).kind == (422, "invalid_request", field)


def test_a_range_of_no_schedule_is_not_found(stage):
    assert backfill(stage, NEXT, NEXT).kind == (404, "not_found", None)


def test_the_next_fires_are_told_with_marks_where_clocks_jump(stage):
    make(stage, cron="30 2 29 3 *", timezone="Europe/Berlin", dst={"gap": "shift"})
    answer = get(stage, f"{PATH}/next", count="1").body
    assert answer == {
        "next": [
            {"reading": "2027-03-29T02:30:00", "at": "2027-03-29T00:30:00.000Z"},
        ]
    }
    put(stage, HOURLY | {"cron": "30 2 28 3 *", "timezone": "Europe/Berlin"})
    answer = get(stage, f"{PATH}/next", count="1").body["next"]
    assert answer[0] == {"reading": "2027-03-28T02:30:00", "mark": "skipped"}
    assert len(get(stage, f"{PATH}/next").body["next"]) >= 10


@pytest.mark.parametrize("count", ["0", "-1", "many", "", "1.5"])
def test_a_count_is_a_whole_number(stage, count):
    make(stage)
    assert get(stage, f"{PATH}/next", count=count).kind == (422, "invalid_request", "count")
    assert get(stage, f"{PATH}/next", odd="1").kind == (422, "invalid_request", "odd")


def test_lists_come_in_pages_by_name(stage):
    names = [f"n{number}" for number in range(5)]
    for name in reversed(names):
        put(stage, HOURLY, f"/v1/schedules/{name}")
    seen, query = [], {"limit": "2"}
    for _ in range(3):
        page = get(stage, "/v1/schedules", **query).body
        seen += [one["name"] for one in page["schedules"]]
        query["cursor"] = page["next_cursor"]
    assert (seen, page["next_cursor"]) == (names, None)
    assert get(stage, "/v1/schedules", odd="1").kind == (422, "invalid_request", "odd")
    assert get(stage, "/v1/schedules", limit="0").kind == (422, "invalid_request", "limit")
    assert get(stage, "/v1/schedules", cursor="bent").kind[:2] == (400, "bad_request")


def test_lists_show_no_payload(stage):
    make(stage, task=HOURLY["task"] | {"metadata": {"order": "17"}})
    (listed,) = get(stage, "/v1/schedules").body["schedules"]
    assert listed["task"] == {"type": "echo", "metadata": {"order": "17"}}
    assert {**listed, "task": None} == {**get(stage, PATH).body, "task": None}


def test_a_schedule_of_a_folder_is_not_changed_over_http(stage):
    definition = Definition(task=Raw(b'{"type":"echo"}'), cron="0 * * * *")
    wanted = WantedSchedule(name="hourly", definition=definition, enabled=None)
    put_schedule(wanted, stage.schedules, tenant="default", by="the deployment", is_managed=True)
    for answer in (put(stage, HOURLY), delete(stage)):
        assert answer.kind == (409, "managed_schedule", None)
    assert post(stage, f"{PATH}/pause").body["managed"]
    assert post(stage, f"{PATH}/resume").status == 200
    assert post(stage, f"{PATH}/trigger").status == 202


def test_the_last_refusal_is_shown(stage):
    make(stage)
    post(stage, f"{PATH}/trigger")
    with stage.requests.held(most=1) as held:
        held.park(held.rows[0], invalid("invalid_payload", "it fits no more", "/payload"))
    refused = {"type": "invalid_payload", "detail": "it fits no more"}
    assert get(stage, PATH).body["last_refusal"] == refused


def test_a_ledger_that_is_away_says_so(stage):
    make(stage)
    stage.ledger.is_away = True
    for answer in (
        make(stage),
        put(stage, HOURLY),
        get(stage, PATH),
        get(stage, "/v1/schedules"),
        delete(stage),
        post(stage, f"{PATH}/pause"),
        post(stage, f"{PATH}/resume"),
        post(stage, f"{PATH}/trigger"),
        backfill(stage, NEXT, NEXT),
        get(stage, f"{PATH}/next"),
    ):
        assert answer.kind == (503, "unavailable", None)


def test_a_payload_of_any_shape_comes_through_as_it_was(stage):
    make(stage, task={"type": "echo", "payload": {"say": 0.1}})
    assert b"0.1" in bytes(Raw(stage.schedules.find("default", "hourly").definition.task))


def test_a_schedule_whose_zone_is_gone_is_said_to_be_broken(stage):
    gone = Definition(task=Raw(b'{"type":"echo"}'), cron="0 * * * *", timezone="Europe/Atlantis")
    draft = Draft(
        tenant="default",
        name="hourly",
        definition=gone,
        is_managed=False,
        next_at_ms=None,
        decided_at_ms=NOW,
    )
    assert stage.schedules.make(draft)
    assert get(stage, f"{PATH}/next").kind == (422, "invalid_schedule", None)
