"""Combines the parts of admission, and states what must never happen."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.admission.backstage import (
    dispatcher_steps,
    recorder_steps,
    scheduler_steps,
    worker_steps,
)
from tests.models.admission.forgetting import fault_steps, rebuild_steps
from tests.models.admission.gateway import gateway_steps
from tests.models.admission.state import Budget, Gateway, State
from tests.models.checker import Step
from tests.models.rules import Rules

NEVER_RAN = "a request was told yes, and its body never ran"
OTHER_BODY = "the ledger shows a body that never ran"


class Admission(NamedTuple):
    """Two requests under one key, with their `bodies`."""

    rules: Rules
    bodies: str = "XX"
    left: Budget = Budget()

    def first(self) -> State:
        second = Gateway() if len(self.bodies) > 1 else Gateway("dead")
        return State((Gateway(), second), left=self.left)

    def steps(self, state: State) -> Iterator[Step[State]]:
        for index, body in enumerate(self.bodies):
            yield from gateway_steps(state, index, body, self.rules)
        yield from dispatcher_steps(state, self.rules)
        yield from worker_steps(state, self.rules)
        yield from scheduler_steps(state, self.rules)
        yield from recorder_steps(state, self.rules)
        yield from rebuild_steps(state, self.rules)
        yield from fault_steps(state, self.rules)

    def broken(self, state: State) -> str | None:
        if not self._is_quiet(state):
            return None
        ran = {body for _, body in state.runs}
        for gateway, body in zip(state.gateways, self.bodies, strict=False):
            if gateway.answer in ("202", "200") and ran and body not in ran:
                return NEVER_RAN
        if state.row.is_closed and state.row.body not in ran:
            return OTHER_BODY
        return None

    def _is_quiet(self, state: State) -> bool:
        settled = all(gateway.is_done for gateway in state.gateways)
        read = all(line.is_dispatched for line in state.pending) and state.log == state.applied
        owed = state.work or state.shard.due or state.outbox
        reachable = state.has_kafka and not (state.is_away or state.shard.is_cold)
        return settled and read and not owed and reachable

    def is_good(self, state: State) -> bool:
        if not self._is_quiet(state):
            return False
        record = state.shard.record
        if record is not None and record.is_final and state.row.is_closed:
            return True
        promised = {"202", "deferred", "200"} & {one.answer for one in state.gateways}
        return not promised and record is None and not state.row.status
