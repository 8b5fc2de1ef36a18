"""The Redis user of a deployment has the permissions that functions need, and no dangerous ones."""

from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError

from taskmill.core.owed import Cold, OwedKey, OwedKind
from taskmill.core.task import Status
from taskmill.stores.redis.execution import RedisLeases
from taskmill.stores.redis.keys import shard_keys
from taskmill.stores.redis.records import RedisRecords
from taskmill.stores.redis.session import Session
from taskmill.stores.redis.submission import RedisAdmission, RedisDueSet
from taskmill.stores.redis.unreadable import RedisUnreadable
from taskmill.stores.redis.waiters import RedisWaiters
from taskmill_local.template.source import load_template
from tests.builders import a_lease, a_request, a_success
from tests.contracts.hot import SHARDS, InValkey, admitted, claimed

DATA = Path(__file__).parents[3] / "infra/data.yaml"


@pytest.fixture
def url(valkey):
    """Open the store as its owner; yield the URL of the user that the template declares."""
    session = Session(valkey)
    InValkey(session)
    session.close()
    user = load_template(DATA)["Resources"]["RedisUser"]["Properties"]
    with Redis.from_url(valkey) as owner:
        owner.execute_command(
            "ACL", "SETUSER", "deployed", "reset", "nopass", *user["AccessString"].split()
        )
        yield valkey.replace("redis://", "redis://deployed:any@")
        owner.execute_command("ACL", "DELUSER", "deployed")


def test_a_task_goes_all_its_way(url):
    session = Session(url)
    admission = RedisAdmission(session, shards=SHARDS)
    task = admitted(admission, a_request())
    leases = RedisLeases(session, shards=SHARDS)
    lease = claimed(leases, task)
    leases.extend([a_lease(task, lease.token)])
    leases.settle([a_success(task, lease.token)])
    key = OwedKey(id=task.id, generation=task.generation, turn=1, kind=OwedKind.SUBMISSION)
    admission.clear([key])
    due = RedisDueSet(session, shards=SHARDS)
    assert due.take(most=10) == []
    assert due.forget_expired(most=10) == 0
    (record,) = RedisRecords(session, shards=SHARDS).read([task.id])
    assert record.status is Status.SUCCEEDED
    with RedisWaiters(session, places=1, new_nonce=lambda: "me").place() as has_place:
        assert has_place
    session.close()


@pytest.mark.parametrize("name", ["record", "owed"])
def test_what_was_overwritten_is_mended(url, name):
    session = Session(url)
    task = admitted(RedisAdmission(session, shards=SHARDS), a_request("k"))
    keys = shard_keys(task.id, SHARDS)
    session.command("SET", keys.record(task.id) if name == "record" else keys.owed, "no hash")
    assert RedisAdmission(session, shards=SHARDS).admit([a_request("k")]) == [Cold()]
    unreadable = RedisUnreadable(session, shards=SHARDS)
    found = unreadable.found()
    assert len(unreadable.owed([task.id])) == (name == "record")
    unreadable.drop([task.id])
    assert unreadable.leave(found) == 1
    session.close()


@pytest.mark.parametrize(
    "words",
    [("FLUSHALL",), ("KEYS", "*"), ("CONFIG", "GET", "*"), ("GET", "session:of:another")],
    ids=" ".join,
)
def test_what_no_function_does_is_refused(url, words):
    with Redis.from_url(url) as redis, pytest.raises(NoPermissionError):
        redis.execute_command(*words)
