"""The payload of `echo`: something to say, and how to behave."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct

Reason = Annotated[str, Meta(max_length=1000)]


class Echo(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Returned unchanged, unless it asks for something else."""

    say: Any = UNSET
    sleep_seconds: Annotated[float, Meta(ge=0, le=300)] = 0.0
    retry: Reason | None = None
    discard: Reason | None = None
    crash: Reason | None = None
    for_attempts: Annotated[int, Meta(ge=1, le=100)] = 100
    """The number of attempts that fail as requested; later ones succeed."""

    answer_bytes: Annotated[int, Meta(ge=0, le=30_000_000)] = 0
