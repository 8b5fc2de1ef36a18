"""Due entries are taken on time, held by the taker, and taken over when it dies."""

from datetime import timedelta

from taskmill.core.owed import Cleared, Owed, OwedKey, OwedKind
from taskmill.core.view import Absent, TaskView
from taskmill.submission.submission import owed_submission
from tests.builders import a_claim, a_request, a_success, now_ms
from tests.contracts.hot import admitted, claimed, finished, next_turn
from tests.waiting import eventually

NOW = timedelta()
SOON = timedelta(milliseconds=50)
LONG = timedelta(minutes=1)


def test_what_is_due_is_taken_with_its_bytes(hot):
    task = admitted(hot.admission(hold=NOW), a_request())
    assert hot.due().take(most=10) == [(owed_submission(task), Owed(task=task))]


def test_what_is_not_due_stays(hot):
    admitted(hot.admission(hold=LONG), a_request())
    assert hot.due().take(most=10) == []


def test_what_is_owed_later_is_taken_at_its_time(hot):
    task = admitted(hot.admission(hold=SOON), a_request())
    taken = []
    eventually(lambda: taken.extend(hot.due().take(most=10)) or taken, within=10, reason="due")
    assert [name for name, _ in taken] == [owed_submission(task)]


def test_what_is_taken_is_held(hot):
    admitted(hot.admission(hold=NOW), a_request())
    hot.due(hold=LONG).take(most=10)
    assert hot.due(hold=LONG).take(most=10) == []


def test_what_a_dead_taker_held_is_taken_again(hot):
    task = admitted(hot.admission(hold=NOW), a_request())
    first = hot.due(hold=SOON).take(most=10)
    again = []
    eventually(lambda: again.extend(hot.due().take(most=10)) or again, within=10, reason="held")
    assert again == first == [(owed_submission(task), Owed(task=task))]


def a_turn_that_is_due(hot):
    task = a_request(generation=now_ms())
    answer = claimed(hot.leases(), task)
    hot.leases().settle([next_turn(task, answer.token, due_at_ms=now_ms() - 1)])
    return task


def taken(hot, *, hold):
    ((name, _),) = hot.due(hold=hold).take(most=10)
    return name


def taken_again(hot, *, hold):
    entries = []
    eventually(
        lambda: entries.extend(hot.due(hold=hold).take(most=10)) or entries,
        within=10,
        reason="the hold runs out",
    )
    ((name, _),) = entries
    return name


def test_a_taker_clears_the_turn_that_it_holds(hot):
    a_turn_that_is_due(hot)
    name = taken(hot, hold=LONG)
    assert hot.due().clear([name]) == [Cleared.DONE]
    assert hot.due().clear([name]) == [Cleared.LATE]
    assert hot.shards().check()[0].unlisted == 0


def test_a_taker_whose_hold_ran_out_clears_nothing_that_another_took(hot):
    a_turn_that_is_due(hot)
    first = taken(hot, hold=SOON)
    second = taken_again(hot, hold=SOON)
    assert hot.due().clear([first]) == [Cleared.LATE]
    assert taken_again(hot, hold=LONG) == first == second


def test_a_taker_whose_hold_ran_out_clears_nothing_that_nobody_else_took(hot):
    a_turn_that_is_due(hot)
    name = taken(hot, hold=NOW)
    assert hot.due().clear([name]) == [Cleared.LATE]
    assert taken(hot, hold=LONG) == name


def test_what_was_submitted_is_cleared_whoever_holds_it(hot):
    admitted(hot.admission(hold=NOW), a_request())
    first = taken(hot, hold=SOON)
    taken_again(hot, hold=LONG)
    assert hot.due().clear([first]) == [Cleared.DONE]


def test_a_turn_is_cleared_by_a_caller_that_took_nothing(hot):
    task = a_turn_that_is_due(hot)
    taken(hot, hold=LONG)
    name = OwedKey(id=task.id, generation=task.generation, turn=2, kind=OwedKind.TURN)
    assert hot.admission().clear([name]) == [Cleared.DONE]


def test_no_more_is_taken_than_asked(hot):
    for _ in range(3):
        task_id = a_request().id[:-8] + "00000000"  # all in one shard
        admitted(hot.admission(hold=NOW), a_request(id=task_id))
    due = hot.due(hold=LONG)
    assert [len(due.take(most=2)), len(due.take(most=2))] == [2, 1]


def test_a_keyed_record_is_forgotten_after_its_window(hot):
    due = hot.due()
    task = admitted(hot.admission(), a_request("k"))
    finished(hot, task, window=SOON, grace=NOW)
    eventually(lambda: due.forget_expired(most=10) == 1, within=10, reason="the window is over")
    assert hot.records().read([task.id]) == [Absent()]
    assert due.forget_expired(most=10) == 0


def test_a_keyed_record_stays_within_its_window(hot):
    task = admitted(hot.admission(), a_request("k"))
    finished(hot, task)
    assert hot.due().forget_expired(most=10) == 0
    assert isinstance(hot.records().read([task.id])[0], TaskView)


def test_a_key_that_is_used_again_lives_again(hot):
    due = hot.due()
    task = admitted(hot.admission(), a_request("k", submission="first"))
    finished(hot, task, window=NOW, grace=NOW)
    admitted(hot.admission(), a_request("k", submission="second"))
    assert due.forget_expired(most=10) == 0


def test_a_turn_that_is_claimed_for_a_newer_generation_lives_again(hot):
    task = admitted(hot.admission(), a_request("k"))
    finished(hot, task, window=NOW, grace=NOW)
    newer = a_request("k", generation=task.generation + 1)
    (claimed,) = hot.leases().claim([a_claim(newer)])
    assert hot.due().forget_expired(most=10) == 0
    assert hot.leases().settle([a_success(newer, claimed.token)])
