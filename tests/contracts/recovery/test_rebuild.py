"""A cold shard is filled from the ledger and opened; no value decreases."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core.task import Status
from taskmill.core.view import Absent
from taskmill.execution.lease import Beat, Claimed, HeldLease, Settled, Suspect, TurnOver
from taskmill.ledger.projection import merged, row_of
from taskmill.recovery.restoration import Restoration, hot_view
from taskmill.submission.admission import Conflict, Created, Replayed
from tests.builders import (
    a_claim,
    a_fresh_envelope,
    a_lease,
    a_request,
    a_source,
    a_success,
    cancel_requested,
    cancelled,
    deferred,
    died,
    now_ms,
    started,
    succeeded,
)
from tests.contracts.hot import admitted, claimed, next_turn
from tests.waiting import eventually

AT_ONCE = timedelta(0)


def told(task, *facts):
    """Return the record for a task's ledger row after these facts."""
    row = row_of(task)
    for fact in facts:
        row = merged(row, row_of(fact))
    return hot_view(row, row.spec)


def rebuilt(hot, *views, **spans):
    """Restore into a cold store, open it, and return the answers."""
    shards = hot.cold_shards(**spans)
    under = shards.begin("word")
    answers = shards.restore("word", views)
    assert shards.open("word", under) == under
    return answers


def view_of(hot, task):
    return hot.records().read([task.id])[0]


@pytest.fixture
def emptied(hot):
    hot.forget()
    return hot


# Who may rebuild


def test_an_open_shard_is_not_rebuilt(hot):
    shards = hot.cold_shards()
    assert not shards.are_some()
    assert shards.begin("word") == frozenset()


def test_a_shard_that_forgot_is_rebuilt_by_one_at_a_time(emptied):
    shards = emptied.cold_shards()
    assert shards.are_some()
    assert shards.begin("first")
    assert shards.begin("second") == frozenset()


def test_a_shard_of_another_server_is_rebuilt(hot):
    hot.become_another_server()
    assert hot.cold_shards().begin("word")


def test_a_rebuilder_that_says_nothing_any_more_is_followed_by_another(emptied):
    shards = emptied.cold_shards(nonce_stays=timedelta(milliseconds=30))
    under = shards.begin("first")
    eventually(lambda: shards.begin("second") == under, within=30, reason="the word ends")
    assert shards.keep("first", under) == frozenset()
    assert shards.open("first", under) == frozenset()
    assert shards.restore("first", [told(a_fresh_envelope())]) == [Restoration.START_AGAIN]


def test_a_word_that_is_renewed_stays(emptied):
    shards = emptied.cold_shards()
    under = shards.begin("word")
    assert shards.keep("word", under) == under
    assert shards.open("word", under) == under
    assert not shards.are_some()


def test_a_word_that_is_taken_back_lets_another_begin_at_once(emptied):
    shards = emptied.cold_shards()
    under = shards.begin("first")
    shards.leave("another", under)
    assert shards.begin("second") == frozenset()
    shards.leave("first", under)
    assert shards.begin("second") == under
    assert shards.restore("first", [told(a_fresh_envelope())]) == [Restoration.START_AGAIN]
    assert shards.open("first", under) == frozenset()


def test_what_was_emptied_during_the_rebuild_is_not_opened(emptied):
    shards = emptied.cold_shards()
    under = shards.begin("word")
    shards.restore("word", [told(a_fresh_envelope())])
    emptied.forget()
    assert shards.keep("word", under) == frozenset()
    assert shards.restore("word", [told(a_fresh_envelope())]) == [Restoration.START_AGAIN]
    assert shards.open("word", under) == frozenset()
    assert shards.are_some()


def test_nothing_is_restored_into_an_open_shard(hot):
    task = a_fresh_envelope()
    assert hot.cold_shards().restore("word", [told(task)]) == [Restoration.START_AGAIN]
    assert view_of(hot, task) == Absent()


def test_what_the_server_still_holds_is_named(hot):
    tasks = [admitted(hot.admission(), a_request()) for _ in range(20)]
    hot.become_another_server()
    shards = hot.cold_shards()
    under = shards.begin("word")
    held = {task_id for ids in shards.held(under) for task_id in ids}
    assert held == {task.id for task in tasks}
    assert not [ids for ids in shards.held(frozenset()) if ids and under != frozenset({0})]


# From nothing


def test_a_waiting_task_is_claimed_when_its_lease_without_a_source_has_lapsed(emptied):
    task = a_fresh_envelope()
    assert rebuilt(emptied, told(task)) == [Restoration.RESTORED]
    assert view_of(emptied, task).status is Status.QUEUED
    leases = emptied.leases()
    assert leases.claim([a_claim(task)]) == [HeldLease()]


def test_a_lapsed_lease_without_a_source_is_no_loss(emptied):
    task = a_fresh_envelope()
    rebuilt(emptied, told(task, started(task, token=9)), lease=AT_ONCE)
    (claim,) = emptied.leases().claim([a_claim(task)])
    assert isinstance(claim, Claimed)
    assert (claim.losses, claim.unreported) == (0, ())


def test_the_living_holder_takes_the_lease_by_its_heartbeat(emptied):
    task, token = a_fresh_envelope(), now_ms() * 1000
    rebuilt(emptied, told(task, started(task, token=token)))
    leases = emptied.leases()
    assert leases.extend([a_lease(task, token)]) == [Beat.HELD]
    assert isinstance(leases.settle([a_success(task, token)])[0], Settled)


def test_no_later_lease_has_a_smaller_token_than_the_ledger_knows(emptied):
    task, token = a_fresh_envelope(), (now_ms() + 3_600_000) * 1000
    rebuilt(emptied, told(task, started(task, token=token)), lease=AT_ONCE)
    assert claimed(emptied.leases(), task).token > token


def test_a_task_with_a_loss_is_a_suspect_again(emptied):
    task = a_fresh_envelope()
    rebuilt(emptied, told(task, started(task, losses=2)), lease=AT_ONCE)
    assert emptied.leases().claim([a_claim(task)]) == [Suspect(2)]


def test_a_retrying_task_is_owed_its_next_turn_at_its_time(emptied):
    task = a_fresh_envelope()
    fact = deferred(task, next_attempt=2, due_at_ms=now_ms() - 1)
    rebuilt(emptied, told(task, fact))
    view = view_of(emptied, task)
    assert (view.status, view.waiting.due_at_ms, view.attempt) == (
        Status.RETRYING,
        fact.due_at_ms,
        1,
    )
    ((name, owed),) = emptied.due().take(most=10)
    assert (name.turn, owed.task.turn, owed.task.attempt) == (2, 2, 2)
    assert owed.task.payload == task.payload


def test_what_is_due_later_is_not_published_now(emptied):
    task = a_fresh_envelope()
    rebuilt(emptied, told(task, deferred(task, due_at_ms=now_ms() + 3_600_000)))
    assert emptied.due().take(most=10) == []


def test_a_wish_to_cancel_is_kept(emptied):
    task = a_fresh_envelope()
    rebuilt(emptied, told(task, started(task), cancel_requested(task)))
    assert view_of(emptied, task).cancel_requested


@pytest.mark.parametrize("end", [succeeded, died, cancelled])
@pytest.mark.parametrize("key", [None, "k1"])
def test_a_finished_task_does_not_run_again(emptied, end, key):
    task = a_request(key, generation=now_ms())
    fact = end(task)
    rebuilt(emptied, told(task, fact))
    view = view_of(emptied, task)
    assert view.status.is_final
    assert view.ending.finished_at_ms == fact.at_ms
    assert emptied.leases().claim([a_claim(task)]) == [TurnOver(())]


def test_a_key_still_names_its_task(emptied):
    task = a_request("k1", generation=now_ms())
    rebuilt(emptied, told(task, succeeded(task)))
    admission = emptied.admission()
    again = replace(task, generation=0, submission="another")
    other = replace(again, fingerprint="another")
    assert [type(one) for one in admission.admit([again, other])] == [Replayed, Conflict]


def test_a_key_names_its_task_for_a_while_however_late_it_is_restored(emptied):
    task = a_request("k1", generation=now_ms())
    rebuilt(emptied, told(task, succeeded(task)), window=AT_ONCE)
    assert emptied.due().forget_expired(most=10) == 0
    (verdict,) = emptied.admission().admit([replace(task, generation=0, submission="another")])
    assert isinstance(verdict, Replayed)


def test_a_key_is_free_again_when_its_window_is_over(emptied):
    task = a_request("k1", generation=now_ms())
    rebuilt(emptied, told(task, succeeded(task)), window=AT_ONCE, grace=AT_ONCE)
    assert emptied.due().forget_expired(most=10) == 1
    (verdict,) = emptied.admission().admit([replace(task, generation=0, submission="another")])
    assert isinstance(verdict, Created)


# Over what the server still has


def test_the_ledger_wins_where_it_is_closed(hot):
    task = admitted(hot.admission(), a_request())
    token = claimed(hot.leases(), task).token
    hot.become_another_server()
    assert rebuilt(hot, told(task, succeeded(task, token=token))) == [Restoration.RESTORED]
    assert view_of(hot, task).status is Status.SUCCEEDED


def test_the_ledger_wins_where_it_is_a_turn_further(hot):
    task = admitted(hot.admission(), a_request())
    hot.become_another_server()
    rebuilt(hot, told(task, deferred(task, due_at_ms=now_ms() - 1)))
    assert view_of(hot, task).status is Status.RETRYING
    turns = {name.turn for name, _ in hot.due().take(most=10) if name.kind == "turn"}
    assert turns == {2}


def test_the_ledger_wins_where_it_is_a_generation_further(hot):
    task = admitted(hot.admission(), a_request())
    finished_there = a_success(task, claimed(hot.leases(), task).token)
    hot.leases().settle([finished_there])
    redriven = replace(task, generation=task.generation + 1, submitted=task.generation)
    hot.become_another_server()
    assert rebuilt(hot, told(redriven)) == [Restoration.RESTORED]
    assert view_of(hot, task).status is Status.QUEUED


def test_what_the_server_knows_and_the_ledger_does_not_is_kept(hot):
    task = admitted(hot.admission(), a_request())
    token = claimed(hot.leases(), task).token
    (settled,) = hot.leases().settle([next_turn(task, token, due_at_ms=now_ms() - 1)])
    hot.become_another_server()
    assert rebuilt(hot, told(task, started(task, token=token)), lease=AT_ONCE) == [Restoration.KEPT]
    assert view_of(hot, task).status is Status.RETRYING
    owed = dict(hot.due().take(most=10))
    assert [one.facts for name, one in owed.items() if name.turn == 2] == [settled.facts]


def test_an_end_that_only_the_server_knows_is_kept_with_its_facts(hot):
    task = admitted(hot.admission(), a_request())
    token = claimed(hot.leases(), task).token
    (settled,) = hot.leases().settle([a_success(task, token)])
    hot.become_another_server()
    assert rebuilt(hot, told(task)) == [Restoration.KEPT]
    assert hot.leases().claim([a_claim(task)]) == [TurnOver(settled.facts)]


def test_an_end_that_both_tell_is_kept_with_its_facts(hot):
    task = admitted(hot.admission(), a_request("k1"))
    token = claimed(hot.leases(), task).token
    (settled,) = hot.leases().settle([a_success(task, token)])
    hot.become_another_server()
    assert rebuilt(hot, told(task, *settled.facts)) == [Restoration.KEPT]
    assert hot.leases().claim([a_claim(task)]) == [TurnOver(settled.facts)]


def test_an_end_that_both_tell_differently_is_the_ledgers(hot):
    task = admitted(hot.admission(), a_request("k1"))
    token = claimed(hot.leases(), task).token
    hot.leases().settle([a_success(task, token)])
    hot.become_another_server()
    for fact in (succeeded(task, token=token, losses=1), died(task, token=token)):
        assert rebuilt(hot, told(task, fact)) == [Restoration.RESTORED]
        hot.become_another_server()
    hot.open()
    assert view_of(hot, task).status is Status.DEAD


def test_a_key_that_the_server_remembers_names_its_task_for_a_while_longer(hot):
    task = admitted(hot.admission(), a_request("k1"))
    token = claimed(hot.leases(), task).token
    leases = hot.leases(window=AT_ONCE, grace=AT_ONCE)
    (settled,) = leases.settle([a_success(task, token)])
    hot.become_another_server()
    rebuilt(hot, told(task, *settled.facts), window=AT_ONCE)
    assert hot.due().forget_expired(most=10) == 0
    assert view_of(hot, task).status is Status.SUCCEEDED


def test_each_of_many_is_answered_in_its_place(hot):
    tasks = [a_fresh_envelope() for _ in range(300)]
    known, shards = tasks[::3], hot.cold_shards()
    hot.forget()
    shards.begin("word")
    shards.restore("word", [told(task) for task in known])
    answers = shards.restore("word", [told(task) for task in tasks])
    kept = [task for task, said in zip(tasks, answers, strict=True) if said is Restoration.KEPT]
    assert kept == known


def test_a_lease_that_the_server_remembers_is_nobodys(hot):
    task = admitted(hot.admission(), a_request())
    claimed(hot.leases(), task, source=a_source(1))
    hot.become_another_server()
    rebuilt(hot, told(task))
    leases = hot.leases()
    assert leases.claim([a_claim(task, source=a_source(2))]) == [HeldLease()]


def test_tokens_and_losses_are_the_larger_of_both(hot):
    task = admitted(hot.admission(), a_request())
    token = claimed(hot.leases(), task).token
    hot.become_another_server()
    rebuilt(hot, told(task, started(task, token=token - 5, losses=1)), lease=AT_ONCE)
    (claim,) = hot.leases().claim([a_claim(task, alone=True)])
    assert claim.token > token
    assert claim.losses == 1


def test_restoring_twice_changes_nothing(emptied):
    task = a_fresh_envelope()
    shards = emptied.cold_shards()
    under = shards.begin("word")
    view = told(task, deferred(task, due_at_ms=now_ms() - 1))
    assert shards.restore("word", [view, view]) == [Restoration.RESTORED, Restoration.KEPT]
    shards.open("word", under)
    assert len(emptied.due().take(most=10)) == 1
