"""Crews perform side by side, and can let go of a call."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from threading import Barrier, Event, get_ident

import pytest

from taskmill.execution.outcome import Succeeded
from taskmill.platform.executor import ThreadCrew
from taskmill.platform.loop_executor import LoopCrew
from taskmill.stores.memory.process import InlineCrew
from tests.waiting import eventually


def all_ends(crew, wanted):
    ends = {}

    def gather():
        ends.update(
            (one.ticket, one.end.result) for one in crew.ended(within=timedelta(seconds=0.01))
        )
        return len(ends) == wanted

    eventually(gather, within=20, reason=f"{wanted} calls ended")
    return ends


@pytest.fixture(params=[ThreadCrew, LoopCrew, InlineCrew])
def crew(request):
    return request.param()


def test_every_call_reports_its_own_end(crew):
    tickets = {crew.start(lambda n=n: Succeeded(n)): n for n in range(500)}
    assert all_ends(crew, 500) == tickets


def test_what_must_be_awaited_is_awaited(crew):
    async def perform(number):
        await asyncio.sleep(0)
        return Succeeded(number)

    tickets = {crew.start(lambda n=n: perform(n)): n for n in range(50)}
    assert all_ends(crew, 50) == tickets
    assert crew.strays(within=timedelta(0)) == 0


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
    assert crew.strays(within=timedelta(milliseconds=5)) == 1
    is_over.set()
    assert late.wait(20)
    assert crew.strays(within=timedelta(seconds=20)) == 0
    assert crew.ended(within=timedelta(milliseconds=50)) == []


def test_an_abandoned_call_on_the_loop_is_cancelled():
    crew, began, cleaned = LoopCrew(), Event(), Event()

    async def hang():
        try:
            began.set()
            await asyncio.sleep(60)
        finally:
            cleaned.set()

    stuck = crew.start(hang)
    assert began.wait(20)
    crew.abandon(stuck)
    assert crew.strays(within=timedelta(seconds=20)) == 0
    assert cleaned.is_set()
    assert crew.ended(within=timedelta(milliseconds=5)) == []


def test_a_call_that_is_abandoned_before_it_began_never_begins():
    """Its turn has come when it is abandoned: it stands right behind one that blocks the loop."""
    crew, holds, are_queued = LoopCrew(), Event(), Event()
    blocks, is_over, began = Event(), Event(), []

    def hold():
        holds.set()
        return Succeeded(are_queued.wait(20))

    def block():
        blocks.set()
        return Succeeded(is_over.wait(20))

    crew.start(hold)
    assert holds.wait(20)
    crew.start(block)
    stuck = crew.start(lambda: began.append(1))
    are_queued.set()
    assert blocks.wait(20)
    crew.abandon(stuck)
    is_over.set()
    assert crew.strays(within=timedelta(seconds=20)) == 0
    assert began == []
    assert list(all_ends(crew, 2).values()) == [True, True]


@pytest.mark.parametrize("block", [True, False], ids=["blocks the loop", "ignores the cut"])
def test_a_call_that_cannot_be_cancelled_is_a_stray(block):
    crew, began, is_over = LoopCrew(), Event(), Event()

    async def hang():
        began.set()
        while not is_over.wait(20 if block else 0):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.001)
        return Succeeded("late")

    stuck = crew.start(hang)
    assert began.wait(20)
    crew.abandon(stuck)
    assert crew.strays(within=timedelta(milliseconds=50)) == 1
    is_over.set()
    assert crew.strays(within=timedelta(seconds=20)) == 0
    assert crew.ended(within=timedelta(milliseconds=5)) == []


def test_an_abandoned_call_that_has_ended_is_no_stray(crew):
    ticket = crew.start(lambda: Succeeded("done"))
    assert list(all_ends(crew, 1).values()) == ["done"]
    crew.abandon(ticket)
    assert crew.strays(within=timedelta(seconds=20)) == 0


def test_waiting_for_an_end_has_an_end(crew):
    assert crew.ended(within=timedelta(milliseconds=5)) == []
