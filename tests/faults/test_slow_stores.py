"""Slow or saturated stores: callers get a quick response, and nothing is lost."""

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import quantiles

import psycopg

from tests.waiting import eventually

SLOW_SECONDS = 2.0
CALLERS = 8
CALLS = 160
P99_BOUND_SECONDS = 10.0
"""A process waits for the store once and then, for a while, not at all."""

_LET_IN = "ALTER DATABASE taskmill CONNECTION LIMIT -1"
_LET_NOBODY_IN = "ALTER DATABASE taskmill CONNECTION LIMIT 0"


def test_a_redis_that_takes_two_seconds_for_each_answer_is_not_waited_for_by_all(
    stack, run, figures
):
    def seconds_of(number):
        begun = time.monotonic()
        assert run.ask(run.request(number)).status in {200, 202}
        return time.monotonic() - begun

    weather = stack.ground.proxies["Valkey"].weather
    weather.latency_seconds = SLOW_SECONDS
    try:
        with ThreadPoolExecutor(CALLERS) as callers:
            spans = list(callers.map(seconds_of, range(CALLS)))
    finally:
        weather.latency_seconds = 0.0
    p50, p99 = (quantiles(spans, n=100)[one - 1] for one in (50, 99))
    assert p50 <= 1
    assert p99 <= P99_BOUND_SECONDS
    stack.await_rebuild()
    run.await_ends()
    run.verify()
    figures.tell(
        "P19",
        f"{CALLS} submits to a Redis that took {SLOW_SECONDS:g} s for each answer: taken after"
        f" {p50:.2f} s (p50) and {p99:.2f} s (p99)",
    )


def test_a_postgresql_without_a_free_connection_is_said_to_be_away_and_loses_nothing(stack, run):
    run.insist(run.request("before"))
    with psycopg.connect(stack.ground.own_dsn, autocommit=True) as owner:
        owner.execute(_LET_NOBODY_IN)
        try:
            stack.ground.proxies["PostgreSQL"].reset()
            assert run.ask(run.request("meanwhile")).status == 202
            refused = stack.client.get("/v1/tasks")
            assert (refused.status, refused.body["type"]) == (503, "unavailable")
            assert stack.client.get("/readyz").status == 503
        finally:
            owner.execute(_LET_IN)
    eventually(
        lambda: stack.client.get("/v1/tasks").status == 200, within=30, reason="lists are back"
    )
    run.await_ends()
    run.verify()
