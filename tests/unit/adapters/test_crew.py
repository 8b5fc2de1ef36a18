"""Threads that perform side by side, and can be let go of."""

from datetime import timedelta
from threading import Barrier, Event, get_ident

from taskmill.adapters.crew import ThreadCrew
from taskmill.domain.outcome import Succeeded
from tests.waiting import eventually


def all_ends(crew, wanted):
    ends = {}

    def gather():
        ends.update((one.ticket, one.end.result) for one in crew.ended(within=timedelta(0.01)))
        return len(ends) == wanted

    eventually(gather, within=20, reason=f"{wanted} calls ended")
    return ends


def test_every_call_reports_its_own_end():
    crew = ThreadCrew()
    tickets = {crew.start(lambda n=n: Succeeded(n)): n for n in range(500)}
    assert all_ends(crew, 500) == tickets


def test_calls_that_wait_for_each_other_run_side_by_side():
    crew, meeting = ThreadCrew(), Barrier(20)
    for _ in range(20):
        crew.start(lambda: Succeeded(meeting.wait(20) >= 0))
    assert set(all_ends(crew, 20).values()) == {True}


def test_calls_that_end_at_once_share_a_thread():
    crew = ThreadCrew()
    for _ in range(50):
        crew.start(lambda: Succeeded(get_ident()))
        all_ends(crew, 1)
    crew.start(lambda: Succeeded(get_ident()))
    first = all_ends(crew, 1)
    crew.start(lambda: Succeeded(get_ident()))
    assert set(first.values()) == set(all_ends(crew, 1).values())


def test_an_abandoned_call_never_reports_and_holds_nobody():
    crew, began, is_over, late = ThreadCrew(), Event(), Event(), Event()

    def hang():
        began.set()
        is_over.wait(20)
        late.set()
        return Succeeded("late")

    stuck = crew.start(hang)
    assert began.wait(20)
    crew.abandon(stuck)
    good = crew.start(lambda: Succeeded("good"))
    assert all_ends(crew, 1) == {good: "good"}
    is_over.set()
    assert late.wait(20)
    assert crew.ended(within=timedelta(milliseconds=50)) == []


def test_waiting_for_an_end_has_an_end():
    assert ThreadCrew().ended(within=timedelta(milliseconds=5)) == []
