"""Receivers of webhooks that said that they are gone."""

from dataclasses import dataclass
from typing import Final

from taskmill.domain.task import Millis

MOST_DISABLED: Final = 10_000
"""Beyond this the longest disabled is forgotten: called again, it says again that it is gone."""


@dataclass(frozen=True, slots=True)
class DisabledEndpoint:
    url: str
    at_ms: Millis
