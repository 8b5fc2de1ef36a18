"""Opens what is known of the receivers of webhooks, for their worker and for the API."""

import os
from datetime import timedelta
from functools import cache

from taskmill.egress.ports import Endpoints
from taskmill.platform import process
from taskmill.settings import Settings
from taskmill.stores.guard import QUICK, Guard

_PATIENCE_WITH_REDIS = timedelta(seconds=1)


@cache
def endpoints() -> Endpoints:
    """Open what is known of receivers; apart, because few functions ask for it."""
    from taskmill.stores.redis.egress import RedisEndpoints
    from taskmill.stores.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("redis",))
    guard = Guard("Redis", tolerance=QUICK, opened=process.count_opening)
    return RedisEndpoints(Session(settings.redis, patience=_PATIENCE_WITH_REDIS, guard=guard))
