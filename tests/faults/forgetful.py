"""The system without a rule that random runs rarely exercise: each variant needs its own story."""

import json

from msgspec.structs import replace

from taskmill.execution.lease import TurnOver
from taskmill.stores.memory.execution import MemoryLeases
from taskmill.stores.memory.hot import MemoryAdmission, MemoryDueSet
from taskmill.stores.memory.log import MemoryLog
from taskmill.stores.memory.recovery import MemoryColdShards
from taskmill.stores.memory.schedules import MemorySchedules
from taskmill.submission.admission import Replayed
from tests.faults.mortals import Parts


class HoldsNothing(MemoryDueSet):
    """Gives due entries to every caller until somebody has cleared them."""

    def take(self, *, most):
        before = dict(self._hot.due)
        taken = super().take(most=most)
        self._hot.due.update(before)
        return taken


class CountsTokensFromOne(MemoryLeases):
    """Continues the token sequence of the record, which may have been lost."""

    def _begin(self, claim, record):
        before = record.token
        claimed = super()._begin(claim, record)
        record.token = before + 1
        return replace(claimed, token=record.token)


class RestoresNoTokens(MemoryColdShards):
    def restore(self, nonce, tasks):
        return super().restore(nonce, [_without_tokens(view) for view in tasks])


def _without_tokens(view):
    return replace(view, row=replace(view.row, largest_token=0, token=0))


class OrdersByAttempt(MemoryLeases):
    """Considers a turn over when its attempt is: a snooze uses up none."""

    def _claim_known(self, claim, record):
        if record.status.is_final or claim.envelope.attempt < record.attempt:
            return TurnOver(record.last)
        return self._begin(claim, record)


class RestoresAsDue(MemoryColdShards):
    """Queues everything unfinished at once, without waiting for workers that still run it."""

    def _wait_for_worker(self, view, record):
        super()._wait_for_worker(view, record)
        record.holding = None
        self._hot.due[view.name] = (self._hot.clock(), view.owed)


class KnowsNoEnds(MemoryLog):
    """Lets a rebuild begin with what the ledger happens to know."""

    def ends(self):
        return {}


class ReplaysSilently(MemoryAdmission):
    """Returns the first request to a repeated one, without what it still owes."""

    def _admit(self, envelope):
        verdict = super()._admit(envelope)
        return replace(verdict, owed=None) if isinstance(verdict, Replayed) else verdict


class CountsSnoozes(MemoryLeases):
    """Uses up an attempt for a snoozed turn."""

    def settle(self, settlements):
        return super().settle([_with_an_attempt_spent(one) for one in settlements])


def _with_an_attempt_spent(settlement):
    following = settlement.next
    if following is None or following.waiting.reason != "snoozed":
        return settlement
    task = following.owed.task
    owed = replace(following.owed, task=replace(task, attempt=task.attempt + 1))
    return replace(settlement, next=replace(following, owed=owed))


class BlamesEverybody(MemoryLeases):
    """Charges each task of a take with the losses of the others."""

    def claim(self, claims):
        answers = super().claim(claims)
        pairs = zip(claims, answers, strict=True)
        lost = [one.envelope.id for one, answer in pairs if getattr(answer, "losses", 0)]
        for task_id in lost:
            self._hot.records[task_id].losses += len(lost) - 1
        return answers


class NamesNoInstant(MemorySchedules):
    """Fires whatever it gets, however often, and each time under another key."""

    def advance(self, steps):
        return super().advance([self._again(step) for step in steps])

    def _again(self, step):
        known = self.find(step.seen.tenant, step.seen.name)
        return replace(step, seen=known, fires=[self._anew(one) for one in step.fires])

    def _anew(self, fire):
        asked = json.loads(fire.request.request)
        asked["idempotency_key"] += f"#{len(self._requests.kept)}"
        request = replace(fire.request, request=json.dumps(asked).encode())
        return replace(fire, request=request)


class LetsEverybodyIn(MemoryLeases):
    """Gives a held turn to any claimer."""

    def _refusal(self, claim, record):
        return None


UNHELD = Parts({"due": HoldsNothing})
TOKENS_FROM_ONE = Parts({"leases": CountsTokensFromOne, "shards": RestoresNoTokens})
OPEN_TO_ALL = Parts({"leases": LetsEverybodyIn})
BY_ATTEMPT = Parts({"leases": OrdersByAttempt})
AS_DUE = Parts({"shards": RestoresAsDue})
HASTY = Parts({"bus": KnowsNoEnds})
SILENT = Parts({"admission": ReplaysSilently})
SNOOZES_SPEND = Parts({"leases": CountsSnoozes})
BLAMING = Parts({"leases": BlamesEverybody})
NO_UNIQUE_INSTANT = Parts({"schedules": NamesNoInstant})
