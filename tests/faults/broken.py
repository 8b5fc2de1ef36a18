"""The system with one rule removed: each variant must be caught."""

import dataclasses

from msgspec.structs import replace

from functions.dispatcher.handler import lambda_handler as dispatcher
from taskmill.core.owed import Cold, OwedKind
from taskmill.execution.lease import Settled, Stale, TurnOver
from taskmill.lanes.lane import TurnIsFree, TurnIsOver
from taskmill.orders.control import Ordered
from taskmill.stores.memory.dispatch import MemoryDelays
from taskmill.stores.memory.execution import MemoryLeases, MemoryTurns
from taskmill.stores.memory.hot import MemoryAdmission, MemoryDueSet
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.memory.orders import MemoryControl
from taskmill.stores.memory.timing import MemoryFarTasks
from taskmill.submission.admission import Created
from tests.faults.deployed import Deployed
from tests.faults.mortals import Parts


class RemovesFirst(MemoryDueSet):
    """Removes entries before it publishes them."""

    def take(self, *, most):
        taken = super().take(most=most)
        self.clear([name for name, _ in taken])
        return taken


class OwesNothing(MemoryAdmission):
    """Admits, and leaves the publication to a process that may be dead."""

    def admit(self, envelopes):
        verdicts = super().admit(envelopes)
        self._hot.due.clear()
        return verdicts


class ForgetsKeys(MemoryAdmission):
    """Creates a new task for every request, whatever came before under its key."""

    def admit(self, envelopes):
        return [self._create(one, self._next(one), token=0) for one in envelopes]

    def _next(self, envelope):
        known = self._hot.record(envelope.id)
        return max(self._hot.clock(), known.generation + 1 if known else 0)

    def _create(self, envelope, generation, *, token):
        return Created(super()._create(envelope, generation, token=token).generation)


class ComparesNoToken(MemoryLeases):
    """Accepts every settlement as if from the present holder."""

    def _settle(self, settlement):
        answer = super()._settle(settlement)
        record = self._hot.record(settlement.envelope.id)
        if isinstance(answer, Stale) and record.generation == settlement.envelope.generation:
            return self._end(settlement, record)
        return answer


class AcceptsStaleEnds(MemoryLeases):
    """Answers a stale holder with success, so that the task leaves its lane."""

    def settle(self, settlements):
        answers = super().settle(settlements)
        return [Settled(()) if isinstance(one, Stale) else one for one in answers]


class RepeatsNoFacts(MemoryLeases):
    """Says that a turn is over without the facts that may be unpublished."""

    def claim(self, claims):
        answers = super().claim(claims)
        return [TurnOver(()) if isinstance(one, TurnOver) else one for one in answers]


class FindsNoFacts(MemoryTurns):
    """Lets what is over leave without the facts that may be unpublished."""

    def look(self, members):
        states = super().look(members)
        return [TurnIsOver(()) if isinstance(one, TurnIsOver) else one for one in states]


class LooksAtNothing(MemoryTurns):
    """Finds nothing, whatever died."""

    def look(self, members):
        return [Cold() for _ in members]


class LetsTheLapsedLeave(MemoryTurns):
    """Takes a lease that lapsed for an end."""

    def look(self, members):
        states = super().look(members)
        return [TurnIsOver(()) if isinstance(one, TurnIsFree) else one for one in states]


class SuspectsNobody(MemoryTurns):
    """Puts suspects back among the others."""

    def look(self, members):
        states = super().look(members)
        return [TurnIsFree() if isinstance(one, TurnIsFree) else one for one in states]


class ClaimsSuspectsTogether(MemoryLeases):
    """Lets suspects run together, so that one kills the others."""

    def claim(self, claims):
        return super().claim([replace(claim, alone=True) for claim in claims])


class OwesAtOnce(MemoryDelays):
    """Delays no task, whatever its time."""

    def delay(self, orders):
        now = self._hot.clock()
        return super().delay([replace(order, due_at_ms=now) for order in orders])


class KeepsTheOldTime(MemoryControl):
    """Leaves the entry from before a change, and lets it pass for the turn."""

    def _change(self, order):
        known = dict(self._hot.due)
        answer = super()._change(order)
        if answer == Ordered():
            before = {name: one for name, one in known.items() if name.id == order.envelope.id}
            for name, (at, owed) in before.items():
                if name.kind is OwedKind.TURN:
                    again = dataclasses.replace(name, turn=order.envelope.turn)
                    self._hot.due[again] = (at, replace(owed, task=order.envelope))
        return answer


class LeavesWhatItDidNotOwe(MemoryFarTasks):
    """Forgets far tasks when they are read, before they are owed."""

    def coming(self, *, within):
        for rows in super().coming(within=within):
            self.leave(rows)
            yield rows


class TakesTheLastFact(MemoryLedger):
    """Accepts the last fact it receives."""

    def record(self, batch):
        for row in batch.rows:
            known = self.rows.pop(row.id, None)
            if known is not None and row.spec is None:
                self.rows[row.id] = known
                super().record(type(batch)(rows=[row]))
                state = {
                    name: getattr(row, name)
                    for name in ("status", "finished_at_ms", "result", "due_at_ms", "turn")
                }
                self.rows[row.id] = _with(self.rows[row.id], state)
            else:
                result = row if known is None else _with(row, {"spec": row.spec or known.spec})
                super().record(type(batch)(rows=[result]))
        super().record(type(batch)(history=batch.history, applied=batch.applied))


class CommitsFirst(Deployed):
    """Commits its offset before the work is done."""

    def invoke(self, reader, records):
        self.stores.log.commit(reader, records[-1].position.offset + 1)
        super().invoke(reader, records)
        return set()


class DropsARecord(Deployed):
    """Its dispatcher passes over the first record of a batch."""

    def call(self, function, event):
        if function is dispatcher:
            event = event | {"records": {name: of[1:] for name, of in event["records"].items()}}
        return super().call(function, event)


class ReportsNoFailure(Deployed):
    """Its functions answer that each record is done."""

    def call(self, function, event):
        super().call(function, event)
        return {"batchItemFailures": []}


def _with(row, changes):
    return type(row)(**{name: getattr(row, name) for name in row.__struct_fields__} | changes)


VARIANTS = {
    "remove, then publish": Parts({"due": RemovesFirst}),
    "an admission that owes nothing": Parts({"admission": OwesNothing}),
    "keys that are not remembered": Parts({"admission": ForgetsKeys}),
    "no token compared": Parts({"leases": ComparesNoToken}),
    "a stale settle lets its task leave": Parts({"leases": AcceptsStaleEnds}),
    "facts not repeated after a crash behind settle": Parts(
        {"leases": RepeatsNoFacts, "turns": FindsNoFacts}
    ),
    "a tick that finds nothing": Parts({"turns": LooksAtNothing}),
    "what lapsed leaves its lane": Parts({"turns": LetsTheLapsedLeave}),
    "suspects claimed together": Parts({"leases": ClaimsSuspectsTogether, "turns": SuspectsNobody}),
    "offset committed before the work": Parts(system=CommitsFirst),
    "a dispatcher that drops a record": Parts(system=DropsARecord),
    "a handler that reports no failure": Parts(system=ReportsNoFailure),
    "nobody waits for his time": Parts({"delays": OwesAtOnce}),
    "the time before a change stays": Parts({"control": KeepsTheOldTime}),
    "far ones are forgotten before they are owed": Parts({"far": LeavesWhatItDidNotOwe}),
    "a recorder without the rank": Parts({"ledger": TakesTheLastFact}),
}
