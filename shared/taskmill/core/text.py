"""Truncates stored texts."""

ERROR_TEXT_LIMIT = 4_096
STACK_LIMIT = 8_192


def clip(text: str, limit: int) -> str:
    """Return *text* fit for every store: no NUL, no lone surrogate, at most *limit* bytes."""
    octets = _storable(text)
    if len(octets) <= limit:
        return octets.decode()
    return octets[: limit - 3].decode("utf-8", "ignore") + "…"


def clip_start(text: str, limit: int) -> str:
    """Return the end of *text*, cleaned as `clip` does."""
    octets = _storable(text)
    if len(octets) <= limit:
        return octets.decode()
    return "…" + octets[3 - limit :].decode("utf-8", "ignore")


def _storable(text: str) -> bytes:
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace")
