"""A submission becomes one task per key, and is owed until it is published."""

from datetime import timedelta

from taskmill.core.owed import Cleared, Owed, OwedKey, OwedKind
from taskmill.execution.lease import TurnOver
from taskmill.submission.admission import AdmittedBefore, Conflict, Created, Replayed
from taskmill.submission.submission import owed_submission
from tests.builders import a_claim, a_request, a_success, now_ms
from tests.contracts.hot import admitted, finished
from tests.waiting import eventually

SOON = timedelta(milliseconds=50)
NOW = timedelta(0)


def test_a_new_task_gets_the_moment_as_its_generation(hot):
    before = now_ms()
    (verdict,) = hot.admission().admit([a_request()])
    assert isinstance(verdict, Created)
    assert before <= verdict.generation <= now_ms() + 1


def test_the_same_submission_is_admitted_once(hot):
    request = a_request("k")
    task = admitted(hot.admission(), request)
    assert hot.admission().admit([request]) == [AdmittedBefore(task.generation, Owed(task=task))]


def test_the_same_request_under_a_key_is_a_replay_and_tells_what_is_owed(hot):
    task = admitted(hot.admission(), a_request("k", submission="first"))
    assert hot.admission().admit([a_request("k", submission="second")]) == [
        Replayed(task.generation, Owed(task=task))
    ]


def test_another_request_under_a_key_is_a_conflict(hot):
    task = admitted(hot.admission(), a_request("k", submission="first"))
    other = a_request("k", submission="second", fingerprint="f2")
    assert hot.admission().admit([other]) == [Conflict(task.generation, Owed(task=task))]


def test_a_submission_that_comes_again_when_it_is_published_owes_nothing(hot):
    request = a_request("k")
    task = admitted(hot.admission(), request)
    hot.admission().clear([owed_submission(task)])
    assert hot.admission().admit([request]) == [AdmittedBefore(task.generation, None)]


def test_a_replay_of_what_is_published_owes_nothing(hot):
    task = admitted(hot.admission(), a_request("k", submission="first"))
    hot.admission().clear([owed_submission(task)])
    assert hot.admission().admit([a_request("k", submission="second")]) == [
        Replayed(task.generation, None)
    ]


def test_two_of_one_key_in_one_call_are_told_apart(hot):
    first, second = a_request("k", submission="first"), a_request("k", submission="second")
    created, replayed = hot.admission().admit([first, second])
    assert (type(created), type(replayed)) == (Created, Replayed)


def test_a_finished_task_is_replayed_within_the_window(hot):
    task = admitted(hot.admission(), a_request("k", submission="first"))
    hot.admission().clear([owed_submission(task)])
    finished(hot, task)
    assert hot.admission().admit([a_request("k", submission="second")]) == [
        Replayed(task.generation, None)
    ]


def test_after_the_window_the_key_names_the_next_generation(hot):
    admission = hot.admission()
    task = admitted(admission, a_request("k", submission="first"))
    finished(hot, task, window=SOON, grace=NOW)
    verdicts = []

    def is_created():
        verdicts.extend(admission.admit([a_request("k", submission="second", fingerprint="f2")]))
        return isinstance(verdicts[-1], Created)

    eventually(is_created, within=10, reason="the window is over")
    assert verdicts[-1].generation > task.generation


def test_a_key_names_its_task_for_a_while_after_its_end_however_late_that_was(hot):
    task = admitted(hot.admission(), a_request("k", submission="first"))
    hot.admission().clear([owed_submission(task)])
    finished(hot, task, window=NOW)
    repeated = a_request("k", submission="second")
    assert hot.admission(window=NOW).admit([repeated]) == [Replayed(task.generation, None)]
    assert hot.due().forget_expired(most=10) == 0


def test_an_end_that_was_not_told_is_told_although_the_key_was_asked_for_again(hot):
    task = admitted(hot.admission(), a_request("k", submission="first"))
    (lease,) = hot.leases().claim([a_claim(task)])
    end = a_success(task, lease.token)
    hot.leases(window=NOW).settle([end])
    hot.admission(window=NOW).admit([a_request("k", submission="second", fingerprint="f2")])
    assert hot.leases().claim([a_claim(task)]) == [TurnOver(end.facts)]


def test_a_key_whose_lifetime_nobody_noted_is_kept_for_its_window(hot):
    task = admitted(hot.admission(), a_request("k", submission="first"))
    finished(hot, task)
    hot.forget_lifetimes()
    again = a_request("k", submission="second")
    assert isinstance(hot.admission().admit([again])[0], Replayed)
    assert isinstance(hot.admission(window=NOW).admit([again])[0], Created)


def test_a_key_names_its_task_for_as_long_as_it_lives(hot):
    admission = hot.admission(window=NOW)
    task = admitted(admission, a_request("k", submission="first"))
    assert admission.admit([a_request("k", submission="second")]) == [
        Replayed(task.generation, Owed(task=task))
    ]


def test_the_next_generation_is_larger_even_when_the_clock_went_back(hot):
    ahead = now_ms() + 60_000
    task = a_request("k", generation=ahead, submitted=now_ms() - 1, submission="first")
    finished(hot, task, window=NOW, grace=NOW)
    assert hot.admission().admit([a_request("k", submission="second")]) == [Created(ahead + 1)]


def test_the_next_generation_keeps_the_token(hot):
    admission = hot.admission()
    task = admitted(admission, a_request("k", submission="first"))
    high = now_ms() * 1000 + 10**12  # as a server whose clock runs ahead would have given it
    hot.leases(window=NOW, grace=NOW).settle([a_success(task, high)])
    following = admitted(admission, a_request("k", submission="second"))
    (claimed,) = hot.leases().claim([a_claim(following)])
    assert claimed.token == high + 1


def test_what_is_cleared_is_owed_no_more(hot):
    due = hot.due(hold=NOW)
    task = admitted(hot.admission(hold=NOW), a_request())
    assert due.clear([owed_submission(task)]) == [Cleared.DONE]
    assert due.take(most=10) == []


def test_clearing_for_another_generation_says_so(hot):
    admission = hot.admission()
    first = admitted(admission, a_request("k", submission="first"))
    finished(hot, first, window=NOW, grace=NOW)
    admitted(admission, a_request("k", submission="second"))
    assert admission.clear([owed_submission(first)]) == [Cleared.OTHER_GENERATION]


def test_clearing_for_a_record_that_is_gone_says_so(hot):
    unknown = OwedKey(id=a_request().id, generation=1, turn=1, kind=OwedKind.SUBMISSION)
    assert hot.admission().clear([unknown]) == [Cleared.OTHER_GENERATION]


def test_clearing_an_old_turn_leaves_the_next_one_owed(hot):
    due = hot.due(hold=NOW)
    first = admitted(hot.admission(hold=NOW), a_request("k", submission="first"))
    finished(hot, first, window=NOW, grace=NOW)
    second = admitted(hot.admission(hold=NOW), a_request("k", submission="second"))
    due.clear([owed_submission(first)])
    assert due.take(most=10) == [(owed_submission(second), Owed(task=second))]
