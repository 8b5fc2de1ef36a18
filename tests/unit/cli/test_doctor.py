"""The doctor uses the stores and settings of the intended system."""

import pytest

from taskmill.insight.types import states_of
from taskmill.recovery.health import LaneHealth, ShardHealth, ShardState
from taskmill_local.cli.commands.doctor import addressed, of_lanes, of_shards, of_types
from taskmill_local.cli.text import counted
from taskmill_local.errors import PlatformError
from tests.builders import ECHO
from tests.unit.world import World

PAGE = {
    "settings": {"TASKMILL_SHARDS": "4", "TASKMILL_LEASE_MS": "4000"},
    "stores": {
        "Kafka": {"address": "127.0.0.1:20001"},
        "Valkey": {"address": "redis://127.0.0.1:20002/0"},
        "PostgreSQL": {"address": "postgresql://taskmill_app@127.0.0.1:20003/taskmill"},
    },
}


def test_the_settings_are_those_of_the_system_that_runs_and_not_of_this_shell(stub):
    stub.answers(PAGE)
    shell = {"PATH": "/bin", "TASKMILL_LEASE_MS": "9000", "TASKMILL_RETENTION_DAYS": "1"}
    assert addressed(shell, stub.url) == {
        "PATH": "/bin",
        "TASKMILL_SHARDS": "4",
        "TASKMILL_LEASE_MS": "4000",
        "TASKMILL_KAFKA_BROKERS": "127.0.0.1:20001",
        "TASKMILL_REDIS_URL": "redis://127.0.0.1:20002/0",
        "TASKMILL_POSTGRES_DSN": "postgresql://taskmill_app@127.0.0.1:20003/taskmill",
    }


def test_stores_that_this_shell_names_are_asked_with_its_settings(stub):
    shell = {"TASKMILL_REDIS_URL": "redis://127.0.0.1:1/0", "TASKMILL_SHARDS": "9"}
    assert addressed(shell, stub.url) == shell
    assert stub.requests == []


def test_something_else_that_answers_is_no_system(stub):
    stub.answers({"message": "Not Found"}, status=404)
    with pytest.raises(PlatformError, match=r"is not the local system\. Set TASKMILL_URL"):
        addressed({}, stub.url)


def test_one_is_said_as_one():
    assert (counted(1, "task"), counted(2, "task")) == ("1 task", "2 tasks")


LIVE = ShardHealth(state=ShardState.LIVE)


def test_whole_shards_with_nothing_overdue_are_no_finding():
    assert list(of_shards([LIVE, ShardHealth(state=ShardState.LIVE, overdue_ms=29_000)])) == []


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (ShardState.COLD, "not being rebuilt"),
        (ShardState.REBUILDING, "are being rebuilt"),
    ],
)
def test_a_cold_shard_is_a_finding(state, says):
    (found,) = of_shards([LIVE, ShardHealth(state=state)])
    assert (found.kind, found.examples) == ("cold_shards", [f"shard 1: {state}"])
    assert found.about.startswith("1 of 2 shards of Redis are")
    assert says in found.about


def test_what_nobody_takes_is_a_finding():
    late = ShardHealth(state=ShardState.LIVE, overdue_ms=75_500)
    (found,) = of_shards([late, LIVE])
    assert found.kind == "overdue"
    assert found.about == "due tasks have waited for 75 s: start a scheduler"


def test_what_the_due_set_lost_is_a_finding():
    (found,) = of_shards([LIVE, ShardHealth(state=ShardState.LIVE, unlisted=3)])
    assert (found.kind, found.about[:10]) == ("unlisted", "3 entries,")
    assert found.members == [{"shard": 1, "state": "live", "overdue_ms": 0, "unlisted": 3}]


def states(world):
    return states_of([ECHO], world.stores(), {})


def test_a_type_whose_tasks_start_is_no_finding():
    world = World()
    world.admitted()
    assert list(of_types(states(world))) == []


def test_a_type_whose_tasks_nobody_takes_is_a_finding():
    world = World()
    world.admitted()
    world.pass_time(seconds=75)
    (found,) = of_types(states(world))
    assert (found.kind, found.examples) == ("absent_workers", ["echo: the oldest for 75 s"])
    assert found.members == [{"type": "echo", "waits_seconds": 75}]


def test_live_lanes_are_no_finding():
    assert list(of_lanes([LaneHealth(type="echo", state=ShardState.LIVE)])) == []


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (ShardState.COLD, "their tasks do not start: start a scheduler that knows these types"),
        (
            ShardState.REBUILDING,
            "are being rebuilt (sleep), and their tasks do not start meanwhile",
        ),
    ],
)
def test_a_cold_lane_is_a_finding(state, says):
    lanes = [
        LaneHealth(type="echo", state=ShardState.LIVE),
        LaneHealth(type="sleep", state=state),
    ]
    (found,) = of_lanes(lanes)
    assert (found.kind, found.examples) == ("cold_lanes", [f"sleep: {state}"])
    assert found.about.startswith("1 of 2 lanes are")
    assert says in found.about
    assert found.members == [{"type": "sleep", "state": state}]


def test_of_many_cold_lanes_some_are_named():
    lanes = [LaneHealth(type=one, state=ShardState.COLD) for one in "abcdefg"]
    (found,) = of_lanes(lanes)
    assert found.about.startswith("7 of 7 lanes are cold (a, b, c, d, e, …)")
