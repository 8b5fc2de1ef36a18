"""The life cycle is one consistent table."""

from collections import defaultdict
from typing import get_args

import pytest

from taskmill.core.facts import (
    CancelRequested,
    Fact,
    SubmissionDropped,
    TaskDeferred,
    TaskShelved,
    TaskStarted,
    TaskSucceeded,
)
from taskmill.core.lifecycle import RANKS, SUBMITTED_RANK, TRANSITIONS, may_follow, status_after
from taskmill.core.task import FINAL, Status


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
    kinds = set(get_args(Fact)) - {SubmissionDropped, CancelRequested, TaskShelved}
    assert set(RANKS) == kinds == {kind for _, kind in TRANSITIONS}


def test_within_a_turn_no_fact_comes_before_the_submission_nor_after_the_end():
    ends = {rank for kind, rank in RANKS.items() if status_after(kind).is_final}
    assert min(RANKS.values()) == SUBMITTED_RANK
    assert ends == {max(RANKS.values())}
    others = [rank for kind, rank in RANKS.items() if not status_after(kind).is_final]
    assert max(others) < max(RANKS.values())


@pytest.mark.parametrize("end", ["TaskSucceeded", "TaskDied", "TaskCancelled"])
def test_only_what_changes_no_status_follows_an_end(end):
    following = {kind.__name__ for kind in get_args(Fact) if may_follow(end, kind.__name__)}
    assert following == {"SubmissionDropped", "CancelRequested", "TaskShelved"}


def test_before_an_end_anything_may_follow_as_facts_between_may_be_missing():
    assert may_follow("TaskStarted", "TaskChanged")
    assert may_follow("TaskSubmitted", "TaskSucceeded")


def test_a_whole_life_is_told_step_by_step():
    status = Status.QUEUED
    for kind in (TaskStarted, TaskDeferred, TaskStarted, TaskSucceeded):
        status = TRANSITIONS[status, kind]
    assert status is Status.SUCCEEDED
