"""A lane or a shard is lost while the other lives: nothing is lost, twice, or early."""

import random
import time
from datetime import timedelta

import pytest

from taskmill_local.settings import SHARDS
from tests.faults.lanes import await_empty, lose_lane, lose_shard, waiting_in
from tests.faults.run import a_seed, starts
from tests.faults.scale import scaled
from tests.waiting import eventually

HOURS = timedelta(hours=3)
LATER, NOW, SOON = 60, scaled(3_000, 30_000), 100
SOON_SECONDS = 12
SLOW_SECONDS = 3
MANY_WAIT = scaled(1_000, 5_000)
"""Less than a line holds: the rest is on its shelf."""


def a_lane(stack):
    lose_lane(stack)


def a_shard(stack):
    assert lose_shard(stack, 0) > 0


def a_lane_and_a_shard(stack):
    a_shard(stack)
    a_lane(stack)


def a_lane_and_all_shards(stack):
    for shard in range(SHARDS):
        lose_shard(stack, shard)
    a_lane(stack)


HARMS = [a_lane, a_shard, a_lane_and_a_shard, a_lane_and_all_shards]


@pytest.mark.parametrize("harm", HARMS, ids=lambda it: it.__name__)
def test_what_is_lost_comes_back_and_nothing_starts_early(stack, run, figures, harm):
    """Some tasks are due in hours, some soon, some fail at first, and many wait."""
    later = submit_for_later(run)
    requests = mixed(run, random.Random(a_seed()))
    run.submit_many(requests, batch=100)
    eventually(lambda: waiting_in(stack) >= MANY_WAIT, within=60, reason="many wait")
    began = time.monotonic()
    harm(stack)
    stack.await_rebuild()
    opened = time.monotonic() - began
    await_ends_of_all_but(run, later)
    ended = time.monotonic() - began
    assert starts(stack, later.keys()) == {}
    for task_id in later.values():
        run.order("cancel", task_id)
    run.await_ends()
    is_once = {"kills": 0, "in_flight": 1} if harm is a_lane else {}
    run.verify(**is_once)
    await_empty(stack)
    what = harm.__name__.replace("_", " ")
    figures.tell(
        "lost lanes",
        f"{what} lost amid {NOW:,} tasks: open after {opened:.1f} s, all ended after {ended:.1f} s,"
        f" none of {LATER} due in {HOURS.total_seconds() / 3600:.0f} h started",
    )
    assert run.to_be_mended() == []


def submit_for_later(run):
    """Submit what is due in hours; return its ids by label."""
    fields = {"delay_seconds": HOURS.total_seconds()}
    run.submit([run.request(n, fields=fields) for n in range(LATER)])
    return dict(run.ids)


def mixed(run, chance):
    """Return what waits, what runs for longer, what is retried, and what is due soon."""
    soon = {"delay_seconds": SOON_SECONDS}
    retry = {"retry": {"first_seconds": 1, "factor": 1}}
    numbers = range(LATER, LATER + NOW)
    return [
        run.request(
            n,
            fields=soon if n < LATER + SOON else retry,
            sleep_seconds=SLOW_SECONDS if n % 20 == 0 else chance.uniform(0.05, 0.15),
            **({"ill": "raise", "ill_runs": 1} if n % 15 == 0 else {}),
        )
        for n in numbers
    ]


def await_ends_of_all_but(run, others, within=180):
    """Wait until every task of the run has ended but these."""

    def has_ended():
        rows = {row.id: row.status for row in run.rows()}
        mine = set(run.ids.values()) - set(others.values())
        return all(rows.get(one) in {"succeeded", "dead", "cancelled"} for one in mine)

    eventually(has_ended, within=within, reason="all that are due have ended")
