"""Does everything that must happen at a time; two runs are always alive, none is the leader."""

import logging
from datetime import timedelta
from typing import Any

from taskmill import bootstrap
from taskmill.domain.errors import StoreUnavailable
from taskmill.usecases.publish_due import publish_due

TICK = timedelta(milliseconds=100)
WHEN_A_STORE_IS_AWAY = timedelta(seconds=1)
LAST_TICK_BEFORE_THE_END = timedelta(seconds=5)
MOST_EXPIRED_PER_SHARD = 100


def lambda_handler(_event: dict[str, Any], context: Any) -> dict[str, int]:
    log = bootstrap.log("scheduler")
    published = 0
    while timedelta(milliseconds=context.get_remaining_time_in_millis()) > LAST_TICK_BEFORE_THE_END:
        done, rest = _tick(log)
        published += done
        bootstrap.pause(rest)
    return {"published": published}


def _tick(log: logging.Logger) -> tuple[int, timedelta]:
    """Return how much was published, and how long to rest."""
    services = bootstrap.scheduler()
    try:
        done = publish_due(services.due, services.bus)
        services.due.forget_expired(most=MOST_EXPIRED_PER_SHARD)
    except StoreUnavailable as error:
        log.warning("tick failed", extra={"store": error.store, "why": error.why})
        return 0, WHEN_A_STORE_IS_AWAY
    return done, TICK


bootstrap.at_init(bootstrap.scheduler)
