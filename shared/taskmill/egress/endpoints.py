"""Webhook receivers that answered 410 Gone."""

from typing import Final

from msgspec import Struct

from taskmill.core.task import Millis

MOST_DISABLED: Final = 10_000
"""Beyond this the oldest is forgotten: when called again, it answers 410 again."""


class DisabledEndpoint(Struct, frozen=True):
    url: str
    at_ms: Millis
