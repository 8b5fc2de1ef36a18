"""Cuts texts that are kept to a size."""

from taskmill.execution.outcome import _storable

ERROR_TEXT_LIMIT = 4_096


def clip(text: str, limit: int) -> str:
    """Return *text* fit for every store: no NUL, no lone surrogate, at most *limit* bytes."""
    octets = _storable(text)
    if len(octets) <= limit:
        return octets.decode()
    return octets[: limit - 3].decode("utf-8", "ignore") + "…"
