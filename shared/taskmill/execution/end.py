"""Ends tasks that no worker takes: no lane has them."""

from collections.abc import Callable, Collection, Sequence

from taskmill.core.task import Envelope
from taskmill.execution.claim import Candidate, Claimer
from taskmill.execution.context import RunContext
from taskmill.execution.outcome import Cancelled, End
from taskmill.execution.settle import Settler


def end_all(
    envelopes: Sequence[Envelope], end: Callable[[Envelope], End], run_context: RunContext
) -> Collection[Envelope]:
    """Claim and end each task, and return those to try again."""
    now = run_context.clock()
    candidates = [
        Candidate(
            envelope=envelope,
            source=f"{run_context.process}|end",
            look=0,
            epoch="",
            alone=True,
            taken_at_ms=now,
        )
        for envelope in envelopes
    ]
    claims = Claimer(run_context).claim(candidates)
    settler = Settler(run_context)
    settler.add(claims.facts, claims.leaves)
    now = run_context.clock()
    for running in claims.running:
        envelope = running.attempt.envelope
        why = Cancelled() if running.cancel_requested else end(envelope)
        settler.end(running, why, now=now)
    settler.settle(at_once=True)
    settler.publish(at_once=True)
    settler.confirm(may_wait=True)
    left = [one.envelope for one in claims.again]
    return left + [running.attempt.envelope for running, _ in settler.ended]
