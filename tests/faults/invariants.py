"""Every invariant: what a run must never do, as pure functions over its history."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

from taskmill.core.lifecycle import TRANSITIONS
from taskmill.core.task import Status
from tests.faults.case import KINDS, Case
from tests.faults.history import Effect, History, Outcome, Read, Submit, Told

EARLY_MS = 50
FINAL = {"succeeded", "dead", "cancelled"}
ENDS = {"TaskSucceeded", "TaskDied", "TaskCancelled"}
ACKNOWLEDGED = {Outcome.OK, Outcome.DEFERRED}
SETTLES = {*ENDS, "TaskDeferred"}
BEHIND = {
    ("running", "queued"),
    ("running", "scheduled"),
    ("retrying", "queued"),
    ("retrying", "scheduled"),
    ("queued", "scheduled"),
}
"""What no reader may see one after the other within a generation, besides leaving an end."""


Finding: TypeAlias = Iterator[tuple[str, str]]


def no_loss(case: Case) -> Finding:
    quiet, bound = case.history.faults_end_ms, case.history.bound_ms
    for submit in case.history.submits:
        if submit.outcome not in ACKNOWLEDGED or submit.id is None:
            continue
        row = case.rows.get(submit.id)
        if row is None:
            yield submit.id, f"was acknowledged ({submit.label}), and the ledger knows nothing"
        elif row.status not in FINAL:
            yield submit.id, f"was acknowledged ({submit.label}) and is still {row.status}"
        elif quiet is not None and (row.finished_at_ms or 0) > quiet + bound:
            late = (row.finished_at_ms or 0) - quiet
            yield submit.id, f"ended {late} ms after the last fault; the bound is {bound}"


def no_phantom(case: Case) -> Finding:
    per_label = Counter(row.label for row in case.history.rows)
    ran = {(effect.label) for effect in case.history.effects}
    for label in sorted(set(per_label) | ran):
        submits = case.submits.get(label, [])
        possible = [one for one in submits if one.outcome is not Outcome.FAIL]
        if not possible:
            yield label, "lives or ran, and was never submitted, or was refused"
            continue
        most = 1 if possible[0].key else len(possible)
        if per_label[label] > most:
            yield label, f"{per_label[label]} tasks of {most} requests"


def one_terminal(case: Case) -> Finding:
    for task_id, generations in case.told.items():
        for generation, facts in generations.items():
            ends = {(fact.kind, fact.token) for fact in facts if fact.kind in ENDS}
            if len(ends) > 1:
                yield task_id, f"generation {generation} ended {len(ends)} times: {sorted(ends)}"
        extra = len(generations) - 1 - case.redriven[task_id]
        if extra > 0:
            yield task_id, f"lived {len(generations)} times, {extra} without anybody's wish"


def monotonic(case: Case) -> Finding:
    for task_id, generations in case.told.items():
        status = Status.QUEUED
        for fact in generations[max(generations)]:
            following = TRANSITIONS.get((status, KINDS[fact.kind]))
            if following is None:
                yield task_id, f"{fact.kind} (turn {fact.turn}) came after {status}"
                break
            status = following
        row = case.rows.get(task_id)
        if row is not None and (row.generation, row.status) != (max(generations), status):
            yield task_id, f"its history leads to {status}, and its row says {row.status}"
        yield from ((task_id, what) for what in _settled_again(generations))
    yield from _seen_going_back(case)


def _settled_again(generations: dict[int, list[Told]]) -> Iterator[str]:
    for facts in generations.values():
        settled = {(fact.turn, fact.kind, fact.token) for fact in facts if fact.kind in SETTLES}
        for turn, ends in Counter(turn for turn, _, _ in settled).items():
            if ends > 1:
                yield f"turn {turn} was settled {ends} times"


def _seen_going_back(case: Case) -> Finding:
    seen: dict[tuple[str, str], list[Read]] = defaultdict(list)
    for read in case.history.reads:
        seen[read.reader, read.id].append(read)
    for (_, task_id), reads in seen.items():
        for before, after in pairwise(reads):
            if _goes_back(before, after):
                was = f"{before.status} (generation {before.generation}, {before.attempt})"
                yield task_id, f"was seen {was}, then {after.status} ({after.attempt})"


def _goes_back(before: Read, after: Read) -> bool:
    if after.generation != before.generation:
        return after.generation < before.generation
    if before.status in FINAL:
        return after.status != before.status
    steps = (before.attempt, before.losses), (after.attempt, after.losses)
    lowered = steps[1][0] < steps[0][0] or steps[1][1] < steps[0][1]
    return lowered or (before.status, after.status) in BEHIND


def effect_once(case: Case) -> Finding:
    owned: Counter[tuple[str, int]] = Counter()
    outside: dict[tuple[str, int], list[Effect]] = defaultdict(list)
    for effect in case.history.effects:
        if effect.is_owned:
            owned[effect.label, effect.generation] += 1
        else:
            outside[effect.label, effect.generation].append(effect)
    for (label, generation), times in owned.items():
        if times > 1:
            yield label, f"its effect stands {times} times for generation {generation}"
    ran = {label for label, _ in {*owned, *outside}}
    for row in case.history.rows:
        if ran and row.status == "succeeded" and row.label not in ran:
            yield row.label, "succeeded without its effect"
    yield from _outside_effects(outside, case.history)


def _outside_effects(outside: dict[tuple[str, int], list[Effect]], history: History) -> Finding:
    for (label, _), effects in outside.items():
        tokens = {effect.token for effect in effects}
        if len(tokens) > 1:
            yield label, f"its effect went out under {len(tokens)} idempotency tokens"
    if history.in_flight is None:
        return
    repeats = sum(len(effects) - 1 for effects in outside.values())
    most = history.kills * history.in_flight
    if repeats > most:
        yield "all", f"{repeats} effects went out again; {history.kills} kills allow {most}"


def fencing(case: Case) -> Finding:
    for task_id, generations in case.told.items():
        largest = 0
        lost = {fact.token for facts in generations.values() for fact in _of(facts, "AttemptLost")}
        for generation in sorted(generations):
            for fact in generations[generation]:
                if fact.kind not in SETTLES or fact.token == 0:
                    continue
                if fact.token in lost:
                    yield (
                        task_id,
                        f"{fact.kind} was accepted from token {fact.token}, which was lost",
                    )
                if fact.token < largest:
                    yield task_id, f"{fact.kind} has token {fact.token}, after {largest}"
                largest = max(largest, fact.token)


def _of(facts: list[Told], kind: str) -> Iterator[Told]:
    return (fact for fact in facts if fact.kind == kind)


def not_early(case: Case) -> Finding:
    run_at = {one.id: one.run_at_ms for one in case.history.submits if one.run_at_ms and one.id}
    for task_id, generations in case.told.items():
        for generation, facts in generations.items():
            due = {fact.turn + 1: fact.due_at_ms for fact in _of(facts, "TaskDeferred")}
            due |= {fact.turn: fact.due_at_ms for fact in _of(facts, "TaskChanged")}
            if generation == min(generations):
                due[1] = run_at.get(task_id)
            for fact in facts:
                at, started = due.get(fact.turn), fact.started_at_ms
                if at and started and started < at - EARLY_MS:
                    yield task_id, f"turn {fact.turn} started {at - started} ms early"


def idempotency(case: Case) -> Finding:
    by_key: dict[str, list[Submit]] = defaultdict(list)
    for submit in case.history.submits:
        if submit.key and submit.outcome is Outcome.OK:
            by_key[submit.key].append(submit)
    for key, submits in by_key.items():
        if len({one.id for one in submits}) > 1:
            yield key, f"names {len({one.id for one in submits})} tasks"
        if len({one.body for one in submits}) > 1:
            yield key, "was given to two bodies, and both were taken"
        ends = case.told.get(submits[0].id or "", {})
        runs = sum(any(True for _ in _of(facts, "TaskSucceeded")) for facts in ends.values())
        if runs > 1 + case.redriven[submits[0].id or ""]:
            yield key, f"succeeded {runs} times"


def attempts(case: Case) -> Finding:
    for row in case.history.rows:
        if row.attempt > row.max_attempts:
            yield row.id, f"had {row.attempt} attempts of {row.max_attempts}"
    for task_id, generations in case.told.items():
        for facts in generations.values():
            yield from ((task_id, what) for what in _wrong_steps(facts, case.history))


def _wrong_steps(facts: list[Told], history: History) -> Iterator[str]:
    tried: dict[int, int] = {}
    for fact in facts:
        if fact.kind in {"TaskCancelled", "TaskChanged"}:
            continue  # a task cancelled or deferred while waiting has not started its next attempt
        if tried.setdefault(fact.turn, fact.attempt) != fact.attempt:
            yield f"turn {fact.turn} spent an attempt on a loss"
    for fact in _of(facts, "TaskDeferred"):
        spent = fact.reason not in {"snoozed", "stopped"}
        following = tried.get(fact.turn + 1)
        if following is not None and following != fact.attempt + spent:
            yield f"attempt {following} follows on attempt {fact.attempt} ({fact.reason})"
        floor = history.backoff.floor_ms(fact.attempt) if history.backoff and spent else 0
        if fact.due_at_ms is not None and fact.due_at_ms - fact.at_ms < floor:
            waits = fact.due_at_ms - fact.at_ms
            yield f"waits {waits} ms after attempt {fact.attempt}; the floor is {floor}"


def blame(case: Case) -> Finding:
    """No task dies of another's crash (a part of P1 and P13)."""
    for row in case.history.rows:
        if row.status == "dead" and row.label not in case.history.expected_dead:
            yield row.label, f"is dead ({row.reason}) by no fault of its own"


def cron(case: Case) -> Finding:
    """Each instant of a plan is one task, none is early, and no other instant is one."""
    tasks: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for fired in case.history.fires:
        tasks[fired.schedule][fired.nominal_ms].add(fired.task_id)
        if fired.at_ms < fired.nominal_ms:
            early = fired.nominal_ms - fired.at_ms
            yield fired.schedule, f"fired {fired.nominal_ms} early, by {early} ms"
    for schedule, instants in tasks.items():
        for nominal_ms, ids in sorted(instants.items()):
            if len(ids) > 1:
                yield schedule, f"made {len(ids)} tasks of {nominal_ms}"
    for plan in case.history.plans:
        planned, fired_ms = set(plan.fires_ms), set(tasks[plan.schedule])
        for nominal_ms in sorted(planned - fired_ms):
            yield plan.schedule, f"never fired {nominal_ms}"
        for nominal_ms in sorted(fired_ms - planned):
            yield plan.schedule, f"fired {nominal_ms} against its calendar or policy"


def conservation(case: Case) -> Finding:
    taken = {one.id for one in case.history.submits if one.outcome in ACKNOWLEDGED and one.id}
    counted = Counter(row.status for row in case.history.rows if row.id in taken)
    if sum(counted.values()) != len(taken):
        yield "all", f"{len(taken)} were taken, and the states hold {dict(counted)}"
    for task_id, (generation, status) in case.history.records.items():
        row = case.rows.get(task_id)
        if row is None or (row.generation, row.status) != (generation, status):
            stands = "nothing" if row is None else f"{row.status} ({row.generation})"
            yield task_id, f"Redis says {status} ({generation}), the ledger {stands}"


def bounded(case: Case) -> Finding:
    for sample in case.history.samples:
        if sample.value > sample.cap:
            yield sample.name, f"was {sample.value:g}; its cap is {sample.cap:g}"
    for submit in case.history.submits:
        if submit.http is not None and submit.http >= 500 and submit.http != 503:
            yield submit.label, f"was answered {submit.http}"
        if submit.http in {429, 503} and not submit.has_retry_after:
            yield submit.label, f"was answered {submit.http} without Retry-After"
        if submit.returned_ms - submit.invoked_ms > case.history.longest_call_ms:
            yield submit.label, f"hung for {submit.returned_ms - submit.invoked_ms} ms"
