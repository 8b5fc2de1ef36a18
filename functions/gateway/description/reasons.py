"""Why a task is dead or waits for its next attempt; a test compares this with the worker's code."""

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta

REASONS: Final[Mapping[str, str]] = {
    "failed": "its worker raised an exception or asked for a retry",
    "discarded": "its worker discarded it",
    "timeout": "an attempt ran past its time limit",
    "expired": "it had not started by `expires_at`",
    "poison": "its attempts were lost repeatedly",
    "invalid_payload": "its payload does not fit its type or no longer exists",
    "result_invalid": "its result is not JSON or is too large",
    "unknown_type": "no worker is deployed for its type",
    "stopped": "its process had to shut down: no attempt was used up",
    "snoozed": "its worker snoozed it: no attempt was used up",
}
_KNOWN: Final = "; ".join(f"`{name}`: {meaning}" for name, meaning in REASONS.items())

Reason = Annotated[
    str,
    Meta(
        description=f"Why the task is dead or waits for a retry. {_KNOWN}. More may be added:"
        " treat a reason that you do not know as `failed`.",
        extra_json_schema={"x-extensible-enum": list(REASONS)},
    ),
]
