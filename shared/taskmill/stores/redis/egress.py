"""Disabled endpoints in Redis; losing an entry costs only one more call."""

from collections.abc import Sequence

from taskmill.core.task import Millis
from taskmill.egress.endpoints import MOST_DISABLED, DisabledEndpoint
from taskmill.stores.redis.keys import DISABLED_ENDPOINTS
from taskmill.stores.redis.session import Session


class RedisEndpoints:
    def __init__(self, session: Session) -> None:
        self._session = session

    def disable(self, url: str, *, at_ms: Millis) -> None:
        self._session.command("ZADD", DISABLED_ENDPOINTS, at_ms, url)
        self._session.command("ZREMRANGEBYRANK", DISABLED_ENDPOINTS, 0, -MOST_DISABLED - 1)

    def is_disabled(self, url: str) -> bool:
        return self._session.command("ZSCORE", DISABLED_ENDPOINTS, url) is not None

    def enable(self, url: str) -> bool:
        return bool(self._session.command("ZREM", DISABLED_ENDPOINTS, url))

    def disabled(self, *, most: int) -> Sequence[DisabledEndpoint]:
        members = self._session.command("ZREVRANGE", DISABLED_ENDPOINTS, 0, most - 1, "WITHSCORES")
        return [
            DisabledEndpoint(url.decode(), Millis(int(float(at_ms))))
            for url, at_ms in zip(members[::2], members[1::2], strict=True)
        ]
