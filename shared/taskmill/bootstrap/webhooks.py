"""What calls to the endpoints of others need, and what the gateway tells of these."""

import os
from collections.abc import Callable
from datetime import timedelta
from functools import cache

from msgspec import Struct

from taskmill.egress.ports import Endpoints
from taskmill.platform import process
from taskmill.settings import Settings
from taskmill.stores.guard import QUICK, Guard

_PATIENCE_WITH_REDIS = timedelta(seconds=1)


@cache
def endpoints() -> Endpoints:
    """Open what is known of receivers; apart, because only webhooks ask for it."""
    from taskmill.stores.redis.egress import RedisEndpoints
    from taskmill.stores.redis.session import Session

    settings = Settings.from_env(os.environ, needs=("redis",))
    guard = Guard("Redis", tolerance=QUICK, opened=process.count_opening)
    return RedisEndpoints(Session(settings.redis, patience=_PATIENCE_WITH_REDIS, guard=guard))


class WebhookServices(Struct, frozen=True, kw_only=True):
    endpoints: Endpoints
    read_secrets: Callable[[], str]
    ca_file: str
    api_host: str
    reaches_loopback: bool


@cache
def services() -> WebhookServices:
    """Open what calling others needs; whether it runs at home, the stores' places tell."""
    settings = Settings.from_env(os.environ, needs=("kafka", "redis", "webhooks"))
    return WebhookServices(
        endpoints=endpoints(),
        read_secrets=settings.read_webhook_secrets,
        ca_file=settings.webhook_ca_file,
        api_host=settings.api_host,
        reaches_loopback=settings.reaches_loopback,
    )
