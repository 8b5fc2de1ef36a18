"""Folds facts into ledger rows: idempotent, and independent of their order."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias, assert_never

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import asdict

from taskmill.core.facts import (
    SNOOZED,
    AttemptLost,
    CancelRequested,
    Fact,
    SubmissionDropped,
    TaskAdmitted,
    TaskCancelled,
    TaskChanged,
    TaskDeferred,
    TaskDied,
    TaskShelved,
    TaskStarted,
    TaskSucceeded,
)
from taskmill.core.lifecycle import RANKS, SUBMITTED_RANK, may_follow, status_after
from taskmill.core.log import Position
from taskmill.core.pointers import Pointer
from taskmill.core.task import PRIORITY_NAMES, Envelope, Millis, Spec, Status, TaskId, TaskType
from taskmill.core.time import due_of, is_delayed, is_far
from taskmill.lanes.lane import Member, Shelved


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task as one record of the log describes it: its state and its spec."""

    id: TaskId
    type: TaskType
    tenant: str
    status: Status
    generation: int
    turn: int
    rank: int
    token: int = 0
    """The lease that reported the status; part of the version."""
    largest_token: int = 0
    """The largest known fencing token: no later lease may have a smaller one."""
    attempt: int = 1
    losses: int = 0
    started_at_ms: Millis | None = None
    first_started_at_ms: Millis | None = None
    """None when it started at most once."""
    finished_at_ms: Millis | None = None
    due_at_ms: Millis | None = None
    result: Raw | None = None
    result_ref: Pointer | None = None
    reason: str | None = None
    error_class: str | None = None
    error_message: str | None = None
    stack: str | None = None
    next_attempt: int | None = None
    cancel_requested: bool = False
    is_far: bool = False
    """True when only the ledger keeps it until its time comes near."""
    is_shelved: bool = False
    """True when only the ledger keeps it, because its line is full; known where it is asked for."""
    order_ms: Millis | None = None
    """What its envelope has from the turn `ordered` on; `ordered` is 0 while that was never set."""
    ordered: int = 0
    spec: Spec | None = None
    """The spec, once a submission has arrived: other facts do not carry it."""

    @property
    def precedence(self) -> tuple[int, bool, int, int, int]:
        """The total order of a task's life; a terminal fact closes its generation."""
        return self.generation, self.status.is_final, self.turn, self.rank, self.token


class HistoryEntry(Struct, frozen=True, kw_only=True):
    """A fact in the history; `subject` distinguishes facts of the same kind and turn."""

    id: TaskId
    generation: int
    turn: int
    kind: str
    subject: str
    at_ms: Millis
    body: Raw
    type: TaskType | None = None
    """For aggregates; a task's own history does not need it."""


class Quarantined(Struct, frozen=True, kw_only=True):
    """A record that was never a task, with its position."""

    topic: str
    partition: int
    offset: int
    member: int
    """The index in the batch; a record that is not a batch has member 0."""
    reason: str
    value: bytes
    headers: Mapping[str, bytes] = {}
    at_ms: Millis
    version: int | None = None
    """The version of a batch that only a newer version of this code can read."""


class Applied(Struct, frozen=True, kw_only=True):
    """A gapless run of one partition's records in a batch."""

    topic: str
    partition: int
    first: int
    next: int
    as_of_ms: Millis


class LedgerBatch(Struct, frozen=True, kw_only=True):
    rows: Sequence[Row] = ()
    history: Sequence[HistoryEntry] = ()
    quarantined: Sequence[Quarantined] = ()
    applied: Sequence[Applied] = ()
    shelved: Sequence[Shelved] = ()
    """Whatever became of them since: the shelf of a line closes with what was shelved last."""

    def contradictions(self) -> list[HistoryEntry]:
        """Return the facts that no task life allows: those after an end."""
        ends = [one for one in self.history if one.kind in _ENDS]
        if not ends:
            return []
        lives: dict[tuple[TaskId, int], list[HistoryEntry]] = {
            (e.id, e.generation): [] for e in ends
        }
        for entry in self.history:
            life = lives.get((entry.id, entry.generation))
            if life is not None:
                life.append(entry)
        return [
            later
            for life in lives.values()
            if len(life) > 1
            for earlier, later in pairwise(sorted(life, key=_place_in_life))
            if not may_follow(earlier.kind, later.kind)
        ]


Event: TypeAlias = Envelope | Fact


class LedgerFold(Struct):
    """Folds one record of the log into rows and history."""

    rows: dict[TaskId, Row] = field(default_factory=dict)
    history: dict[tuple[object, ...], HistoryEntry] = field(default_factory=dict)
    shelved: dict[Member, Shelved] = field(default_factory=dict)

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            entry = history_of(event)
            name = (entry.id, entry.generation, entry.turn, entry.kind, entry.subject, entry.at_ms)
            self.history[name] = entry
            if isinstance(event, TaskShelved):
                place = shelved_by(event)
                self.shelved[place.member] = place
            row = row_of(event)
            if row is not None:
                known = self.rows.get(row.id)
                self.rows[row.id] = row if known is None else merged(known, row)


def merged(left: Row, right: Row) -> Row:
    """Combine two versions of a row; neither order nor repetition changes the result.

    Only between two deferred submissions, which are equal in rank, the first one (*left*) wins.
    """
    older, newer = (left, right) if left.precedence < right.precedence else (right, left)
    largest = max(left.largest_token, right.largest_token)
    if older.generation < newer.generation:
        return msgspec.structs.replace(newer, largest_token=largest)
    started = _largest(left.started_at_ms, right.started_at_ms)
    first = _smallest(_first_start(left), _first_start(right))
    ordering = left if left.ordered >= right.ordered else right
    return msgspec.structs.replace(
        newer,
        largest_token=largest,
        losses=max(left.losses, right.losses),
        cancel_requested=left.cancel_requested or right.cancel_requested,
        started_at_ms=started,
        first_started_at_ms=None if first == started else first,
        order_ms=ordering.order_ms,
        ordered=ordering.ordered,
        spec=_spec_of(newer.spec or older.spec, older.spec),
    )


def _largest(one: Millis | None, other: Millis | None) -> Millis | None:
    return max(one, other) if one and other else one or other


def _smallest(one: Millis | None, other: Millis | None) -> Millis | None:
    return min(one, other) if one and other else one or other


def _first_start(row: Row) -> Millis | None:
    return row.started_at_ms if row.first_started_at_ms is None else row.first_started_at_ms


def _spec_of(known: Spec | None, event: Spec | None) -> Spec | None:
    """Return *known* with the later turn's values from *event*."""
    if known is None or event is None or event.changed <= known.changed:
        return known
    return msgspec.structs.replace(
        known, metadata=event.metadata, timing=event.timing, priority=event.priority
    )


def row_of(event: Event) -> Row | None:
    """Return what *event* contributes to the task's row, if anything."""
    match event:  # the most frequent first
        case Envelope():
            return _queued(event)
        case TaskSucceeded():
            return _row(
                event,
                finished_at_ms=event.at_ms,
                result=event.result,
                result_ref=event.result_ref,
            )
        case TaskAdmitted() | TaskChanged():
            return _queued(event.envelope, is_change=isinstance(event, TaskChanged))
        case SubmissionDropped():
            return None
        case CancelRequested() | TaskShelved():
            return _unchanged(event)
        case TaskStarted() | AttemptLost():
            return _row(event)
        case TaskDeferred():
            is_snoozed = event.reason == SNOOZED
            return _row(
                event,
                due_at_ms=event.due_at_ms,
                next_attempt=event.next_attempt,
                reason=event.reason,
                error_class=event.error_class,
                error_message=event.error_message,
                stack=event.stack,
                order_ms=event.due_at_ms if is_snoozed else None,
                ordered=event.turn + 1 if is_snoozed else 0,
            )
        case TaskDied():
            return _row(
                event,
                finished_at_ms=event.at_ms,
                reason=event.reason,
                error_class=event.error_class,
                error_message=event.error_message,
                stack=event.stack,
            )
        case TaskCancelled():
            return _row(event, finished_at_ms=event.at_ms)
        case _:
            assert_never(event)


_AttemptFact: TypeAlias = (
    TaskStarted | AttemptLost | TaskDeferred | TaskSucceeded | TaskDied | TaskCancelled
)


def _row(fact: _AttemptFact, **columns: Any) -> Row:
    """Return the row that *fact* tells of, with the columns that only its kind has."""
    kind = type(fact)
    return Row(
        id=fact.id,
        type=fact.type,
        tenant=fact.tenant,
        status=status_after(kind),
        generation=fact.generation,
        turn=fact.turn,
        rank=RANKS[kind],
        token=fact.token,
        largest_token=fact.token,
        attempt=fact.attempt,
        losses=fact.losses,
        started_at_ms=fact.started_at_ms,
        **columns,
    )


def shelved_by(fact: TaskShelved) -> Shelved:
    member = Member(fact.id, fact.generation, fact.turn)
    return Shelved(member=member, line=fact.line, order=fact.order)


def _unchanged(fact: CancelRequested | TaskShelved) -> Row:
    """Return the lowest version of the generation, so that the status stays unchanged."""
    return Row(
        id=fact.id,
        type=fact.type,
        tenant=fact.tenant,
        status=Status.QUEUED,
        generation=fact.generation,
        turn=1,
        rank=SUBMITTED_RANK,
        cancel_requested=isinstance(fact, CancelRequested),
    )


def _queued(envelope: Envelope, *, is_change: bool = False) -> Row:
    is_waiting = is_delayed(envelope) or is_change
    return Row(
        id=envelope.id,
        type=envelope.type,
        tenant=envelope.tenant,
        status=Status.SCHEDULED if is_waiting else Status.QUEUED,
        generation=envelope.generation,
        turn=envelope.turn,
        rank=SUBMITTED_RANK,
        attempt=envelope.attempt,
        due_at_ms=due_of(envelope) if is_waiting else None,
        is_far=is_far(envelope),
        order_ms=envelope.order_ms,
        ordered=envelope.turn if is_change or envelope.order_ms is not None else 0,
        spec=envelope.spec,
    )


_NOTHING = Raw(b"{}")


def history_of(event: Event) -> HistoryEntry:
    """Return *event* as a history entry; repeated, it is the same entry."""
    match event:  # the most frequent first
        case Envelope():
            kind, subject, body = "TaskSubmitted", event.submission, _NOTHING
            at_ms = _born_at_ms(event)
        case (
            TaskSucceeded()
            | TaskStarted()
            | AttemptLost()
            | TaskDeferred()
            | TaskDied()
            | TaskCancelled()
        ):
            kind, subject, at_ms, body = _kind(event), str(event.token), event.at_ms, _body(event)
        case TaskAdmitted():
            kind, subject, at_ms, body = (
                _kind(event),
                event.envelope.submission,
                event.at_ms,
                _NOTHING,
            )
        case SubmissionDropped():
            kind, subject, at_ms, body = _kind(event), event.submission, event.at_ms, _body(event)
        case CancelRequested():
            kind, subject, at_ms, body = _kind(event), "", event.at_ms, _body(event)
        case TaskShelved():
            kind, subject, at_ms, body = _kind(event), "", event.at_ms, _NOTHING
        case TaskChanged():
            kind, subject, at_ms, body = _kind(event), "", event.at_ms, _change(event)
        case _:
            assert_never(event)
    return HistoryEntry(
        id=event.id,
        generation=event.generation,
        turn=event.turn,
        kind=kind,
        subject=subject,
        at_ms=at_ms,
        body=body,
        type=event.type,
    )


def _born_at_ms(envelope: Envelope) -> Millis:
    """Return when the generation began: the number of a later one is its time."""
    is_first = envelope.submitted in {0, envelope.generation}
    return envelope.created_at_ms if is_first else Millis(envelope.generation)


def in_order(entries: Iterable[HistoryEntry]) -> list[HistoryEntry]:
    """Return a task's history in chronological order, as far as clocks agree."""
    return sorted(entries, key=lambda one: (one.generation, one.turn, one.at_ms, _rank_of(one)))


def is_failure(entry: HistoryEntry) -> bool:
    """Return whether an attempt failed; an intended deferral is no failure."""
    if entry.kind == TaskDeferred.__name__:
        event = msgspec.json.decode(entry.body, type=TaskDeferred)
        return event.reason not in {SNOOZED, "stopped"}
    return entry.kind in {AttemptLost.__name__, TaskDied.__name__}


def _place_in_life(entry: HistoryEntry) -> tuple[int, int, Millis]:
    return entry.turn, _rank_of(entry), entry.at_ms


def failing(batch: LedgerBatch) -> list[TaskId]:
    """Return the tasks with a failed attempt in *batch*: they may be dead."""
    return sorted({one.id for one in batch.history if is_failure(one)})


def begun_anew(batch: LedgerBatch) -> list[TaskId]:
    """Return tasks that may have been dead before: redriven, or with a reused key."""
    return sorted(
        row.id
        for row in batch.rows
        if row.spec and (row.spec.idempotency_key or row.spec.submitted != row.generation)
    )


def going_far(batch: LedgerBatch) -> list[TaskId]:
    """Return the tasks that only the ledger keeps, if they still wait."""
    return sorted(row.id for row in batch.rows if row.is_far)


def with_expiry(batch: LedgerBatch) -> list[TaskId]:
    """Return the tasks that must start by a certain time, if they still wait."""
    return sorted(
        row.id
        for row in batch.rows
        if row.spec and row.spec.timing and row.spec.timing.expires_at_ms is not None
    )


def coming_back(batch: LedgerBatch) -> list[TaskId]:
    """Return tasks that may have been far before and no longer are."""
    return sorted(
        row.id
        for row in batch.rows
        if row.status is Status.CANCELLED
        or (row.status is Status.SCHEDULED and row.turn > 1 and not row.is_far)
    )


def _rank_of(entry: HistoryEntry) -> int:
    return _RANKS_BY_NAME.get(entry.kind, SUBMITTED_RANK)


_ENDS = {kind.__name__ for kind in RANKS if status_after(kind).is_final}
_RANKS_BY_NAME = {kind.__name__: rank for kind, rank in RANKS.items()}


def _kind(fact: Fact) -> str:
    return type(fact).__name__


def _body(fact: Fact) -> Raw:
    return Raw(msgspec.json.encode(fact))


def _change(fact: TaskChanged) -> Raw:
    envelope = fact.envelope
    changed = {
        "due_at_ms": due_of(envelope),
        "metadata": envelope.metadata,
        "priority": PRIORITY_NAMES[envelope.priority],
    }
    return Raw(msgspec.json.encode(changed))


def runs_of(positions: Iterable[tuple[Position, Millis]]) -> list[Applied]:
    """Return the gapless runs of offsets, by partition."""
    runs: list[Applied] = []
    for place, at_ms in sorted(positions):
        last = runs[-1] if runs else None
        if last and (last.topic, last.partition, last.next) == (
            place.topic,
            place.partition,
            place.offset,
        ):
            runs[-1] = msgspec.structs.replace(
                last, next=place.offset + 1, as_of_ms=max(last.as_of_ms, at_ms)
            )
        else:
            runs.append(
                Applied(
                    topic=place.topic,
                    partition=place.partition,
                    first=place.offset,
                    next=place.offset + 1,
                    as_of_ms=at_ms,
                )
            )
    return runs


def envelope_of(row: Row, spec: Spec) -> Envelope:
    """Return the envelope, as it was or will be published for the task's current turn."""
    is_retrying = row.status is Status.RETRYING
    return Envelope(
        generation=row.generation,
        id=row.id,
        turn=row.turn + is_retrying,
        attempt=(row.next_attempt or row.attempt) if is_retrying else row.attempt,
        order_ms=row.order_ms,
        **asdict(spec),
    )
