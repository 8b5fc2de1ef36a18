"""Properties that only the real server has: slots, declared keys, lost scripts, a restart."""

import signal
import subprocess
from contextlib import contextmanager
from datetime import timedelta

import psutil
import pytest
from redis import Redis
from redis.exceptions import RedisError

from taskmill.core.errors import StoreUnavailable
from taskmill.core.owed import Cold
from taskmill.core.view import Absent
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import ShardKeys, lane_keys, shard_keys
from taskmill.stores.redis.records import RedisRecords
from taskmill.stores.redis.scripts import Script
from taskmill.stores.redis.session import Session
from taskmill.stores.redis.waiters import RedisWaiters
from taskmill.submission.admission import Created
from taskmill_local.stores.server import Server
from taskmill_local.stores.valkey import start_valkey
from tests.builders import a_fresh_envelope, a_lease, a_request, a_success
from tests.contracts.hot import SHARDS, InValkey, admitted, claimed
from tests.waiting import eventually


@pytest.fixture
def session(valkey):
    session = Session(valkey)
    yield session
    session.close()


@pytest.fixture
def real(session):
    return InValkey(session)


def script(source):
    return Script(source.encode(), scripts.sha1(source.encode()).hexdigest())


def test_a_script_over_two_slots_is_refused(session):
    records = scripts.load("submission/read_record")
    task, elsewhere = a_fresh_envelope(), ShardKeys(0, SHARDS + 1)
    keys = [elsewhere.marker, shard_keys(task.id, SHARDS).record(task.id)]
    with pytest.raises(StoreUnavailable, match="slot"):
        session.call(records, [(keys, [])])


def test_a_key_of_another_shard_that_is_not_declared_is_refused(session):
    body = f"return redis.call('GET', '{ShardKeys(1, SHARDS).marker}')"
    call = ([ShardKeys(0, SHARDS).marker], [])
    with pytest.raises(StoreUnavailable, match="same slot"):
        session.call(script(f"#!lua\n{body}"), [call])
    assert session.call(script(body), [call])  # hence the first line of each of our scripts


def test_scripts_that_the_server_lost_are_loaded_again(real):
    real.records().read([a_fresh_envelope().id])
    real.session.command("SCRIPT", "FLUSH")
    ids = [a_fresh_envelope().id for _ in range(3)]
    assert real.records().read(ids) == [Absent()] * 3


def test_a_lease_never_outlives_the_deadline_of_its_attempt(real):
    task = a_fresh_envelope()
    leases = real.leases(lease=timedelta(hours=1))
    token = claimed(leases, task, timeout=timedelta(seconds=1)).token
    leases.extend([a_lease(task, token)])
    record = shard_keys(task.id, SHARDS).record(task.id)
    until, limit = real.session.command("HMGET", record, "lease_until", "lease_limit")
    assert until == limit


def test_only_the_record_of_a_finished_task_without_a_key_ends_by_itself(real):
    keys = ["k", None, None]
    keyed, unkeyed, waiting = (admitted(real.admission(), a_request(key)) for key in keys)
    for task in (keyed, unkeyed):
        real.leases().settle([a_success(task, claimed(real.leases(), task).token)])
    lives = [
        real.session.command("PTTL", shard_keys(task.id, SHARDS).record(task.id))
        for task in (keyed, unkeyed, waiting)
    ]
    assert (lives[0], lives[2]) == (-1, -1)
    assert timedelta(minutes=119) < timedelta(milliseconds=lives[1]) <= timedelta(hours=2)


def test_of_several_looks_at_a_lane_few_write_when_it_was_watched(real):
    lanes, state = real.lanes(), lane_keys("echo").state

    def noted_after(at):
        """Return what a look leaves, if the lane was watched at this time before."""
        real.session.command("HSET", state, "ticked", at)
        lanes.watch(most=1)
        return int(real.session.command("HGET", state, "ticked"))

    now = noted_after(0)
    assert noted_after(now + 450) == now + 450, "a moment ago"
    assert now <= noted_after(now - 501) < now + 60_000
    assert now <= noted_after(now + 60_000) < now + 60_000, "the clock has gone back since"


def test_a_place_is_held_and_free_again(session):
    session.command("FLUSHALL")
    words = iter("abc")
    waiters = RedisWaiters(session, places=1, new_nonce=lambda: next(words))
    with waiters.place() as first, waiters.place() as second:
        assert (first, second) == (True, False)
    with waiters.place() as again:
        assert again


KEPT = ("bind", "port", "cluster-port", "cluster-enabled", "appendonly", "dir", "save")


def killed(url):
    """Kill a server; return the command that restarts it at the same address."""
    with Redis.from_url(url) as client:
        process = psutil.Process(client.info("server")["process_id"])
        settings = client.config_get(*KEPT)
    program = process.exe()
    process.kill()
    process.wait(timeout=60)
    return [program, *(word for name, value in settings.items() for word in (f"--{name}", value))]


@contextmanager
def started(command):
    again = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        again.send_signal(signal.SIGKILL)
        again.wait(timeout=60)


def takes_writes(url):
    try:
        with Redis.from_url(url) as client:
            return client.set("{probe}", 1)
    except RedisError:
        return False


@pytest.fixture
def own_valkey(runner, stores_home):
    server = Server("Valkey", stores_home / "restarted")
    server.log.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield runner.run(start_valkey(server))
    finally:
        runner.run(server.stop(timedelta(seconds=3)))


def test_a_server_that_restarted_behind_the_connection_is_noticed(own_valkey):
    session = Session(own_valkey)
    hot = InValkey(session)
    task = admitted(hot.admission(), a_request())
    command = killed(own_valkey)
    with pytest.raises(StoreUnavailable):
        RedisRecords(session, shards=SHARDS).read([task.id])
    with started(command):
        eventually(lambda: takes_writes(own_valkey), within=30, reason="the server is back")
        assert hot.records().read([task.id]) == [Cold()]
        assert hot.admission().admit([a_request()]) == [Cold()]
        hot.open()
        (verdict,) = hot.admission().admit([a_request()])
        assert isinstance(verdict, Created)
    session.close()
