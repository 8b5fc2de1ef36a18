"""A durable request is taken once, however often it is delivered, or retried later."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from msgspec import Raw

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.dispatch.due import DuePublisher
from taskmill.stores.memory.log import LARGEST_RECORD, MemoryLog
from taskmill.submission.submission import Entry, InLog, KeyReused, NotNow
from taskmill.submission.submit import Submitter
from taskmill.submission.take import take
from tests.builders import a_request, now_ms
from tests.unit.world import KnowsAll

NOW = timedelta(0)


class Forgetful:
    """Admits, but is unavailable for clearing."""

    def __init__(self, admission):
        self.admit = admission.admit

    def clear(self, published):
        raise StoreUnavailable("Redis", "it is set to be unavailable")


class Away:
    def admit(self, envelopes):
        raise StoreUnavailable("Redis", "it is set to be unavailable")


@pytest.fixture
def log():
    return MemoryLog(now_ms)


def taken(hot, log, *envelopes, admission=None):
    return take(envelopes, admission=admission or hot.admission(hold=NOW), bus=log)


def published(log):
    return [task.id for task in log.tasks(topics.PENDING)]


def owed(hot):
    return [name.id for name, _ in hot.due().take(most=10)]


@pytest.mark.parametrize("key", [None, "k"])
def test_a_request_that_comes_again_is_the_same_task_and_is_not_published_again(hot, log, key):
    request = a_request(key)
    assert taken(hot, log, request) == [InLog(request.id, Entry.CREATED)]
    assert taken(hot, log, request) == [InLog(request.id, Entry.KNOWN)]
    assert published(log) == [request.id]
    assert owed(hot) == []


def test_the_same_request_under_a_key_is_a_replay_and_another_one_reuses_it(hot, log):
    first = a_request("k", submission="first")
    answer = taken(
        hot,
        log,
        first,
        a_request("k", submission="second"),
        a_request("k", submission="third", fingerprint="f2"),
    )
    assert answer == [
        InLog(first.id, Entry.CREATED),
        InLog(first.id, Entry.REPLAYED),
        KeyReused(first.id),
    ]
    assert set(published(log)) == {first.id}
    assert {task.submission for task in log.tasks(topics.PENDING)} == {"first"}


def test_a_key_that_another_door_took_is_a_replay_here(hot, log):
    first = a_request("k", submission="first")
    stores = SimpleNamespace(
        admission=hot.admission(), bus=log, records=hot.records(), clock=now_ms
    )
    (receipt,) = Submitter(stores).submit([first])
    (answer,) = taken(hot, log, a_request("k", submission="second"))
    assert answer == InLog(receipt.task.id, Entry.REPLAYED)
    assert published(log) == [first.id]


@pytest.mark.parametrize("submission", ["first", "second"])
def test_what_did_not_reach_the_log_stays_owed_and_is_published_by_whoever_comes_again(
    hot, log, submission
):
    log.is_away = True
    first = a_request("k", submission="first")
    (answer,) = taken(hot, log, first)
    assert isinstance(answer, NotNow)
    assert owed(hot) == [first.id]
    log.is_away = False
    (answer,) = taken(hot, log, a_request("k", submission=submission))
    assert isinstance(answer, InLog)
    assert [task.submission for task in log.tasks(topics.PENDING)] == ["first"]
    assert owed(hot) == []


def test_while_the_log_is_known_to_be_away_nothing_is_decided(hot, log):
    log.is_known_away = True
    answer = taken(hot, log, a_request("k"), a_request())
    assert [type(one) for one in answer] == [NotNow, NotNow]
    assert owed(hot) == []


def test_a_shard_that_forgot_decides_nothing(hot, log):
    hot.forget()
    assert [type(one) for one in taken(hot, log, a_request("k"))] == [NotNow]
    assert published(log) == []


def test_without_redis_nothing_is_decided(hot, log):
    answer = taken(hot, log, a_request("k"), a_request(), admission=Away())
    assert [type(one) for one in answer] == [NotNow, NotNow]
    assert published(log) == []


def published_due(hot, log):
    stores = {"due": hot.due(), "bus": log, "catalogue": KnowsAll(), "clock": now_ms}
    return DuePublisher(SimpleNamespace(**stores)).publish()


def test_what_could_not_be_cleared_is_taken_and_published_once_more_at_worst(hot, log):
    request = a_request()
    admission = Forgetful(hot.admission(hold=NOW))
    assert taken(hot, log, request, admission=admission) == [InLog(request.id, Entry.CREATED)]
    assert published_due(hot, log) == 1
    assert published(log) == [request.id] * 2


def test_what_the_log_refuses_does_not_hold_up_the_others(hot, log):
    huge = a_request(payload=Raw(b'"' + b"x" * LARGEST_RECORD + b'"'))
    requests = [a_request(), huge, a_request(), a_request()]
    answer = taken(hot, log, *requests)
    assert [type(one) for one in answer] == [InLog, NotNow, InLog, InLog]
    assert set(published(log)) == {one.id for one in requests if one is not huge}
    assert owed(hot) == [huge.id]
