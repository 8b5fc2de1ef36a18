"""Schedules are created once, changed only if unchanged since read, and fire each instant once."""

import json
from contextlib import closing
from dataclasses import dataclass
from threading import Barrier, Thread

import psycopg
import pytest
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core.errors import ScheduleBroken, StoreUnavailable
from taskmill.core.refusal import invalid
from taskmill.core.task import DEFAULT_TENANT, Millis
from taskmill.schedules.catch_up import CatchUp
from taskmill.schedules.clock_changes import Dst, Fold, Gap
from taskmill.schedules.fire_step import fire_at
from taskmill.schedules.schedule import (
    OPEN_TASKS,
    Definition,
    Draft,
    FireRefused,
    FireTally,
    Overlap,
    Pausing,
    ScheduleStep,
    Whereabouts,
)
from taskmill.stores.memory.enqueued import MemoryRequests
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.memory.schedules import MemorySchedules
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.enqueued import PostgresRequests
from taskmill.stores.postgres.ledger import PostgresLedger
from taskmill.stores.postgres.schedules import PostgresFiring, PostgresSchedules
from tests.builders import a_fresh_envelope, a_new_id, now_ms, started, succeeded
from tests.contracts.ledgers import batch_of

T = "default"
MINUTE = 60_000
HOUR = 60 * MINUTE
ROOM = 1_000_000
HELD = [Millis(1_794_009_600_001), Millis(1_794_009_660_999)]


@dataclass
class Scheduling:
    people: object
    firing: object
    requests: object
    ledger: object

    def due(self, most=100):
        return self.firing.due(most=most).schedules

    def named(self, name="n"):
        return self.people.find(T, name)

    def enqueued(self):
        with self.requests.held(most=1_000) as held:
            return [row.task_id for row in held.rows]


@pytest.fixture(params=["memory", "postgres"])
def scheduling(request):
    if request.param == "memory":
        ledger, requests = MemoryLedger(), MemoryRequests(now_ms)
        schedules = MemorySchedules(lambda: ledger, requests, now_ms, octets_at_a_time=ROOM)
        yield Scheduling(schedules, schedules, requests, ledger)
        return
    _, dsn = request.getfixturevalue("database")
    with closing(Database(dsn)) as database:
        yield Scheduling(
            PostgresSchedules(database),
            PostgresFiring(database, octets_at_a_time=ROOM),
            PostgresRequests(database),
            PostgresLedger(database),
        )


def a_definition(**changes):
    values = {"task": Raw(b'{"type":"echo","payload":{"say":"hi"}}'), "cron": "* * * * *"}
    return Definition(**values | changes)


def a_draft(name="n", **changes):
    values = {
        "tenant": T,
        "name": name,
        "definition": a_definition(),
        "is_managed": False,
        "next_at_ms": Millis(now_ms() - MINUTE),
        "decided_at_ms": Millis(now_ms() - HOUR),
    }
    return Draft(**values | changes)


def make(scheduling, name="n", **changes):
    assert scheduling.people.make(a_draft(name, **changes))
    return scheduling.named(name)


def a_step(seen, *fires, **changes):
    later = Millis(now_ms() + HOUR)
    values = {
        "seen": seen,
        "now_ms": now_ms(),
        "fires": fires,
        "next_at_ms": later,
        "look_at_ms": later,
        "decided_at_ms": now_ms(),
    }
    return ScheduleStep(**values | changes)


def test_it_tells_the_time(scheduling):
    assert abs(scheduling.people.now() - now_ms()) < MINUTE


def test_what_is_made_is_found_as_it_was_made(scheduling):
    definition = a_definition(
        cron=None,
        every_seconds=7,
        timezone="Europe/Berlin",
        dst=Dst(gap=Gap.SHIFT, fold=Fold.BOTH),
        overlap=Overlap.QUEUE_ONE,
        catch_up=CatchUp.ALL,
        catch_up_window_seconds=77,
        jitter_seconds=0.5,
    )
    draft = a_draft(definition=definition, is_managed=True, held=HELD, next_at_ms=HELD[0])
    assert scheduling.people.make(draft)
    found = scheduling.named()
    assert found.definition == definition
    assert (found.tenant, found.name, found.is_managed, found.held) == (T, "n", True, HELD)
    assert (found.next_at_ms, found.decided_at_ms) == (draft.next_at_ms, draft.decided_at_ms)
    assert (found.paused, found.last, found.refused, found.tally) == (None, None, None, FireTally())
    assert abs(found.created_at_ms - now_ms()) < MINUTE
    assert found.created_at_ms == found.changed_at_ms
    assert scheduling.named("other") is None
    assert scheduling.people.find("foreign", "n") is None


def test_a_name_is_given_once_for_each_tenant(scheduling):
    make(scheduling)
    assert not scheduling.people.make(a_draft())
    assert scheduling.people.make(a_draft(tenant="foreign"))
    assert len(scheduling.people.page(T, after="", limit=9)) == 1


def test_pages_come_in_the_order_of_names(scheduling):
    for name in ("b", "a-1", "a", "a_1", "B"):
        make(scheduling, name)
    names = [one.name for one in scheduling.people.page(T, after="", limit=9)]
    assert names == sorted(names)
    assert [one.name for one in scheduling.people.page(T, after=names[1], limit=2)] == names[2:4]


def test_a_change_gives_another_revision_and_needs_the_one_that_was_seen(scheduling):
    seen = make(scheduling)
    draft = a_draft(definition=a_definition(cron="0 * * * *"), next_at_ms=Millis(HOUR))
    assert scheduling.people.change(seen, draft)
    changed = scheduling.named()
    assert (changed.definition.cron, changed.next_at_ms) == ("0 * * * *", HOUR)
    assert changed.revision != seen.revision
    assert not scheduling.people.change(seen, draft)
    assert not scheduling.people.delete(seen)
    assert scheduling.people.delete(changed)
    assert scheduling.named() is None
    assert not scheduling.people.change(changed, draft)


def test_a_change_counts_what_it_skips_and_misses(scheduling):
    seen = make(scheduling)
    scheduling.people.change(seen, a_draft(next_at_ms=HELD[0], held=HELD, skipped=2, missed=3))
    changed = scheduling.named()
    assert (changed.held, changed.tally) == (HELD, FireTally(skipped=2, missed=3))


def test_a_change_needs_the_instant_that_was_seen(scheduling):
    seen = make(scheduling)
    scheduling.firing.advance([a_step(seen)])
    assert not scheduling.people.change(seen, a_draft())


def test_one_that_is_made_again_has_no_revision_of_before(scheduling):
    first = make(scheduling, next_at_ms=Millis(MINUTE))
    scheduling.people.delete(first)
    second = make(scheduling, next_at_ms=Millis(MINUTE))
    assert first.revision != second.revision
    assert scheduling.firing.advance([a_step(first)]) == []
    assert not scheduling.people.trigger(first, fire_at(first, Millis(0)))
    assert scheduling.enqueued() == []


def test_a_paused_one_tells_by_whom_and_is_not_due(scheduling):
    seen = make(scheduling)
    pausing = Pausing(Millis(MINUTE), "ada")
    assert scheduling.people.change(seen, a_draft(next_at_ms=None, paused=pausing))
    assert scheduling.named().paused == pausing
    assert scheduling.due() == []


def test_those_are_due_whose_time_has_come_the_longest_first(scheduling):
    now = now_ms()
    for name, at in (("late", now - HOUR), ("later", now - MINUTE), ("to come", now + HOUR)):
        make(scheduling, name, next_at_ms=Millis(at))
    make(scheduling, "over", next_at_ms=None)
    assert [one.name for one in scheduling.due()] == ["late", "later"]
    assert [one.name for one in scheduling.due(most=1)] == ["late"]
    assert [scheduling.firing.due(most=most).has_more for most in (1, 2, 3)] == [True, True, False]
    assert abs(scheduling.firing.due(most=1).now_ms - now) < MINUTE


def test_so_many_are_told_at_a_time_as_there_is_room_for_and_one_at_least(scheduling):
    for name, octets in (("a", ROOM // 2), ("b", ROOM), ("c", 2 * ROOM), ("d", 1)):
        task = Raw(b'{"type":"echo","payload":{"say":"' + b"x" * octets + b'"}}')
        make(scheduling, name, definition=a_definition(task=task))
    answer = []
    while (due := scheduling.firing.due(most=9)).schedules:
        answer.append(([one.name for one in due.schedules], due.has_more))
        scheduling.firing.advance([a_step(one) for one in due.schedules])
    assert answer == [(["a", "b"], True), (["c"], True), (["d"], False)]


def test_a_step_moves_on_counts_and_enqueues(scheduling):
    seen = make(scheduling)
    fires = [fire_at(seen, Millis(at)) for at in (MINUTE, 2 * MINUTE)]
    step = a_step(seen, *fires, skipped=3, missed=4, open_tasks=[fires[1].request.task_id])
    assert scheduling.firing.advance([step]) == [step]
    moved = scheduling.named()
    assert (moved.next_at_ms, moved.decided_at_ms) == (step.next_at_ms, step.decided_at_ms)
    assert moved.tally == FireTally(fired=2, skipped=3, missed=4)
    assert (moved.last.nominal_ms, moved.last.task_id) == (2 * MINUTE, fires[1].request.task_id)
    assert abs(moved.last.at_ms - now_ms()) < MINUTE
    assert moved.open_tasks == [fires[1].request.task_id]
    assert moved.revision == seen.revision
    assert scheduling.enqueued() == [fire.request.task_id for fire in fires]
    with scheduling.requests.held(most=1) as held:
        (row,) = held.rows
        key = "schedule:n:1970-01-01T00:01:00Z"
        wanted = {"type": "echo", "payload": {"say": "hi"}, "idempotency_key": key}
        assert json.loads(row.request) == wanted
        assert row.submission == fires[0].request.submission
    assert scheduling.due() == []


def test_a_step_without_a_fire_keeps_the_last_one(scheduling):
    seen = make(scheduling)
    scheduling.firing.advance([a_step(seen, fire_at(seen, Millis(MINUTE)))])
    fired = scheduling.named()
    scheduling.firing.advance([a_step(fired, skipped=1)])
    skipped = scheduling.named()
    assert skipped.last == fired.last
    assert skipped.tally == FireTally(fired=1, skipped=1)
    assert len(scheduling.enqueued()) == 1


def test_what_is_held_is_looked_at_later(scheduling):
    seen = make(scheduling)
    look_at = Millis(now_ms() + HOUR)
    held = [seen.next_at_ms, seen.next_at_ms + 1]
    step = a_step(seen, next_at_ms=seen.next_at_ms, look_at_ms=look_at, held=held)
    scheduling.firing.advance([step])
    assert (scheduling.named().held, scheduling.due()) == (held, [])
    scheduling.firing.advance([replace(step, look_at_ms=Millis(now_ms() - 1))])
    assert [one.held for one in scheduling.due()] == [held]


def test_each_step_is_done_once_whoever_comes_again(scheduling):
    one, other = make(scheduling, "one"), make(scheduling, "other")
    steps = [a_step(seen, fire_at(seen, Millis(MINUTE))) for seen in (one, other)]
    assert scheduling.firing.advance(steps[:1]) == steps[:1]
    assert scheduling.firing.advance(steps) == steps[1:]
    assert scheduling.firing.advance(steps) == []
    assert len(scheduling.enqueued()) == 2


@pytest.mark.parametrize("other", ["edited", "paused", "deleted", "triggered"])
def test_a_step_comes_too_late_for_what_people_changed(scheduling, other):
    seen = make(scheduling)
    match other:
        case "edited":
            scheduling.people.change(seen, a_draft(next_at_ms=seen.next_at_ms))
        case "paused":
            scheduling.people.change(
                seen, a_draft(next_at_ms=None, paused=Pausing(Millis(0), "ada"))
            )
        case "deleted":
            scheduling.people.delete(seen)
        case "triggered":
            scheduling.people.trigger(seen, fire_at(seen, Millis(0), "trigger:"))
    before = scheduling.enqueued()
    assert scheduling.firing.advance([a_step(seen, fire_at(seen, Millis(MINUTE)))]) == []
    assert scheduling.enqueued() == before


def test_a_trigger_is_the_last_fire_and_among_the_open_tasks(scheduling):
    seen = make(scheduling)
    fires = [fire_at(seen, Millis(at), "trigger:") for at in range(OPEN_TASKS + 2)]
    for fire in fires:
        assert scheduling.people.trigger(seen, fire)
    answer = scheduling.named()
    assert answer.tally.fired == OPEN_TASKS + 2
    assert (answer.last.nominal_ms, answer.next_at_ms) == (OPEN_TASKS + 1, seen.next_at_ms)
    assert answer.open_tasks == [fire.request.task_id for fire in fires[2:]]
    assert len(scheduling.enqueued()) == OPEN_TASKS + 2


def test_a_backfill_enqueues_is_counted_and_changes_nothing_else(scheduling):
    seen = make(scheduling)
    fires = [fire_at(seen, Millis(at * MINUTE)) for at in range(3)]
    assert scheduling.people.backfill(seen, fires)
    assert scheduling.named() == replace(seen, tally=FireTally(backfilled=3))
    assert scheduling.enqueued() == [fire.request.task_id for fire in fires]


def test_the_whereabouts_of_tasks_are_told(scheduling):
    seen = make(scheduling)
    enqueued, parked = (fire_at(seen, Millis(at)).request for at in (0, MINUTE))
    living, over, again = (a_fresh_envelope() for _ in range(3))
    scheduling.ledger.record(batch_of(living, over, again, started(living), succeeded(over)))
    scheduling.requests.add([enqueued, parked, replace(parked, task_id=again.id)])
    with scheduling.requests.held(most=9) as held:
        (row,) = [row for row in held.rows if row.task_id == parked.task_id]
        held.park(row, invalid("invalid_payload", "it does not fit", "/payload"))
    nobody = a_new_id()
    answer = {
        enqueued.task_id: Whereabouts.ENQUEUED,
        parked.task_id: Whereabouts.OVER,
        living.id: Whereabouts.LIVING,
        over.id: Whereabouts.OVER,
        again.id: Whereabouts.ENQUEUED,
        nobody: Whereabouts.UNKNOWN,
    }
    assert scheduling.firing.whereabouts(list(answer)) == answer
    assert scheduling.firing.whereabouts([]) == {}


def test_a_refusal_of_the_last_fire_is_told(scheduling):
    seen = make(scheduling)
    first, second = (fire_at(seen, Millis(at), "trigger:") for at in (0, MINUTE))
    scheduling.people.trigger(seen, first)
    with scheduling.requests.held(most=9) as held:
        held.park(held.rows[0], invalid("invalid_payload", "it does not fit", "/payload"))
    assert scheduling.named().refused == FireRefused("invalid_payload", "it does not fit")
    assert scheduling.people.page(T, after="", limit=1)[0].refused is not None
    scheduling.people.trigger(seen, second)
    assert scheduling.named().refused is None


def test_many_steps_are_done_in_one(scheduling):
    names = [f"n{number:03}" for number in range(300)]
    for name in names:
        make(scheduling, name)
    due = scheduling.due(most=1_000)
    steps = [a_step(seen, fire_at(seen, Millis(MINUTE))) for seen in due]
    assert len(scheduling.firing.advance(steps)) == len(names)
    assert len(scheduling.enqueued()) == len(names)


def test_schedulers_at_a_time_ask_for_each_instant_once(database):
    """Each of them sees all, and what it makes of it counts where it comes first."""
    _, dsn = database
    with closing(Database(dsn)) as one, closing(Database(dsn)) as other:
        people, requests = PostgresSchedules(one), PostgresRequests(one)
        for number in range(100):
            assert people.make(a_draft(f"n{number}"))
        firings = [PostgresFiring(each) for each in (one, other)]
        steps = [
            a_step(seen, fire_at(seen, Millis(0))) for seen in firings[0].due(most=100).schedules
        ]
        start, done = Barrier(2), []

        def advance(firing, order):
            start.wait()
            done.extend(firing.advance(steps[::order]))

        threads = [Thread(target=advance, args=each) for each in zip(firings, (1, -1), strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for firing in firings:
            done.extend(firing.advance(steps))
        assert sorted(step.seen.name for step in done) == sorted(step.seen.name for step in steps)
        with requests.held(most=1_000) as held:
            assert len({row.task_id for row in held.rows}) == len(held.rows) == 100


@pytest.mark.parametrize("what", ["trigger", "backfill", "fire"])
def test_what_is_asked_for_is_counted_and_enqueued_together_or_not_at_all(database, what):
    """Each is one statement, like every edit: a crash leaves all of it or nothing."""
    owner, dsn = database
    with closing(Database(dsn)) as mine:
        people, firing = PostgresSchedules(mine), PostgresFiring(mine)
        people.make(a_draft())
        seen = people.find(T, "n")
        fires = [fire_at(seen, Millis(at)) for at in (MINUTE, 2 * MINUTE)]
        ask = {
            "trigger": lambda: people.trigger(seen, fires[0]),
            "backfill": lambda: people.backfill(seen, fires),
            "fire": lambda: firing.advance([a_step(seen, *fires)]),
        }[what]
        with psycopg.connect(owner, autocommit=True) as other:
            if what == "trigger":
                other.execute("SELECT nextval('enqueued_id_seq')")
            other.execute("ALTER TABLE enqueued ADD CONSTRAINT it_ends_here CHECK (id < 2)")
            with pytest.raises(psycopg.errors.CheckViolation):
                ask()
            assert other.execute("SELECT count(*) FROM enqueued").fetchone() == (0,)
            assert people.find(T, "n") == seen
            other.execute("ALTER TABLE enqueued DROP CONSTRAINT it_ends_here")
            assert ask()
        assert people.find(T, "n").tally != seen.tally


def written_by_a_newer_version(owner, pattern):
    with psycopg.connect(owner) as other:
        other.execute(
            "UPDATE schedules SET definition = replace(definition::text, 'allow', 'perhaps')::json"
            " WHERE name LIKE %s",
            [pattern],
        )


def test_what_a_newer_version_wrote_stops_no_other(database):
    owner, dsn = database
    with closing(Database(dsn)) as mine:
        people, firing = PostgresSchedules(mine), PostgresFiring(mine)
        for name in ("newer", "known"):
            people.make(a_draft(name))
        written_by_a_newer_version(owner, "newer")
        assert [one.name for one in firing.due(most=9).schedules] == ["known"]
        with pytest.raises(ScheduleBroken, match="newer was written by a newer version"):
            people.find(DEFAULT_TENANT, "newer")


def test_what_a_newer_version_wrote_fills_no_batch_twice(database):
    """More than a batch of them are at the head, and stay there."""
    owner, dsn = database
    with closing(Database(dsn)) as mine:
        people, firing = PostgresSchedules(mine), PostgresFiring(mine)
        for number in range(5):
            people.make(a_draft(f"newer {number}", next_at_ms=Millis(now_ms() - HOUR)))
        written_by_a_newer_version(owner, "newer%")
        for name in ("a", "b", "c"):
            people.make(a_draft(name))
        answer = [firing.due(most=3) for _ in range(4)]
        assert [len(one.schedules) for one in answer] == [0, 1, 3, 3]
        assert [one.has_more for one in answer] == [True, True, True, True]
        assert not firing.due(most=4).has_more
        written_by_a_newer_version(owner, "a")
        people.change(people.find(DEFAULT_TENANT, "b"), a_draft("b", next_at_ms=Millis(now_ms())))
        assert [one.name for one in firing.due(most=9).schedules] == ["c", "b"]


def test_a_newer_schedule_that_is_edited_into_an_older_form_is_read_again(database):
    owner, dsn = database
    with closing(Database(dsn)) as mine:
        people, firing = PostgresSchedules(mine), PostgresFiring(mine)
        people.make(a_draft())
        seen = people.find(DEFAULT_TENANT, "n")
        written_by_a_newer_version(owner, "n")
        assert firing.due(most=9).schedules == firing.due(most=9).schedules == []
        people.change(seen, a_draft())
        assert [one.name for one in firing.due(most=9).schedules] == ["n"]


def test_a_row_that_another_holds_is_passed_over_and_the_others_go_on(database):
    owner, dsn = database
    with closing(Database(dsn)) as mine:
        people, firing = PostgresSchedules(mine), PostgresFiring(mine)
        for name in ("held", "free"):
            people.make(a_draft(name))
        steps = [a_step(seen, fire_at(seen, Millis(0))) for seen in firing.due(most=9).schedules]
        with psycopg.connect(owner) as other:
            other.execute("SELECT 1 FROM schedules WHERE name = 'held' FOR UPDATE")
            assert [step.seen.name for step in firing.advance(steps)] == ["free"]
        assert [step.seen.name for step in firing.advance(steps)] == ["held"]


@pytest.mark.parametrize(
    "change",
    [
        b"next_at = NULL",
        b"paused_at = now(), paused_by = 'ada'",
        b"paused_at = now(), next_at = NULL, look_at = NULL",
        b"last_task_id = '00000000-0000-7000-8000-000000000000'",
        b"held_ms = '{1}', next_at = NULL, look_at = NULL",
        b"held_ms = '{1, 2}'",
    ],
)
def test_what_cannot_be_is_refused_by_the_table(database, change):
    owner, dsn = database
    with closing(Database(dsn)) as mine:
        PostgresSchedules(mine).make(a_draft())
        with psycopg.connect(owner) as other, pytest.raises(psycopg.errors.CheckViolation):
            other.execute(b"UPDATE schedules SET " + change)


def test_a_ledger_in_memory_can_be_away_too():
    ledger = MemoryLedger()
    schedules = MemorySchedules(lambda: ledger, MemoryRequests(now_ms), now_ms)
    ledger.is_away = True
    for call in (schedules.now, lambda: schedules.due(most=1), lambda: schedules.find(T, "n")):
        with pytest.raises(StoreUnavailable):
            call()
