"""A submission becomes a task once per key, and is owed until it is published."""

from datetime import timedelta

from taskmill.domain.admission import (
    AdmittedBefore,
    Cleared,
    Conflict,
    Created,
    Owed,
    OwedKey,
    OwedKind,
    Replayed,
)
from taskmill.usecases.submit import owed_submission
from tests.builders import a_claim, a_request, a_success, now_ms
from tests.contracts.hot import admitted, finished
from tests.waiting import eventually

SOON = timedelta(milliseconds=50)


def test_a_new_task_gets_the_moment_as_its_generation(hot):
    before = now_ms()
    (verdict,) = hot.admission().admit([a_request()])
    assert isinstance(verdict, Created)
    assert before <= verdict.generation <= now_ms() + 1


def test_the_same_submission_is_admitted_once(hot):
    request = a_request("k")
    task = admitted(hot.admission(), request)
    assert hot.admission().admit([request]) == [AdmittedBefore(task.generation)]


def test_the_same_request_under_a_key_is_a_replay_and_tells_what_is_owed(hot):
    task = admitted(hot.admission(), a_request("k", submission="first"))
    assert hot.admission().admit([a_request("k", submission="second")]) == [
        Replayed(task.generation, Owed(task=task))
    ]


def test_another_request_under_a_key_is_a_conflict(hot):
    task = admitted(hot.admission(), a_request("k", submission="first"))
    other = a_request("k", submission="second", fingerprint="f2")
    assert hot.admission().admit([other]) == [Conflict(task.generation, Owed(task=task))]


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
    admission = hot.admission(window=SOON)
    task = admitted(admission, a_request("k", submission="first"))
    finished(hot, task)
    verdicts = []

    def is_created():
        verdicts.extend(admission.admit([a_request("k", submission="second", fingerprint="f2")]))
        return isinstance(verdicts[-1], Created)

    eventually(is_created, within=10, reason="the window is over")
    assert verdicts[-1].generation > task.generation


def test_a_key_names_its_task_for_as_long_as_it_lives(hot):
    admission = hot.admission(window=timedelta())
    task = admitted(admission, a_request("k", submission="first"))
    assert admission.admit([a_request("k", submission="second")]) == [
        Replayed(task.generation, Owed(task=task))
    ]


def test_the_next_generation_is_larger_even_when_the_clock_went_back(hot):
    ahead = now_ms() + 60_000
    task = a_request("k", generation=ahead, submitted=now_ms() - 1, submission="first")
    finished(hot, task)
    admission = hot.admission(window=timedelta())
    assert admission.admit([a_request("k", submission="second")]) == [Created(ahead + 1)]


def test_the_next_generation_keeps_the_token(hot):
    admission = hot.admission(window=timedelta())
    task = admitted(admission, a_request("k", submission="first"))
    high = now_ms() * 1000 + 10**12  # as a server whose clock runs ahead would have given it
    hot.leases().settle([a_success(task, high)])
    following = admitted(admission, a_request("k", submission="second"))
    (claimed,) = hot.leases().claim([a_claim(following)])
    assert claimed.token == high + 1


def test_what_is_cleared_is_owed_no_more(hot):
    due = hot.due(hold=timedelta())
    task = admitted(due, a_request())
    assert due.clear([owed_submission(task)]) == [Cleared.DONE]
    assert due.take(most=10) == []


def test_clearing_for_another_generation_says_so(hot):
    admission = hot.admission(window=timedelta())
    first = admitted(admission, a_request("k", submission="first"))
    finished(hot, first)
    admitted(admission, a_request("k", submission="second"))
    assert admission.clear([owed_submission(first)]) == [Cleared.OTHER_GENERATION]


def test_clearing_for_a_record_that_is_gone_says_so(hot):
    unknown = OwedKey(id=a_request().id, generation=1, turn=1, kind=OwedKind.SUBMISSION)
    assert hot.admission().clear([unknown]) == [Cleared.OTHER_GENERATION]


def test_clearing_an_old_turn_leaves_the_next_one_owed(hot):
    due = hot.due(hold=timedelta(), window=timedelta())
    first = admitted(due, a_request("k", submission="first"))
    finished(hot, first)
    second = admitted(due, a_request("k", submission="second"))
    due.clear([owed_submission(first)])
    assert due.take(most=10) == [(owed_submission(second), Owed(task=second))]
