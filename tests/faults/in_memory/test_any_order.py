"""Hypothesis orders the events; every invariant holds."""

import random
from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from taskmill.core import topics
from taskmill.core.task import Status
from taskmill.execution.outcome import Discard, Retry, Succeeded
from taskmill.settings.crash_points import CrashMoment
from tests.faults.broken import VARIANTS
from tests.faults.checker import check
from tests.faults.mortals import WORK, Mortals, deaths

NAMES = st.sampled_from(["first", "second", "third"])
MOST = st.integers(1, 4)
READERS = st.sampled_from(
    [topics.DISPATCHER, WORK, topics.RECORDER_PENDING, topics.RECORDER_EVENTS]
)
SPANS = st.sampled_from([10, 300, 2_500, 7_000, 60_000])
MOST_LOSSES = 2
MOST_ROUNDS = 300
MOST_ORDERS = 1_000
"""A broken system is caught in one of so many; as a rule among the first hundred."""


def may_die(function):
    """Usually let a process of this function live; otherwise let it die at a crash point.

    Nobody waits for a time here: that is left to the simulation.
    """
    edges = [one for one in deaths(function) if one.edge.method not in {"change", "delay"}]
    return st.one_of(st.none(), st.none(), st.sampled_from(edges))


AT_THE_GATEWAY, AT_THE_SCHEDULER = may_die("gateway"), may_die("scheduler")
(BEHIND_ADMISSION,) = (
    one
    for one in deaths("gateway")
    if (one.edge.method, one.edge.moment) == ("admit", CrashMoment.AFTER)
)
OF_A_READER = {
    "dispatcher": may_die("dispatcher"),
    "worker-probe": may_die("worker"),
    "recorder-pending": may_die("recorder"),
    "recorder-events": may_die("recorder"),
}


class AnyOrder(RuleBasedStateMachine):
    """Tasks called hopeless always fail; those called shaky fail at first."""

    parts = None
    judged_by = None
    """The one invariant that counts; as a rule all of them do."""

    def __init__(self):
        super().__init__()
        self.mortals = Mortals(self.perform, parts=self.parts)
        self.system = self.mortals.system
        self.harm = Counter()
        self.requests = 0

    def perform(self, task):
        self.mortals.take_effect(task)
        label = task.metadata["label"]
        if label.startswith("hopeless"):
            return Discard("it cannot be done")
        if label.startswith("shaky") and task.attempt == 1:
            return Retry("not today", timedelta(seconds=1))
        return Succeeded("done")

    # What clients do

    @rule(name=NAMES, death=AT_THE_GATEWAY)
    def submit_under_a_key(self, name, death):
        self.ask(name, key=name, death=death)

    @rule(name=NAMES, death=AT_THE_GATEWAY)
    def submit_another_body_under_a_key(self, name, death):
        self.ask(f"other {name}", key=name, death=death)

    @rule(kind=st.sampled_from(["plain", "shaky", "hopeless"]), death=AT_THE_GATEWAY)
    def submit_without_a_key(self, kind, death):
        self.ask(f"{kind} {self.requests}", death=death)

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), death=AT_THE_GATEWAY)
    def cancel(self, data, death):
        self.mortals.cancel(data.draw(st.sampled_from(self.ids)), death=death)

    @precondition(lambda self: self.over)
    @rule(data=st.data(), death=AT_THE_GATEWAY)
    def redrive(self, data, death):
        self.mortals.redrive(data.draw(st.sampled_from(self.over)), death=death)

    # What goes on

    @rule(data=st.data(), reader=READERS, most=MOST)
    def step(self, data, reader, most):
        death = data.draw(OF_A_READER[reader.name])
        self.mortals.live(
            lambda: self.system.step(reader, most=most), death=death, may_die=self.may_harm
        )

    def may_harm(self, labels):
        """Return whether a process may die with these tasks: after two losses they are poison."""
        if any(self.harm[label] >= MOST_LOSSES for label in labels):
            return False
        self.harm.update(labels)
        return True

    @rule()
    def go_on(self):
        """Run each function once: most interesting states need several of them."""
        for reader in self.system.readers:
            self.mortals.live(lambda reader=reader: self.system.step(reader))

    @rule(death=AT_THE_SCHEDULER)
    def tick(self, death):
        self.mortals.live(self.system.tick, death=death)

    @rule(milliseconds=SPANS)
    def time_passes(self, milliseconds):
        self.mortals.clock.move(timedelta(milliseconds=milliseconds))

    @rule(seed=st.integers(0, 9))
    def a_record_comes_twice(self, seed):
        self.mortals.repeat(random.Random(seed))

    @rule()
    def redis_forgets(self):
        self.mortals.hot.forget()

    @rule()
    def a_shard_forgets(self):
        self.mortals.hot.forget_shards()

    @rule()
    def a_lane_forgets(self):
        self.mortals.hot.forget_lanes()

    @rule()
    def redis_starts_again(self):
        self.mortals.hot.restart()

    @precondition(lambda self: not (self.mortals.hot.is_open and self.mortals.lane.is_open))
    @rule(death=may_die("rebuild"))
    def rebuild(self, death):
        self.mortals.live(lambda: self.system.rebuild(pause=self.write_meanwhile), death=death)

    # What has to hold

    def teardown(self):
        """Let everything finish, and check the history."""
        for _ in range(MOST_ROUNDS):
            self.time_passes(1_500)
            self.mortals.live(lambda: self.system.rebuild(pause=self.write_meanwhile))
            self.mortals.live(self.system.tick)
            self.go_on()
            if self.mortals.is_quiet():
                break
        hopeless = {one.label for one in self.mortals.submits if one.label.startswith("hopeless")}
        history = self.mortals.history(expected_dead=frozenset(hopeless))
        judged_by = self.judged_by
        found = [one for one in check(history) if judged_by in {None, one.invariant}]
        assert [str(one) for one in found] == []

    # How

    @property
    def ids(self):
        return sorted({one.id for one in self.mortals.submits if one.id})

    @property
    def over(self):
        rows = self.system.stores.rows.rows.values()
        return sorted(row.id for row in rows if row.status in {Status.DEAD, Status.CANCELLED})

    def ask(self, label, *, death, key=None):
        self.requests += 1
        self.mortals.submit(label, key=key, entropy=self.requests, death=death)

    def write_meanwhile(self, span):
        self.mortals.clock.move(span)
        for reader in topics.RECORDERS:
            self.mortals.live(lambda reader=reader: self.system.step(reader))


@pytest.fixture(autouse=True)
def _quiet(caplog):
    """Keep the complaints of stale workers out of the report: there are thousands."""
    caplog.set_level("CRITICAL", logger="taskmill")


IN_CI = settings(
    max_examples=150,
    stateful_step_count=40,
    derandomize=True,  # so that whatever fails, fails again
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_no_order_of_events_breaks_a_promise():
    """Each order is judged at its end, in `teardown`."""
    run_state_machine_as_test(AnyOrder, settings=IN_CI)


def test_a_key_that_two_bodies_share_while_redis_forgets_is_given_to_one():
    """Found in an order that chance drew: the last answer called itself a replay for sure."""
    order = AnyOrder()
    order.redis_forgets()
    order.submit_another_body_under_a_key(name="first", death=None)
    order.rebuild(death=None)
    order.submit_under_a_key(name="first", death=None)
    order.redis_forgets()
    order.submit_another_body_under_a_key(name="first", death=None)
    order.teardown()


def test_what_is_cancelled_before_the_log_knew_it_stays_cancelled_when_redis_forgets():
    """Found in an order that chance drew: the log knew the cancellation, and not of what."""
    order = AnyOrder()
    order.redis_forgets()
    order.submit_under_a_key(name="first", death=None)  # it is deferred, and nobody reads it
    order.rebuild(death=None)
    order.submit_under_a_key(name="first", death=BEHIND_ADMISSION)
    order.mortals.cancel(order.ids[0], death=None)
    order.redis_forgets()
    order.teardown()
    (row,) = order.system.stores.rows.rows.values()
    assert row.status is Status.CANCELLED


@pytest.mark.parametrize(
    ("variant", "invariant"),
    [
        ("an admission that owes nothing", "I1 no loss"),
        ("keys that are not remembered", "I8 idempotency"),
        ("a tick that finds nothing", "I1 no loss"),
        ("offset committed before the work", "I1 no loss"),
        ("a recorder without the rank", "I4 monotonic"),
    ],
)
def test_a_system_without_this_rule_is_caught_in_some_order(variant, invariant):
    about = {"parts": VARIANTS[variant], "judged_by": invariant}
    broken = type("Broken", (AnyOrder,), about)
    at_once = settings(
        IN_CI, max_examples=MOST_ORDERS, phases=[Phase.generate], report_multiple_bugs=False
    )
    with pytest.raises(AssertionError, match=r"\['[IP]\d"):
        run_state_machine_as_test(broken, settings=at_once)
