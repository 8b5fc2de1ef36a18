"""A task waits for its time: near ones in the hot store, far ones only in the ledger."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core import codec
from taskmill.core.facts import TaskChanged
from taskmill.core.owed import Cold, OwedKind
from taskmill.core.task import Status, Timing
from taskmill.core.time import due_of
from taskmill.core.view import Absent, Ending, TaskView
from taskmill.dispatch.waiting import Delayed, DelayOrder
from taskmill.execution.lease import TurnOver
from taskmill.ledger.projection import row_of
from taskmill.orders.control import CancelOrder, ChangeOrder, Moved, Ordered
from taskmill.recovery.restoration import hot_view
from taskmill.submission.admission import Replayed
from tests.builders import a_claim, a_fresh_envelope, a_request, cancelled, now_ms
from tests.contracts.hot import admitted, claimed, finished
from tests.waiting import eventually

SOON = 150
HOUR = 3_600_000
AT_ONCE = timedelta()
NEWER = b',"only_newer":{"x": 1.10}}'


def waiting(hot, key=None, **when):
    """Admit a task with a time and clear its first entry, as if it was in the log."""
    task = admitted(hot.admission(hold=AT_ONCE), a_request(key, timing=Timing(**when)))
    due = hot.due(hold=AT_ONCE)
    due.clear([name for name, _ in due.take(most=10)])
    return task


def order(task, **how):
    return DelayOrder(envelope=task, due_at_ms=due_of(task), **how)


def delayed(hot, task, *, how=None, **spans):
    (answer,) = hot.delays(**spans).delay([order(task, **how or {})])
    return answer


def view(hot, task):
    (reading,) = hot.records().read([task.id])
    return reading


def taken(hot):
    found = []
    eventually(lambda: found.extend(hot.due().take(most=10)) or found, within=10, reason="due")
    return found


def snapshot(hot, task):
    (seen,) = hot.control().see([task.id])
    return seen


def test_a_task_with_a_time_is_admitted_as_scheduled(hot):
    task = waiting(hot, delay_ms=60_000)
    seen = view(hot, task)
    assert (seen.status, seen.run_at_ms) == (Status.SCHEDULED, task.generation + 60_000)


@pytest.mark.parametrize("when", [{"run_at_ms": 0}, {"delay_ms": 0}, {"expires_at_ms": 1}], ids=str)
def test_what_may_begin_at_once_is_queued(hot, when):
    assert view(hot, waiting(hot, **when)).status is Status.QUEUED


def test_what_is_near_is_due_at_its_time_and_not_before(hot):
    task = waiting(hot, delay_ms=SOON)
    assert delayed(hot, task) is Delayed.NEAR
    ((name, owed),) = taken(hot)
    assert now_ms() >= task.generation + SOON
    assert (name.kind, name.turn, owed.task) == (OwedKind.TURN, 1, task)


def test_what_comes_twice_is_owed_once(hot):
    task = waiting(hot, delay_ms=SOON)
    assert [delayed(hot, task) for _ in range(3)] == [Delayed.NEAR] * 3
    assert len(taken(hot)) == 1


def test_what_comes_again_while_somebody_publishes_it_is_not_taken_from_him(hot):
    task = waiting(hot, delay_ms=SOON)
    delayed(hot, task)
    assert len(taken(hot)) == 1
    assert delayed(hot, task) is Delayed.NEAR
    assert hot.due().take(most=10) == []


@pytest.mark.parametrize("key", [None, "a key"])
def test_what_is_far_is_owed_to_nobody_and_its_record_ends(hot, key):
    other = waiting(hot, "another key", delay_ms=HOUR)
    assert delayed(hot, other) is Delayed.FAR
    assert view(hot, other).status is Status.SCHEDULED
    assert snapshot(hot, other).owed == {}
    task = waiting(hot, key, delay_ms=HOUR)
    assert delayed(hot, task, record_stays=timedelta(milliseconds=SOON)) is Delayed.FAR

    def has_ended():
        hot.due().forget_expired(most=10)
        return view(hot, task) == Absent()

    eventually(has_ended, within=10, reason="the end of the record")
    assert snapshot(hot, task) == Absent()


def test_a_key_still_names_what_is_far(hot):
    task = waiting(hot, "k", delay_ms=HOUR)
    delayed(hot, task, record_stays=AT_ONCE)
    assert hot.due().forget_expired(most=10) == 1
    assert view(hot, task) == Absent()
    again = a_request("k", submission="again", timing=task.timing)
    other = replace(again, fingerprint="f2", submission="other")
    verdicts = hot.admission(window=AT_ONCE).admit([again, other])
    assert verdicts[0] == Replayed(task.generation, None)
    assert type(verdicts[1]).__name__ == "Conflict"


@pytest.mark.parametrize("key", [None, "a key"])
def test_what_comes_near_is_whole_again_and_owed(hot, key):
    task = waiting(hot, key, delay_ms=HOUR)
    delayed(hot, task, record_stays=AT_ONCE)
    hot.due().forget_expired(most=10)
    near = {"how": {"from_ledger": True, "token": 70, "losses": 2}, "far": timedelta(days=1)}
    assert delayed(hot, task, **near) is Delayed.NEAR
    assert delayed(hot, task, **near) is Delayed.NEAR
    seen = snapshot(hot, task)
    assert (seen.token, seen.task.losses, seen.task.spec.type) == (70, 2, task.type)
    assert seen.owed[OwedKind.TURN].task == task
    hot.due().forget_expired(most=10)
    assert isinstance(view(hot, task), TaskView)


def test_what_the_ledger_brings_too_early_stays_far(hot):
    task = waiting(hot, delay_ms=HOUR)
    assert delayed(hot, task, how={"from_ledger": True}) is Delayed.FAR
    assert snapshot(hot, task).owed == {}


def test_who_says_far_says_so_whenever_he_comes(hot):
    """The ledger goes by the same words: else nobody might have it."""
    now = now_ms()
    late = a_fresh_envelope(
        generation=now - HOUR // 2, timing=Timing(run_at_ms=now - HOUR // 2 + 601_000)
    )
    assert delayed(hot, late) is Delayed.FAR
    assert view(hot, late).status is Status.SCHEDULED


def test_a_missing_record_is_made_anew_while_it_is_young(hot):
    task = a_fresh_envelope(timing=Timing(delay_ms=SOON))
    assert delayed(hot, task) is Delayed.NEAR
    assert view(hot, task).status is Status.SCHEDULED
    old = a_fresh_envelope(generation=now_ms() - 2 * HOUR, timing=Timing(delay_ms=SOON))
    assert delayed(hot, old) is Delayed.FORGOTTEN
    assert delayed(hot, old, how={"from_ledger": True}) is Delayed.NEAR


@pytest.mark.parametrize("what", ["running", "finished", "another generation"])
def test_what_went_on_elsewhere_is_over(hot, what):
    task = waiting(hot, delay_ms=SOON)
    if what == "finished":
        finished(hot, task)
    elif what == "running":
        claimed(hot.leases(), task)
    else:
        claimed(hot.leases(), replace(task, generation=task.generation + 1))
    assert delayed(hot, task) is Delayed.OVER
    assert hot.due().take(most=10) == []


def test_a_cold_shard_lets_nobody_wait(hot):
    task = waiting(hot, delay_ms=SOON)
    hot.become_another_server()
    assert delayed(hot, task) is Delayed.COLD
    hot.open()
    assert snapshot(hot, task).owed == {}


@pytest.mark.parametrize("hot", ["valkey"], indirect=True)
def test_an_entry_keeps_what_only_a_newer_version_knows(hot):
    task = waiting(hot, delay_ms=SOON)
    delayed(hot, task, how={"raw": codec.encode(task)[:-1] + NEWER})
    ((name, _),) = taken(hot)
    assert NEWER[1:] in name.task


def change(hot, task, *, delay_ms, seen=None, **changes):
    """Change the time of *task*; return the answer and the next turn."""
    seen = seen or snapshot(hot, task)
    timing = Timing(run_at_ms=seen.now_ms + delay_ms, said_ms=seen.now_ms, turn=seen.turn + 1)
    following = replace(task, turn=seen.turn + 1, timing=timing, **changes)
    fact = TaskChanged(
        id=task.id,
        generation=task.generation,
        turn=following.turn,
        at_ms=seen.now_ms,
        type=task.type,
        tenant=task.tenant,
        envelope=following,
    )
    result = ChangeOrder(
        seen=seen.moment, envelope=following, due_at_ms=timing.run_at_ms, facts=(fact,)
    )
    (answer,) = hot.control(hold=AT_ONCE).change([result])
    return answer, following, fact


def test_a_change_is_a_new_turn_that_owes_its_facts(hot):
    task = waiting(hot, delay_ms=60_000)
    delayed(hot, task)
    answer, following, fact = change(hot, task, delay_ms=SOON, metadata={"a": "b"})
    assert answer == Ordered()
    seen = snapshot(hot, task)
    assert (seen.turn, seen.task.status, seen.last) == (2, Status.SCHEDULED, (fact,))
    assert (seen.task.spec.metadata, seen.task.run_at_ms) == ({"a": "b"}, due_of(following))
    result = {}
    while set(result) != {OwedKind.FACTS, OwedKind.TURN}:
        result |= {name.kind: owed for name, owed in taken(hot)}
    assert result[OwedKind.FACTS].facts == (fact,)
    assert result[OwedKind.TURN].task == following
    assert now_ms() >= due_of(following)


def test_who_stands_in_line_for_the_turn_before_is_refused(hot):
    task = waiting(hot)
    _, following, fact = change(hot, task, delay_ms=60_000)
    assert hot.leases().claim([a_claim(task)]) == [TurnOver((fact,))]
    assert claimed(hot.leases(), following).losses == 0


@pytest.mark.parametrize("key", [None, "a key"])
def test_what_is_put_off_far_is_owed_to_nobody(hot, key):
    task = waiting(hot, key, delay_ms=60_000)
    delayed(hot, task)
    answer, _, _ = change(hot, task, delay_ms=HOUR)
    assert answer == Ordered()
    assert set(snapshot(hot, task).owed) == {OwedKind.FACTS}
    assert delayed(hot, task) is Delayed.OVER
    assert snapshot(hot, task).turn == 2


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("wish", ["change", "cancel"])
def test_what_was_ordered_of_a_far_task_stays_for_a_day(hot, key, wish):
    """Otherwise a lagging ledger would bring it near in its old form."""
    task = waiting(hot, key, delay_ms=HOUR)
    delayed(hot, task)
    if wish == "cancel":
        result = CancelOrder(
            id=task.id,
            seen=snapshot(hot, task).moment,
            facts=(cancelled(task, token=0, started_at_ms=None),),
            ending=Ending(finished_at_ms=now_ms()),
        )
        assert hot.control(window=AT_ONCE).cancel([result]) == [Ordered()]
    else:
        change(hot, task, delay_ms=2 * HOUR)
    assert 23 * HOUR < hot.life_left_ms(task) <= 24 * HOUR
    how = {"from_ledger": True}
    assert delayed(hot, task, how=how, far=timedelta(days=1)) is Delayed.OVER


def test_what_was_far_is_kept_when_it_is_put_near(hot):
    task = waiting(hot, "k", delay_ms=HOUR)
    delayed(hot, task, record_stays=timedelta(milliseconds=SOON))
    change(hot, task, delay_ms=SOON)
    assert len(taken(hot)) > 0
    assert hot.due().forget_expired(most=10) == 0
    assert isinstance(view(hot, task), TaskView)


@pytest.mark.parametrize("what", ["running", "cancel requested", "another turn", "nothing"])
def test_a_change_of_what_went_on_changes_nothing(hot, what):
    task = waiting(hot)
    seen = snapshot(hot, task)
    if what == "another turn":
        change(hot, task, delay_ms=HOUR)
    elif what == "nothing":
        hot.forget()
        hot.open()
    else:
        claimed(hot.leases(), task)
    if what == "cancel requested":
        hot.request_cancel(task)
        seen = snapshot(hot, task)
    answer, _, _ = change(hot, task, delay_ms=SOON, seen=seen)
    assert answer == Moved()


def test_a_cold_shard_changes_nothing(hot):
    task = waiting(hot)
    seen = snapshot(hot, task)
    hot.become_another_server()
    assert change(hot, task, delay_ms=SOON, seen=seen)[0] == Cold()
    hot.open()
    assert snapshot(hot, task) == seen


@pytest.mark.parametrize("key", [None, "a key"])
@pytest.mark.parametrize("due", ["near", "far"])
def test_a_rebuild_restores_what_waits(hot, due, key):
    task = waiting(hot, key, delay_ms=500 if due == "near" else HOUR)
    hot.forget()
    shards = hot.cold_shards(lease=AT_ONCE)
    under = shards.begin("word")
    row = row_of(task)
    shards.restore("word", [hot_view(row, row.spec, is_far=due == "far")])
    shards.open("word", under)
    if due == "far":
        assert snapshot(hot, task) == Absent()
        (verdict,) = hot.admission().admit([replace(task, submission="again")])
        assert isinstance(verdict, Replayed)
    else:
        seen = snapshot(hot, task)
        assert (seen.task.status, seen.task.run_at_ms) == (Status.SCHEDULED, due_of(task))
        assert seen.owed[OwedKind.TURN].task == replace(task, submitted=task.generation)
        ((name, _),) = taken(hot)
        assert claimed(hot.leases(), task).losses == 0
        assert name.kind is OwedKind.TURN


def test_a_rebuild_leaves_what_is_far_as_the_server_has_it(hot):
    task = waiting(hot, delay_ms=HOUR)
    delayed(hot, task)
    seen = snapshot(hot, task)
    hot.become_another_server()
    shards = hot.cold_shards()
    under = shards.begin("word")
    row = row_of(task)
    shards.restore("word", [hot_view(row, row.spec, is_far=True)])
    shards.open("word", under)
    assert snapshot(hot, task) == seen
