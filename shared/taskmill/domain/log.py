"""A record as the log gives it."""

from collections.abc import Mapping
from dataclasses import dataclass

from taskmill.domain.lease import Position
from taskmill.domain.task import Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    position: Position
    at_ms: Millis
    value: bytes | None
    headers: Mapping[str, bytes]
