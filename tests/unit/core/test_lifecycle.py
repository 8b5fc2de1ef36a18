"""The life of a task is one table, and the table is sound."""

from collections import defaultdict
from typing import get_args

import pytest

from taskmill.core.errors import IllegalTransition
from taskmill.core.facts import CancelRequested, Fact, SubmissionDropped
from taskmill.core.lifecycle import RANKS, SUBMITTED_RANK, TRANSITIONS, advance, status_after
from taskmill.core.task import FINAL, Status
from tests.builders import an_envelope, cancel_requested, deferred, dropped, started, succeeded


def test_no_way_leads_out_of_a_final_status():
    assert not [status for status, _ in TRANSITIONS if status.is_final]


def test_every_status_can_be_reached():
    assert {Status.QUEUED, Status.SCHEDULED, *TRANSITIONS.values()} == set(Status)


def test_every_status_that_is_not_final_leads_to_an_end():
    ends = defaultdict(set)
    for (status, _), after in TRANSITIONS.items():
        ends[status].add(after)
    assert all(ends[status] >= FINAL for status in set(Status) - FINAL)


def test_each_kind_of_fact_leads_to_one_status():
    reached = defaultdict(set)
    for (_, kind), after in TRANSITIONS.items():
        reached[kind].add(after)
    assert {kind: {status_after(kind)} for kind in reached} == reached


def test_every_kind_of_fact_that_changes_a_status_has_its_place():
    kinds = set(get_args(Fact)) - {SubmissionDropped, CancelRequested}
    assert set(RANKS) == kinds == {kind for _, kind in TRANSITIONS}


def test_within_a_turn_no_fact_comes_before_the_submission_nor_after_the_end():
    ends = {rank for kind, rank in RANKS.items() if status_after(kind).is_final}
    assert min(RANKS.values()) == SUBMITTED_RANK
    assert ends == {max(RANKS.values())}
    others = [rank for kind, rank in RANKS.items() if not status_after(kind).is_final]
    assert max(others) < max(RANKS.values())


def test_a_fact_that_the_table_does_not_know_is_refused_by_name():
    with pytest.raises(IllegalTransition) as refusal:
        advance(Status.SUCCEEDED, started(an_envelope()))
    assert (refusal.value.status, refusal.value.fact) == ("succeeded", "TaskStarted")


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("tell", [dropped, cancel_requested])
def test_a_dropped_submission_and_a_wish_to_cancel_change_no_status(status, tell):
    assert advance(status, tell(an_envelope())) is status


def test_a_whole_life_is_told_step_by_step():
    task, status = an_envelope(), Status.QUEUED
    for fact in (started(task), deferred(task), started(task), succeeded(task)):
        status = advance(status, fact)
    assert status is Status.SUCCEEDED
