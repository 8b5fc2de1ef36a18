"""When rules fire, what they send, and how failures are handled."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from taskmill_local.errors import PlatformError
from taskmill_local.lambdas.answer import Failed, Failure, Responded
from taskmill_local.plan import RulePlan
from taskmill_local.rules import Rules

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DONE = Responded(b"null")
BROKEN = Failed(Failure.HANDLER_ERROR, b"{}")


class HandClock:
    """A clock that only tests move."""

    def __init__(self):
        self._now = NOON
        self._sleepers = []

    def now(self):
        return self._now

    async def sleep(self, duration):
        awake = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + duration, awake))
        await awake

    def skip(self, duration):
        """Let time pass while the laptop sleeps."""
        self._now += duration

    async def advance(self, duration):
        """Let *duration* pass second by second, and run everything that is due."""
        end = self._now + duration
        await _settle()
        while self._now < end:
            self._now += timedelta(seconds=1)
            for due, awake in list(self._sleepers):
                if due <= self._now and not awake.done():
                    awake.set_result(None)
            await _settle()


async def _settle():
    for _ in range(20):
        await asyncio.sleep(0)


def a_rule(expression="rate(1 minute)", *, event=None):
    return RulePlan(name="tick", function="scheduler", expression=expression, event=event)


def run(*rules, passing, answers=(), retry_after=(MINUTE, 2 * MINUTE), invoke=None):
    """Let time pass over the rules and return what was invoked when, and what was reported."""
    calls, reports = [], []

    async def recorded():
        clock = HandClock()
        outcomes = iter(answers)

        async def called(function, event):
            calls.append((clock.now() - NOON, function, event))
            return await invoke() if invoke else next(outcomes, DONE)

        platform = Rules(
            rules, invoke=called, clock=clock, retry_after=retry_after, report=reports.append
        )
        await platform.start()
        await clock.advance(passing)
        await platform.stop(timedelta(seconds=5))

    asyncio.run(recorded())
    return calls, reports


def times(calls):
    return [after // MINUTE for after, _, _ in calls]


def test_a_rate_fires_at_the_start_and_then_each_period():
    calls, _ = run(a_rule("rate(2 minutes)"), passing=5 * MINUTE)
    assert times(calls) == [0, 2, 4]


def test_a_cron_rule_waits_for_its_time():
    calls, _ = run(a_rule("cron(0/3 12 * * ? *)"), passing=7 * MINUTE)
    assert times(calls) == [3, 6]


def test_a_rule_sends_the_platforms_event():
    calls, _ = run(a_rule("cron(1 12 * * ? *)"), passing=MINUTE)
    event = json.loads(calls[0][2])
    assert len(event.pop("id")) == 36
    assert event == {
        "version": "0",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "000000000000",
        "time": "2026-11-18T12:01:00Z",
        "region": "us-east-1",
        "resources": ["arn:aws:events:us-east-1:000000000000:rule/tick"],
        "detail": {},
    }


def test_an_input_replaces_the_event():
    calls, _ = run(a_rule(event='{"limit": 5}'), passing=timedelta(seconds=1))
    assert [event for _, _, event in calls] == [b'{"limit": 5}']


def test_a_rule_does_not_wait_for_the_run_before():
    async def hang():
        await asyncio.Event().wait()

    async def scenario():
        clock, started = HandClock(), []

        async def invoke(function, event):
            started.append(clock.now())
            await hang()

        rules = Rules([a_rule()], invoke=invoke, clock=clock)
        await rules.start()
        await clock.advance(2 * MINUTE)
        await rules.stop(timedelta())
        return started

    assert asyncio.run(scenario()) == [NOON, NOON + MINUTE, NOON + 2 * MINUTE]


def test_a_failed_invocation_is_tried_again_twice_with_the_same_event_and_then_reported():
    calls, reports = run(
        a_rule("rate(1 hour)"), passing=10 * MINUTE, answers=[BROKEN, BROKEN, BROKEN]
    )
    assert times(calls) == [0, 1, 3]
    assert len({event for _, _, event in calls}) == 1
    assert len(reports) == 1
    assert "function scheduler failed 3 times" in reports[0]


def test_a_retry_that_succeeds_is_the_last():
    calls, reports = run(a_rule("rate(1 hour)"), passing=10 * MINUTE, answers=[BROKEN, DONE])
    assert times(calls) == [0, 1]
    assert reports == []


def test_a_rule_outlives_an_invocation_that_raises():
    async def explode():
        raise ConnectionError

    calls, _ = run(a_rule(), passing=2 * MINUTE, invoke=explode, retry_after=())
    assert times(calls) == [0, 1, 2]


def test_a_stopping_platform_is_no_failure():
    calls, reports = run(
        a_rule("rate(1 hour)"), passing=5 * MINUTE, answers=[Failed(Failure.STOPPING, b"{}")]
    )
    assert len(calls) == 1
    assert reports == []


def test_ticks_that_were_slept_through_are_left_out():
    async def scenario():
        clock, fired = HandClock(), []

        async def invoke(function, event):
            fired.append(clock.now() - NOON)
            return DONE

        rules = Rules([a_rule()], invoke=invoke, clock=clock)
        await rules.start()
        await _settle()
        clock.skip(timedelta(minutes=10, seconds=30))
        await clock.advance(MINUTE)
        await rules.stop(timedelta())
        return fired

    seconds = [fired // timedelta(seconds=1) for fired in asyncio.run(scenario())]
    assert seconds == [0, 631, 660]


def test_what_is_in_flight_at_the_stop_gets_its_grace():
    async def scenario():
        clock, finished, begun, go = HandClock(), [], asyncio.Event(), asyncio.Event()

        async def invoke(function, event):
            begun.set()
            await go.wait()
            finished.append(function)
            return DONE

        rules = Rules([a_rule()], invoke=invoke, clock=clock)
        await rules.start()
        await begun.wait()
        stop = asyncio.create_task(rules.stop(timedelta(seconds=30)))
        await _settle()
        go.set()
        await stop
        return finished

    assert asyncio.run(scenario()) == ["scheduler"]


def test_a_stop_does_not_wait_for_a_retry():
    async def scenario():
        clock = HandClock()

        async def invoke(function, event):
            return BROKEN

        rules = Rules([a_rule()], invoke=invoke, clock=clock)
        await rules.start()
        await _settle()
        await asyncio.wait_for(rules.stop(timedelta(hours=1)), timeout=30)

    asyncio.run(scenario())


def test_a_malformed_expression_stops_the_platform_before_it_starts():
    async def invoke(function, event):
        return DONE

    with pytest.raises(PlatformError, match="cron"):
        Rules([a_rule("cron(nonsense)")], invoke=invoke)
