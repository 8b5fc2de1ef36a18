"""Keys overwritten in Redis block nothing and are restored from the ledger."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from taskmill.core import codec
from taskmill.core.codec import RawEnvelope
from taskmill.core.counting import Count
from taskmill.core.owed import Cleared, Cold, OwedKey, OwedKind
from taskmill.core.task import Millis, Status, shard_of
from taskmill.core.view import Absent, Ending
from taskmill.dispatch.waiting import Delayed, DelayOrder, ParkAnswer
from taskmill.execution.lease import Beat
from taskmill.lanes.lane import member_of
from taskmill.ledger.projection import row_of
from taskmill.orders.control import (
    CancelOrder,
    ChangeOrder,
    Moment,
    Ordered,
    RedriveOrder,
)
from taskmill.recovery.placement import InLine, Overwritten
from taskmill.recovery.restoration import Restoration, hot_view
from taskmill.recovery.unreadable import UnreadableRecords
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.memory.outbox import MemoryOutbox
from taskmill.stores.memory.process import MemoryCounters
from taskmill.stores.redis.egress import RedisEndpoints
from taskmill.stores.redis.keys import DISABLED_ENDPOINTS, WAITING_PLACES, ShardKeys, shard_keys
from taskmill.stores.redis.session import Session
from taskmill.stores.redis.waiters import RedisWaiters
from taskmill.submission.admission import Created, Replayed
from tests.builders import (
    a_claim,
    a_fresh_envelope,
    a_lease,
    a_request,
    a_success,
    cancelled,
    now_ms,
    succeeded,
)
from tests.contracts.hot import SHARDS, InValkey, admitted, claimed
from tests.contracts.ledgers import batch_of

AT_ONCE = timedelta(0)


@pytest.fixture
def redis(valkey):
    session = Session(valkey, patience=timedelta(seconds=30))
    yield InValkey(session)
    session.close()


def overwrite(redis, key):
    redis.session.command("SET", key, "of another type")


def record_of(task):
    return shard_keys(task.id, SHARDS).record(task.id)


def noticed(redis, task):
    assert redis.control().see([task.id]) == [Cold()]


def found(redis):
    return redis.unreadable().found()


def a_neighbour(task):
    """Return a submission of the same shard."""
    shard = shard_of(task.id, SHARDS)
    return next(one for one in iter(a_request, None) if shard_of(one.id, SHARDS) == shard)


# A record


@pytest.fixture
def overwritten(redis):
    """Return a task with an overwritten record, and one with an intact record."""
    task = admitted(redis.admission(), a_request("k"))
    beside = admitted(redis.admission(), a_neighbour(task))
    overwrite(redis, record_of(task))
    return task, beside


def a_cancel(task):
    seen = Moment(task.generation, 1, Status.QUEUED)
    return CancelOrder(
        id=task.id, seen=seen, facts=(), ending=Ending(finished_at_ms=Millis(now_ms()))
    )


def a_change(task):
    seen = Moment(task.generation, 1, Status.QUEUED)
    return ChangeOrder(seen=seen, envelope=task, due_at_ms=Millis(now_ms()), facts=())


def a_redrive(task):
    seen = Moment(task.generation, 1, Status.QUEUED)
    return RedriveOrder(seen=seen, envelope=task, facts=(), token=0)


def a_delay(task):
    return DelayOrder(envelope=task, due_at_ms=Millis(now_ms()))


def an_owed(task):
    return OwedKey(id=task.id, generation=task.generation, turn=1, kind=OwedKind.SUBMISSION)


def each(make, tasks):
    return [make(one) for one in tasks]


CALLS = {
    "admit": (lambda hot, tasks: hot.admission().admit(tasks), Cold()),
    "clear": (
        lambda hot, tasks: hot.admission().clear(each(an_owed, tasks)),
        Cleared.OTHER_GENERATION,
    ),
    "claim": (lambda hot, tasks: hot.leases().claim(each(a_claim, tasks)), Cold()),
    "look": (lambda hot, tasks: hot.turns().look(each(member_of, tasks)), Cold()),
    "extend": (
        lambda hot, tasks: hot.leases().extend([a_lease(one, 1) for one in tasks]),
        Beat.COLD,
    ),
    "settle": (
        lambda hot, tasks: hot.leases().settle([a_success(one, 1) for one in tasks]),
        Cold(),
    ),
    "delay": (lambda hot, tasks: hot.delays().delay(each(a_delay, tasks)), Delayed.FORGOTTEN),
    "see": (lambda hot, tasks: hot.control().see([one.id for one in tasks]), Cold()),
    "cancel": (lambda hot, tasks: hot.control().cancel(each(a_cancel, tasks)), Cold()),
    "change": (lambda hot, tasks: hot.control().change(each(a_change, tasks)), Cold()),
    "redrive": (lambda hot, tasks: hot.control().redrive(each(a_redrive, tasks)), Cold()),
    "read": (lambda hot, tasks: hot.records().read([one.id for one in tasks]), Cold()),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_record_is_one_tasks_trouble(redis, overwritten, call):
    task, beside = overwritten
    ask, answer = CALLS[call]
    asked = [task, beside] if call != "admit" else [a_request("k"), a_neighbour(task)]
    result, other = ask(redis, asked)
    assert result == answer
    assert other != answer
    assert redis.admission().admit([a_neighbour(task)]) != [Cold()], "its shard goes on"


def test_where_a_task_belongs_whose_record_is_none_is_unknown(redis, overwritten):
    task, beside = overwritten
    views = [hot_view(row, row.spec) for row in map(row_of, (task, beside))]
    assert redis.placements().place(views) == [Overwritten(), InLine()]
    (entry,) = found(redis)
    assert entry.id == task.id


def test_a_task_is_parked_though_its_record_is_none(redis, overwritten):
    lines = [RawEnvelope(one, codec.encode(one)) for one in overwritten]
    assert redis.parking().park(lines) == [ParkAnswer.PARKED] * 2


def test_a_record_that_is_none_does_not_end_the_forgetting_of_others(redis):
    kept = redis.admission(window=AT_ONCE, grace=AT_ONCE)
    tasks = [admitted(kept, a_request(f"k{number}")) for number in range(3)]
    for task in tasks:
        token = claimed(redis.leases(), task).token
        redis.leases(window=AT_ONCE, grace=AT_ONCE).settle([a_success(task, token)])
    overwrite(redis, record_of(tasks[0]))
    assert redis.due().forget_expired(most=10) == 2


# The keys of a shard


@pytest.mark.parametrize("name", ["marker", "rebuild", "due", "owed", "lifetimes"])
def test_a_shard_that_was_overwritten_is_rebuilt_and_the_others_go_on(redis, name):
    task = admitted(redis.admission(), a_request("k"))
    shard = shard_of(task.id, SHARDS)
    keys = ShardKeys(shard, SHARDS)
    other = next(one for one in iter(a_request, None) if shard_of(one.id, SHARDS) != shard)
    key = getattr(keys, name)
    redis.session.command("DEL", key, keys.marker if name == "rebuild" else key)
    redis.session.command("RPUSH", key, "of another type")
    redis.due().take(most=10)
    redis.due().forget_expired(most=10)
    assert len(redis.shards().check()) == SHARDS
    (verdict,) = redis.admission().admit([other])
    assert isinstance(verdict, Created)
    shards = redis.cold_shards()
    assert shards.are_some()
    assert shards.begin("word") == {shard}
    view = hot_view(row_of(task), row_of(task).spec)
    assert shards.restore("word", [view]) != [Restoration.START_AGAIN]
    assert shards.open("word", {shard}) == {shard}
    (again,) = redis.admission().admit([a_request("k", submission="s2")])
    assert again == Replayed(task.generation, again.owed)
    assert [(one.name, one.id) for one in found(redis)] == [(key, None)]


def test_what_notes_the_others_may_be_overwritten_too(redis, overwritten):
    task, _ = overwritten
    overwrite(redis, shard_keys(task.id, SHARDS).apart)
    noticed(redis, task)
    assert {one.id for one in found(redis)} == {task.id, None}


def test_a_rebuild_replaces_what_is_no_record(redis, overwritten):
    task, _ = overwritten
    redis.become_another_server()
    shards = redis.cold_shards()
    under = shards.begin("word")
    view = hot_view(row_of(task), row_of(task).spec)
    assert shards.restore("word", [view]) == [Restoration.RESTORED]
    assert shards.open("word", under) == under
    assert redis.records().read([task.id])[0].status is Status.QUEUED


@pytest.mark.parametrize("key", [WAITING_PLACES, DISABLED_ENDPOINTS])
def test_what_the_gateway_and_webhooks_keep_is_begun_anew(redis, key):
    overwrite(redis, key)
    with RedisWaiters(redis.session, places=1, new_nonce=lambda: "me").place() as has_place:
        assert has_place
    endpoints = RedisEndpoints(redis.session)
    endpoints.disable("https://example.com", at_ms=Millis(1))
    assert endpoints.is_disabled("https://example.com")
    assert [one.name for one in found(redis)] == [key]


# How records are mended


class RecordedBus:
    """A log whose records reach the ledger at once."""

    def __init__(self, ledger):
        self._ledger = ledger

    def send_facts(self, facts):
        self._ledger.record(batch_of(*facts))

    def send_pending(self, tasks):
        envelopes = (one.envelope if isinstance(one, RawEnvelope) else one for one in tasks)
        self._ledger.record(batch_of(*envelopes))

    def flush(self):
        """Everything is there already."""


class Mending:
    def __init__(self, redis):
        self.ledger = MemoryLedger()
        self.outbox = MemoryOutbox()
        self.counters = MemoryCounters()
        self.ends, self.applied = {}, {}
        self.on_pause = []
        self.unreadable = redis.unreadable()
        self._stores = SimpleNamespace(
            bus=RecordedBus(self.ledger),
            counters=self.counters,
            log_ends=SimpleNamespace(ends=lambda: self.ends),
            outbox=self.outbox,
            repairs=redis.repairs(lease=AT_ONCE),
            unreadable=self.unreadable,
            whole_rows=SimpleNamespace(
                applied=lambda: self.applied,
                of=lambda ids: [self.ledger.rows[one] for one in ids if one in self.ledger.rows],
            ),
        )

    def record(self, *result):
        self.ledger.record(batch_of(*result))

    def mend(self, grace=AT_ONCE):
        return UnreadableRecords(self._stores, grace=grace, pause=self._pause).mend()

    def _pause(self, _span):
        self.on_pause.pop()()


@pytest.fixture
def mending(redis):
    return Mending(redis)


def test_a_task_whose_record_is_none_runs_when_it_was_made_anew(redis, mending, overwritten):
    task, _ = overwritten
    mending.record(task)
    assert redis.leases().claim([a_claim(task)]) == [Cold()]
    assert mending.mend(grace=timedelta(minutes=1)) == 0
    assert mending.mend() == 1
    assert mending.counters.total(Count.UNREADABLE) == 1
    assert mending.unreadable.found() == []
    kinds = {name.kind: owed.task.id for name, owed in redis.due().take(most=10)}
    assert kinds[OwedKind.TURN] == task.id, "it is put in line again"
    assert claimed(redis.leases(), task)
    assert mending.mend() == 0


def test_what_a_dead_gateway_decided_is_not_undone(redis, mending):
    task = admitted(redis.admission(), a_request())
    seen = Moment(task.generation, 1, Status.QUEUED)
    end = Ending(finished_at_ms=Millis(now_ms()))
    order = CancelOrder(id=task.id, seen=seen, facts=(cancelled(task),), ending=end)
    assert redis.control().cancel([order]) == [Ordered()]
    overwrite(redis, record_of(task))
    noticed(redis, task)
    assert mending.mend() == 1
    assert redis.records().read([task.id])[0].status is Status.CANCELLED


def test_a_key_still_names_its_task_when_the_record_was_made_anew(redis, mending, overwritten):
    task, _ = overwritten
    mending.record(task, succeeded(task))
    noticed(redis, task)
    assert mending.mend() == 1
    again = a_request("k", submission="s2")
    assert isinstance(redis.admission().admit([again])[0], Replayed)


def test_nothing_is_made_anew_of_a_ledger_that_is_behind_the_log(redis, mending, overwritten):
    task, _ = overwritten
    noticed(redis, task)
    mending.ends, mending.applied = {("tasks.events", 0): 7}, {("tasks.events", 0): 6}

    def read_on():
        mending.record(task, succeeded(task))
        mending.applied = mending.ends

    mending.on_pause = [read_on]
    assert mending.mend() == 1
    assert redis.records().read([task.id])[0].status is Status.SUCCEEDED


def test_who_nobody_admitted_is_admitted_as_if_nothing_had_been_there(redis, mending):
    for request in (a_request("known"), a_request("unknown")):
        overwrite(redis, record_of(request))
        assert redis.admission().admit([request]) == [Cold()]
        if request.idempotency_key == "known":
            mending.record(request)
        assert mending.mend() == 1
        assert isinstance(redis.admission().admit([request])[0], Created)


def test_what_stands_in_the_outbox_may_be_its_only_word(redis, mending, overwritten):
    task, _ = overwritten
    redis.admission().clear([an_owed(task)])
    mending.outbox.add([a_fresh_envelope()])
    assert mending.mend() == 0
    noticed(redis, task)


def test_a_record_that_is_well_again_is_left_alone(redis, mending):
    task = admitted(redis.admission(), a_request())
    overwrite(redis, record_of(task))
    noticed(redis, task)
    redis.session.command("DEL", record_of(task))
    token = claimed(redis.leases(), task).token
    mending.record(task)
    assert mending.mend() == 1
    redis.leases().settle([a_success(task, token)])
    assert redis.records().read([task.id])[0].status is Status.SUCCEEDED
    assert redis.records().read([a_request().id]) == [Absent()]
