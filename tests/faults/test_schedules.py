"""Any number of crashing or paused schedulers fires each instant once (P20)."""

import json
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import psutil
import pytest

from taskmill.stores.crash import EXIT_CODE
from tests.faketime import needs_faketime, shifted
from tests.faults.checker import check
from tests.faults.history import Fired, History, Plan
from tests.faults.run import Run
from tests.waiting import eventually

SCHEDULES = 200
SECONDS = 30
HERD = 10_000
LATE_AT_MOST = 1.0
HERD_LATE_AT_MOST = 10.0
PATIENCE = 60
STILL = 60
"""How many seconds a scheduler is paused in the middle of its work."""

LONGEST_LIFE = 3_600
"""So many seconds it may live: longer than all of these tests take."""

EDITED = 5
EACH_SECOND = ({"cron": "* * * * * *"}, {"every_seconds": 1})
_FIRED = """
SELECT
    split_part(request ->> 'idempotency_key', ':', 2),
    substring(request ->> 'idempotency_key' FROM '^schedule:[^:]*:(.*)$'),
    extract(EPOCH FROM created_at)::float,
    task_id::text
FROM enqueued WHERE request ->> 'idempotency_key' LIKE %s
"""
_ENDED = """
SELECT idempotency_key, extract(EPOCH FROM started_at)::float FROM tasks
WHERE metadata @> jsonb_build_object('run', %s::text) AND metadata <> '{}'::jsonb
AND status = 'succeeded'
AND idempotency_key LIKE 'schedule:%%'
"""
_ENQUEUE = """
SELECT count(taskmill.enqueue('probe', %s::json, metadata => %s::json))
FROM generate_series(1, %s)
"""
_HAVE_RUN = """
SELECT count(*) FROM tasks
WHERE metadata @> jsonb_build_object('usual', %s::text) AND metadata <> '{}'::jsonb
AND status = 'succeeded'
"""
_HERD = """
INSERT INTO schedules (
    tenant, name, definition, is_managed, next_at, look_at, decided_at, created_at, changed_at
)
SELECT 'default', %s || '-' || n, %s::json, FALSE, %s, %s, now(), now(), now()
FROM generate_series(1, %s) AS n
"""


class Clockwork:
    """The schedules of one test, all named after its run."""

    def __init__(self, stack, run):
        self.stack, self.run, self.client = stack, run, stack.client

    def name(self, number):
        return f"{self.run.name}-{number}"

    def task(self, number, **payload):
        label = self.name(number)
        about = {"metadata": {"run": self.run.name, "label": label}}
        return {"type": "probe", "payload": {"name": label, **payload}, **about}

    def put(self, number, *, name="", **fields):
        result = {"task": self.task(number)} | (fields or EACH_SECOND[0])
        body = json.dumps({"catch_up": "all", **result}).encode()
        answer = self.client.ask("PUT", f"/v1/schedules/{name or self.name(number)}", body)
        assert answer.status in {200, 201}, answer
        return answer.body

    def read(self, number):
        return self.client.get(f"/v1/schedules/{self.name(number)}").body

    def fired(self):
        """Return the submitted instants by schedule, with repetitions and submission times."""
        result = defaultdict(list)
        for name, instant, at, _ in self._asked_for():
            result[name].append((datetime.fromisoformat(instant).timestamp(), at))
        return result

    def _asked_for(self):
        return self.stack.ask(_FIRED, f"schedule:{self.run.name}-%")

    def lateness(self, until=float("inf")):
        """Return by how much the instants before some moment were fired late."""
        result = [one for result in self.fired().values() for one in result]
        return sorted(at - instant for instant, at in result if instant < until)

    def await_ends(self):
        """Wait until every fire's task has succeeded; return when each started."""
        wanted = sum(map(len, self.fired().values()))

        def have_ended():
            return len(self.stack.ask(_ENDED, self.run.name)) >= wanted

        eventually(have_ended, within=2 * PATIENCE, reason=f"{wanted} fires have ended")
        return dict(self.stack.ask(_ENDED, self.run.name))

    def once_each(self, made):
        """Check that each instant from the first to the last was submitted exactly once."""
        last = {one["name"]: self._pause(one["name"]) for one in made}
        plans = [
            Plan(
                schedule=one["name"],
                fires_ms=range(
                    1000 * seconds(one["next_at"]),
                    1000 * seconds(last[one["name"]]["last_at"]) + 1,
                    1000,
                ),
            )
            for one in made
        ]
        fires = [
            Fired(
                schedule=name,
                nominal_ms=1000 * seconds(instant),
                task_id=task_id,
                at_ms=int(1000 * at),
            )
            for name, instant, at, task_id in self._asked_for()
            if name in last
        ]
        assert [str(one) for one in check(History(plans=plans, fires=fires))] == []
        asked = Counter(fire.schedule for fire in fires)
        for plan in plans:
            result, instants = last[plan.schedule], len(plan.fires_ms)
            assert asked[plan.schedule] == instants, "an instant was asked for again"
            paused = int(datetime.fromisoformat(result["paused_at"]).timestamp())
            missed = paused - seconds(result["last_at"])
            assert (result["fired"], result["skipped"], result["missed"]) == (instants, 0, missed)

    def _pause(self, name):
        return self.client.post(f"/v1/schedules/{name}/pause", None).body

    def close(self):
        self.stack.ask(
            "DELETE FROM schedules WHERE name LIKE %s RETURNING name", f"{self.run.name}-%"
        )


@pytest.fixture
def clockwork(stack, run):
    clockwork = Clockwork(stack, run)
    yield clockwork
    clockwork.close()


@pytest.fixture(scope="module")
def long_kept(stack):
    """Yield schedules that fire all the time, and a scheduler that is paused during a fire.

    That scheduler has read the due schedules and was about to write their next state.
    """
    stack.await_schedulers()
    clockwork = Clockwork(stack, Run(stack))
    made = [clockwork.put(number) for number in range(5)]
    process = stack.spawn_scheduler(LONGEST_LIFE, "firing before the statement:1", "--still")
    try:
        sleeper = psutil.Process(process.pid)
        with stack.standing_still("Scheduler"):  # or it might be long until it fires anything
            eventually(
                lambda: sleeper.status() == psutil.STATUS_STOPPED,
                within=PATIENCE,
                reason="it stopped",
            )
        yield clockwork, made, sleeper, time.monotonic()
    finally:
        process.kill()
        process.wait()
        clockwork.close()


@pytest.mark.usefixtures("long_kept")
def test_each_instant_fires_once_whoever_dies_stands_still_or_edits(
    stack, run, clockwork, scheduler, figures
):
    """Three schedulers: one dies in the middle, then the other two are paused for a while."""
    made = [clockwork.put(number) for number in range(SCHEDULES)]
    doomed = scheduler()
    end = time.monotonic() + SECONDS
    with edits(clockwork) as edited:
        wait_until(end - SECONDS * 0.6)
        struck = time.time()
        doomed.kill()
        with stack.standing_still("Scheduler"):
            wait_until(end - SECONDS * 0.4)
            scheduler()
        wait_until(end)
    clockwork.once_each(made)
    clockwork.await_ends()
    fired = clockwork.fired()
    names = {one["name"] for one in made}
    effects = {(line["label"], line["token"]) for line in stack.left(names)}
    ran = Counter(label for label, _ in effects)  # each with a token of its own
    assert ran == {name: len(result) for name, result in fired.items()}
    late, well = clockwork.lateness(), clockwork.lateness(until=struck - 1)
    figures.tell(
        "P20",
        f"{SCHEDULES} schedules each second for {SECONDS} s, 5 schedulers, one stopped in a fire, "
        f"one killed, {sum(edited)} edits: {len(late):,} fires, none twice, none missing; "
        f"late by {p(late, 50):.2f} s (p50) and {p(late, 99):.2f} s (p99), by {p(well, 99):.2f} s "
        "(p99) before one was killed",
    )
    assert in_most_seconds(fired, until=struck - 1) <= LATE_AT_MOST


def in_most_seconds(fired, until):
    """Return how late 99 % of an instant's fires were, of the instants in the middle.

    A busy machine may spoil some of them.
    """
    each = defaultdict(list)
    for result in fired.values():
        for instant, at in result:
            if instant < until:
                each[instant].append(at - instant)
    return p(sorted(p(sorted(late), 99) for late in each.values()), 50)


def wait_until(moment):
    time.sleep(max(0.0, moment - time.monotonic()))  # a span of time is what is tried


@contextmanager
def edits(clockwork):
    """Edit a few schedules over and over: their task, and the form of their rule."""
    is_over, done = Event(), []

    def edit():
        count = 0
        while not is_over.wait(0.02):
            number = count % EDITED
            rule = EACH_SECOND[count // EDITED % 2]
            clockwork.put(number, task=clockwork.task(number, keeps=False), **rule)
            count += 1
        done.append(count)

    thread = Thread(target=edit)
    thread.start()
    try:
        yield done
    finally:
        is_over.set()
        thread.join()


def seconds(moment):
    return round(datetime.fromisoformat(moment).timestamp())


@pytest.mark.parametrize("nth", [1, 10])
@pytest.mark.parametrize("where", ["before", "behind"])
def test_a_scheduler_that_dies_inside_a_fire_fires_all_or_nothing(
    stack, clockwork, scheduler, where, nth
):
    with stack.standing_still("Scheduler"):
        made = [clockwork.put(number) for number in range(20)]
        due = max(seconds(one["next_at"]) for one in made)
        eventually(lambda: time.time() > due, within=PATIENCE, reason="all are in its first fire")
        process = scheduler(f"firing {where} the statement:{nth}")
        eventually(lambda: process.poll() is not None, within=PATIENCE, reason="it died")
        assert process.returncode == EXIT_CODE
        assert clockwork.fired() or (where, nth) == ("before", 1)
    eventually(
        lambda: all(clockwork.read(number)["fired"] >= 2 for number in range(20)),
        within=PATIENCE,
        reason="they go on",
    )
    clockwork.once_each(made)


@needs_faketime
def test_clocks_that_are_an_hour_off_fire_nothing_early_or_late(
    stack, clockwork, scheduler, figures
):
    """Only two schedulers run: one an hour ahead, one an hour late."""
    with stack.standing_still("Scheduler"):
        for off in ("+1h", "-1h"):
            scheduler(**shifted(off))
        made = [clockwork.put(number) for number in range(10)]
        eventually(
            lambda: all(clockwork.read(number)["fired"] >= 3 for number in range(10)),
            within=PATIENCE,
            reason="they fire",
        )
        clockwork.once_each(made)
    late = clockwork.lateness()
    figures.tell(
        "P20",
        f"schedulers an hour ahead and behind: {len(late)} fires, {late[-1]:.2f} s late at most",
    )
    assert late[0] >= 0


def test_a_herd_of_the_same_second_is_fired_and_nothing_else_starves(
    stack, run, clockwork, figures
):
    """Another schedule fires each second, and callers submit, while the herd is let loose.

    On a machine that is busy with other things, it takes no longer than requests in a table do.
    """
    usual = seconds_to_run_enqueued(stack, run)
    clockwork.put(0, name=clockwork.name("witness"))
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=5)
    cron = f"{at.minute} {at.hour} {at.day} {at.month} * {at.second}"
    definition = {"task": clockwork.task("herd"), "cron": cron}
    stack.ask(_HERD + "RETURNING 1", f"{run.name}-h", json.dumps(definition), at, at, HERD)
    asked = 0
    while len(clockwork.fired()) <= HERD:
        assert datetime.now(UTC) < at + timedelta(seconds=2 * PATIENCE), "the herd is fired"
        run.submit([run.request(asked)])
        asked += 1
        time.sleep(0.2)  # the pace of the others, who must not starve
    stack.ask(
        "UPDATE schedules SET next_at = NULL, look_at = NULL WHERE name = %s RETURNING 1",
        clockwork.name("witness"),
    )
    began = clockwork.await_ends()
    run.await_ends()
    fired = clockwork.fired()
    witness = sorted(late - instant for instant, late in fired.pop(clockwork.name("witness")))
    herd = sorted(late - instant for result in fired.values() for instant, late in result)
    starts = sorted(
        moment - at.timestamp() for key, moment in began.items() if "-h-" in (key or "")
    )
    figures.tell(
        "P20",
        f"{HERD:,} schedules of one second: fired late by {p(herd, 50):.1f} s (p50) and "
        f"{p(herd, 99):.1f} s (p99), their tasks began after {p(starts, 50):.1f} and "
        f"{p(starts, 99):.1f} s; another schedule meanwhile by {witness[-1]:.1f} s at most; as "
        f"many requests in a table take {usual:.1f} s",
    )
    assert len(herd) == len(starts) == HERD
    limit = max(HERD_LATE_AT_MOST, 2 * usual)
    assert (p(herd, 99) <= limit, witness[-1] <= limit) == (True, True)


def seconds_to_run_enqueued(stack, run):
    """Return the duration of as many requests that were enqueued at once."""
    began = time.monotonic()
    about = {"label": "usual", "usual": run.name}
    stack.ask(_ENQUEUE, json.dumps({"name": "usual"}), json.dumps(about), HERD)
    wanted = [(HERD,)]
    eventually(
        lambda: stack.ask(_HAVE_RUN, run.name) == wanted, within=2 * PATIENCE, reason="they ran"
    )
    return time.monotonic() - began


def test_a_scheduler_that_stood_still_for_a_minute_in_a_fire_fires_nothing_again(
    long_kept, figures
):
    clockwork, made, sleeper, since = long_kept
    wait_until(since + STILL)
    worked = sleeper.cpu_times().user
    sleeper.resume()
    eventually(
        lambda: sleeper.cpu_times().user > worked + 0.2, within=PATIENCE, reason="it is at work"
    )
    clockwork.once_each(made)
    clockwork.await_ends()
    figures.tell(
        "P20",
        f"one stood still for {time.monotonic() - since:.0f} s in the middle of a fire: "
        f"{len(clockwork.lateness()):,} fires meanwhile, none twice, none missing",
    )


def p(values, percent):
    return values[len(values) * percent // 100]
