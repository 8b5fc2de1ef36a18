"""Who marked something as dealt with, and when: it is kept, and no longer counted."""

from msgspec import Struct

from taskmill.core.task import Millis


class Dismissal(Struct, frozen=True, kw_only=True):
    at_ms: Millis
    by: str
