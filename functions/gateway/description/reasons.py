"""Why a task is dead, or waits for its next attempt; a test compares this with what workers say."""

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta

REASONS: Final[Mapping[str, str]] = {
    "failed": "its worker raised, or asked for another try",
    "discarded": "its worker gave it up",
    "timeout": "an attempt was cut off",
    "expired": "it had not begun by `expires_at`",
    "poison": "attempts of it were lost again and again",
    "invalid_payload": "its payload does not fit its type, or is gone",
    "result_invalid": "its result is no JSON, or too large",
    "unknown_type": "no worker takes its type",
    "stopped": "its process was told to end: no attempt was spent",
    "snoozed": "its worker put it off: no attempt was spent",
}
_KNOWN: Final = "; ".join(f"`{name}`: {meaning}" for name, meaning in REASONS.items())

Reason = Annotated[
    str,
    Meta(
        description=f"Why it is dead, or waits again. {_KNOWN}. More may be added: take one that"
        " you do not know for `failed`.",
        extra_json_schema={"x-extensible-enum": list(REASONS)},
    ),
]
