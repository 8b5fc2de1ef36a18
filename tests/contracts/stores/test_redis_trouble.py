"""A failing Redis is reported as unavailable, and the next call finds the current server."""

import socketserver
import time
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain, repeat
from threading import Event, Thread

import pytest

from taskmill.core.errors import StoreUnavailable
from taskmill.stores.guard import QUICK, Guard
from taskmill.stores.redis.session import Session
from taskmill.stores.redis.submission import RedisAdmission
from taskmill.submission.admission import Created
from tests.builders import a_request
from tests.contracts.hot import SHARDS, InValkey

INFO = b"run_id:a-server\r\nmaxmemory_policy:noeviction\r\n"
OK = b"+OK\r\n"


def bulk(value):
    return b"$%d\r\n%b\r\n" % (len(value), value)


class Script:
    """A server's reply to each command; it may also be silent."""

    def __init__(self, **answers):
        self.answers = {"INFO": bulk(INFO)} | answers
        self.connections = 0
        self.over = Event()

    def to(self, verb):
        answer = self.answers.get(verb, OK)
        return answer(self) if callable(answer) else answer


class _Conversation(socketserver.StreamRequestHandler):
    def handle(self):
        script = self.server.script
        script.connections += 1
        while head := self.rfile.readline():
            words = [self._word() for _ in range(int(head[1:]))]
            self.wfile.write(script.to(words[0].decode().upper()))

    def _word(self):
        size = int(self.rfile.readline()[1:])
        return self.rfile.read(size + 2)[:-2]


@contextmanager
def a_server(**answers):
    script = Script(**answers)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Conversation) as server:
        server.daemon_threads = True
        server.script = script
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield script, f"redis://127.0.0.1:{server.server_address[1]}"
        finally:
            script.over.set()
            server.shutdown()
            thread.join()


@contextmanager
def a_session(url, **how):
    session = Session(url, **how)
    try:
        yield session
    finally:
        session.close()


def standing_still_after_a_second():
    """Return a clock by which one call takes a second and the following ones no time."""
    moments = chain([0], repeat(1_000))
    return lambda: next(moments)


def never(script):
    script.over.wait(30)
    return OK


def test_a_server_that_hangs_costs_one_request_its_patience_and_no_other():
    guard = Guard("Redis", tolerance=QUICK, clock_ms=standing_still_after_a_second())
    how = {"patience": timedelta(milliseconds=400), "guard": guard}
    with a_server(EVALSHA=never) as (_, url), a_session(url, **how) as session:
        admission = RedisAdmission(session, shards=SHARDS)
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="Redis cannot be reached"):
            admission.admit([a_request()])
        assert time.monotonic() - began < 20
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match="did not respond a moment ago"):
                admission.admit([a_request()])


def test_many_slow_answers_are_not_waited_for_one_by_one():
    def slowly(script):
        script.over.wait(0.2)
        return b"*1\r\n*3\r\n$7\r\nCREATED\r\n$1\r\n1\r\n$0\r\n\r\n"

    how = {"patience": timedelta(milliseconds=500)}
    with a_server(EVALSHA=slowly) as (_, url), a_session(url, **how) as session:
        admission = RedisAdmission(session, shards=SHARDS)
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            admission.admit([a_request() for _ in range(200)])
        assert time.monotonic() - began < 20


def test_a_connection_that_the_server_ended_meanwhile_costs_nobody_a_call(valkey):
    with a_session(valkey) as session, a_session(valkey) as another:
        before = session.command("CLIENT", "ID")
        assert another.command("CLIENT", "KILL", "ID", before) == 1
        after = session.command("CLIENT", "ID")
        assert after != before


def test_a_server_that_became_a_replica_is_left_at_once():
    refusal = b"-READONLY You can't write against a read only replica.\r\n"
    with a_server(EVALSHA=refusal) as (script, url), a_session(url) as session:
        admission = RedisAdmission(session, shards=SHARDS)
        for count in (1, 2):
            with pytest.raises(StoreUnavailable, match="read only"):
                admission.admit([a_request()])
            assert script.connections == count, "each call looks for the primary again"


@pytest.mark.parametrize(
    "answer",
    [
        b"-LOADING Redis is loading the dataset in memory\r\n",
        b"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
        b"-CLUSTERDOWN The cluster is down\r\n",
        b"-MISCONF Redis is configured to save RDB snapshots, but it cannot persist on disk.\r\n",
        b"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
    ],
    ids=lambda answer: answer.partition(b" ")[0].decode().strip("-"),
)
@pytest.mark.parametrize("at", ["INFO", "EVALSHA"])
def test_a_server_in_trouble_is_away(at, answer):
    with a_server(**{at: answer}) as (script, url), a_session(url) as session:
        admission = RedisAdmission(session, shards=SHARDS)
        with pytest.raises(StoreUnavailable):
            admission.admit([a_request()])
        script.answers[at] = (
            bulk(INFO) if at == "INFO" else b"*1\r\n*3\r\n$7\r\nCREATED\r\n$1\r\n7\r\n$0\r\n\r\n"
        )
        script.answers["EVALSHA"] = b"*1\r\n*3\r\n$7\r\nCREATED\r\n$1\r\n7\r\n$0\r\n\r\n"
        assert admission.admit([a_request()]) == [Created(7)]


@pytest.fixture
def owner(valkey):
    with a_session(valkey) as session:
        InValkey(session)
        yield session
        session.command("CONFIG", "SET", "maxmemory", "0")
        session.command("CONFIG", "SET", "maxmemory-policy", "noeviction")


def test_a_full_server_refuses_what_is_new_and_keeps_what_it_has(owner):
    admission = RedisAdmission(owner, shards=SHARDS)
    known = a_request("k")
    first = admission.admit([known])
    owner.command("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(StoreUnavailable, match="maxmemory"):
        admission.admit([a_request()])
    owner.command("CONFIG", "SET", "maxmemory", "0")
    (again,) = admission.admit([known])
    assert again.generation == first[0].generation


def test_a_server_that_would_throw_tasks_away_is_refused_with_what_to_set(owner, valkey):
    owner.command("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
    with a_session(valkey) as session, pytest.raises(StoreUnavailable) as refused:
        session.run_id()
    assert "maxmemory-policy is volatile-lru" in refused.value.why
    assert "set it to noeviction" in refused.value.why


def test_scripts_that_a_server_forgot_are_told_again(owner):
    admission = RedisAdmission(owner, shards=SHARDS)
    owner.command("SCRIPT", "FLUSH")
    requests = [a_request() for _ in range(3)]
    assert {type(verdict) for verdict in admission.admit(requests)} == {Created}
