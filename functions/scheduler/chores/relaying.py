"""Publishes what the gateway kept in the outbox while Kafka was away."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import chores
from taskmill.submission.relay import relay


def _relay() -> int:
    bound = chores.relaying()
    return relay(bound.outbox, bound.bus)


CHORE = Chore(name="relay_outbox", every=timedelta(seconds=1), do=_relay, is_slow=True)
