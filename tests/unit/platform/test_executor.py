"""Executors run calls concurrently and can abandon one."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from threading import Barrier, Event, get_ident

import pytest

from taskmill.execution.outcome import Succeeded
from taskmill.platform.executor import ThreadExecutor
from taskmill.platform.loop_executor import LoopExecutor
from taskmill.stores.memory.process import InlineExecutor
from tests.waiting import eventually


def all_ends(executor, wanted):
    ends = {}

    def gather():
        ends.update(
            (one.ticket, one.end.result) for one in executor.ended(within=timedelta(seconds=0.01))
        )
        return len(ends) == wanted

    eventually(gather, within=20, reason=f"{wanted} calls ended")
    return ends


@pytest.fixture(params=[ThreadExecutor, LoopExecutor, InlineExecutor])
def executor(request):
    return request.param()


def test_every_call_reports_its_own_end(executor):
    tickets = {executor.start(lambda n=n: Succeeded(n)): n for n in range(500)}
    assert all_ends(executor, 500) == tickets


def test_what_must_be_awaited_is_awaited(executor):
    async def perform(number):
        await asyncio.sleep(0)
        return Succeeded(number)

    tickets = {executor.start(lambda n=n: perform(n)): n for n in range(50)}
    assert all_ends(executor, 50) == tickets
    assert executor.strays(within=timedelta(0)) == 0


def test_calls_that_wait_for_each_other_run_side_by_side():
    executor, meeting = ThreadExecutor(), Barrier(20)
    for _ in range(20):
        executor.start(lambda: Succeeded(meeting.wait(20) >= 0))
    assert set(all_ends(executor, 20).values()) == {True}


def test_calls_that_end_at_once_share_a_thread():
    executor = ThreadExecutor()
    for _ in range(50):
        executor.start(lambda: Succeeded(get_ident()))
        all_ends(executor, 1)
    executor.start(lambda: Succeeded(get_ident()))
    first = all_ends(executor, 1)
    executor.start(lambda: Succeeded(get_ident()))
    assert set(first.values()) == set(all_ends(executor, 1).values())


def test_an_abandoned_call_never_reports_and_holds_nobody():
    executor, began, is_over, late = ThreadExecutor(), Event(), Event(), Event()

    def hang():
        began.set()
        is_over.wait(20)
        late.set()
        return Succeeded("late")

    stuck = executor.start(hang)
    assert began.wait(20)
    executor.abandon(stuck)
    good = executor.start(lambda: Succeeded("good"))
    assert all_ends(executor, 1) == {good: "good"}
    assert executor.strays(within=timedelta(milliseconds=5)) == 1
    is_over.set()
    assert late.wait(20)
    assert executor.strays(within=timedelta(seconds=20)) == 0
    assert executor.ended(within=timedelta(milliseconds=50)) == []


def test_an_abandoned_call_on_the_loop_is_cancelled():
    executor, began, cleaned = LoopExecutor(), Event(), Event()

    async def hang():
        try:
            began.set()
            await asyncio.sleep(60)
        finally:
            cleaned.set()

    stuck = executor.start(hang)
    assert began.wait(20)
    executor.abandon(stuck)
    assert executor.strays(within=timedelta(seconds=20)) == 0
    assert cleaned.is_set()
    assert executor.ended(within=timedelta(milliseconds=5)) == []


def test_a_call_that_is_abandoned_before_it_began_never_begins():
    """Its turn has come when it is abandoned: it stands right behind one that blocks the loop."""
    executor, holds, are_queued = LoopExecutor(), Event(), Event()
    blocks, is_over, began = Event(), Event(), []

    def hold():
        holds.set()
        return Succeeded(are_queued.wait(20))

    def block():
        blocks.set()
        return Succeeded(is_over.wait(20))

    executor.start(hold)
    assert holds.wait(20)
    executor.start(block)
    stuck = executor.start(lambda: began.append(1))
    are_queued.set()
    assert blocks.wait(20)
    executor.abandon(stuck)
    is_over.set()
    assert executor.strays(within=timedelta(seconds=20)) == 0
    assert began == []
    assert list(all_ends(executor, 2).values()) == [True, True]


@pytest.mark.parametrize("block", [True, False], ids=["blocks the loop", "ignores the cut"])
def test_a_call_that_cannot_be_cancelled_is_a_stray(block):
    executor, began, is_over = LoopExecutor(), Event(), Event()

    async def hang():
        began.set()
        while not is_over.wait(20 if block else 0):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.001)
        return Succeeded("late")

    stuck = executor.start(hang)
    assert began.wait(20)
    executor.abandon(stuck)
    assert executor.strays(within=timedelta(milliseconds=50)) == 1
    is_over.set()
    assert executor.strays(within=timedelta(seconds=20)) == 0
    assert executor.ended(within=timedelta(milliseconds=5)) == []


def test_an_abandoned_call_that_has_ended_is_no_stray(executor):
    ticket = executor.start(lambda: Succeeded("done"))
    assert list(all_ends(executor, 1).values()) == ["done"]
    executor.abandon(ticket)
    assert executor.strays(within=timedelta(seconds=20)) == 0


def test_waiting_for_an_end_has_an_end(executor):
    assert executor.ended(within=timedelta(milliseconds=5)) == []
