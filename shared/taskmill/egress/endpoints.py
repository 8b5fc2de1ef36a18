"""Receivers of webhooks that said that they are gone."""

from typing import Final

from msgspec import Struct

from taskmill.core.task import Millis

MOST_DISABLED: Final = 10_000
"""Beyond this the longest disabled is forgotten: called again, it says again that it is gone."""


class DisabledEndpoint(Struct, frozen=True):
    url: str
    at_ms: Millis
