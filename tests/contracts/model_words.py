"""Translates a task between the values of the models and those of the stores."""

from msgspec.structs import replace

from taskmill.core import facts as told
from taskmill.core.owed import Cold, OwedKey, OwedKind
from taskmill.core.task import Status
from taskmill.execution.lease import (
    CancelFirst,
    Claimed,
    Forgotten,
    HeldLease,
    Late,
    Settled,
    Stale,
    Suspect,
    TurnOver,
)
from taskmill.lanes.lane import TurnIsFree, TurnIsGone, TurnIsOver, TurnLives
from taskmill.ledger.projection import row_of
from taskmill.orders.control import Moment, Moved, Ordered, Redriven
from taskmill.recovery.restoration import hot_view
from taskmill.submission.admission import AdmittedBefore, Conflict, Created, Replayed
from tests.builders import (
    a_new_id,
    an_envelope,
    cancel_requested,
    cancelled,
    deferred,
    died,
    now_ms,
    succeeded,
)
from tests.models.shard import Entry, Envelope, Fact

AHEAD = 1_000_000
"""A token from a server whose clock was ahead."""
DAY_MS = 86_400_000


def changed(task):
    return told.TaskChanged(
        id=task.id,
        generation=task.generation,
        turn=task.turn,
        at_ms=task.created_at_ms,
        type=task.type,
        tenant=task.tenant,
        envelope=task,
    )


BUILDERS = {
    "deferred": deferred,
    "succeeded": succeeded,
    "dead": died,
    "cancelled": cancelled,
    "asked": cancel_requested,
    "changed": changed,
}
WITHOUT_A_TOKEN = ("asked", "changed")
KINDS = {
    told.TaskDeferred: "deferred",
    told.TaskSucceeded: "succeeded",
    told.TaskDied: "dead",
    told.TaskCancelled: "cancelled",
    told.CancelRequested: "asked",
    told.TaskChanged: "changed",
}
ANSWERS = {
    Cold: "COLD",
    Created: "CREATED",
    AdmittedBefore: "BEFORE",
    Replayed: "REPLAYED",
    Conflict: "CONFLICT",
    Claimed: "CLAIMED",
    Suspect: "SUSPECT",
    HeldLease: "HELD",
    Late: "LATE",
    TurnOver: "OVER",
    TurnLives: "LIVES",
    TurnIsOver: "OVER",
    TurnIsFree: "FREE",
    TurnIsGone: "GONE",
    Forgotten: "FORGOTTEN",
    Settled: "SETTLED",
    Stale: "STALE",
    CancelFirst: "CANCEL",
    Redriven: "REDRIVEN",
    Moved: "MOVED",
    Ordered: "DONE",
}


class Words:
    """The stores' values for generations and tokens, which the models only count.

    A body of the models is the fingerprint here.
    """

    def __init__(self):
        self.id = a_new_id()
        self.generations = {0: 0}
        self.tokens = {0: 0, AHEAD: (now_ms() + DAY_MS) * 1000}

    def name_generation(self, generation, called):
        self.generations[generation] = called
        while now_ms() <= called:  # else the next one, where this is forgotten, may be called so
            pass

    def name_token(self, token, called):
        self.tokens.setdefault(token, called)
        by_size = sorted(self.tokens, key=self.tokens.__getitem__)
        assert by_size == sorted(self.tokens), "tokens grow otherwise there"

    # From the models to the stores

    def envelope(self, task, **changes):
        return an_envelope(
            id=self.id,
            generation=self.generations[task.generation],
            turn=task.turn,
            submission=str(task.submission),
            fingerprint=task.body,
            **changes,
        )

    def facts(self, facts):
        return tuple(map(self._fact, facts))

    def _fact(self, fact):
        task, build = self.envelope(Envelope(fact.generation, fact.turn)), BUILDERS[fact.kind]
        if fact.kind in WITHOUT_A_TOKEN:
            return build(task)
        return build(task, token=self.tokens[fact.token])

    def moment(self, seen):
        if seen is None:
            return None
        return Moment(self.generations[seen.generation], seen.turn, Status(seen.status))

    def owed_key(self, entry, *, hold=None):
        called, (kind, _, slot) = self.generations[entry.generation], entry.kind.partition(" ")
        return OwedKey(
            id=self.id,
            generation=called,
            turn=entry.turn,
            kind=OwedKind(kind),
            slot=int(slot or 0),
            hold=hold,
        )

    def view(self, row, *, losses, due_at_ms):
        """Return the record for a row of the models' ledger."""
        task = self.envelope(Envelope(row.generation, row.turn, row.submission, row.body))
        known = replace(
            row_of(task),
            status=Status(row.status),
            largest_token=self.tokens[row.largest_token],
            losses=losses,
            cancel_requested=row.cancel_requested,
            due_at_ms=due_at_ms,
            finished_at_ms=task.created_at_ms if row.is_closed else None,
        )
        return hot_view(known, known.spec)

    # Read back in the words of the models

    def generation_of(self, called):
        return _name_of(called, self.generations)

    def token_of(self, called):
        return _name_of(called, self.tokens)

    def envelope_of(self, task):
        if task is None:
            return Envelope(0)
        generation = self.generation_of(task.generation)
        return Envelope(generation, task.turn, int(task.submission), task.fingerprint)

    def facts_of(self, facts):
        return tuple(map(self._fact_of, facts))

    def _fact_of(self, fact):
        generation, token = self.generation_of(fact.generation), getattr(fact, "token", 0)
        return Fact(generation, fact.turn, KINDS[type(fact)], self.token_of(token))

    def entry_of(self, key, owed, when):
        generation, task = self.generation_of(key.generation), self.envelope_of(owed.task)
        facts = self.facts_of(owed.facts)
        kind = f"{key.kind} {key.slot}" if key.slot else str(key.kind)
        return Entry(generation, key.turn, kind, when, facts, task)

    def answer_of(self, answer):
        """Return an answer by the field names of a model's reply."""
        said = {"answer": ANSWERS.get(type(answer)) or answer.upper().removesuffix("_GENERATION")}
        if hasattr(answer, "generation"):
            said["generation"] = self.generation_of(answer.generation)
        if hasattr(answer, "token"):
            said["token"] = self.token_of(answer.token)
        if hasattr(answer, "losses"):
            said["losses"] = answer.losses
        if hasattr(answer, "alone"):
            said["is_alone"] = answer.alone
        if hasattr(answer, "cancel_requested"):
            said["is_cancelled"] = answer.cancel_requested
        if hasattr(answer, "facts"):
            said["facts"] = self.facts_of(answer.facts)
        return said


def _name_of(called, names):
    """Return the model's value; an unknown one stays, so that the comparison fails."""
    return next((name for name, one in names.items() if one == called), called)
