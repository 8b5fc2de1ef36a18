"""The payload of `probe`: a name, and how to behave."""

from msgspec import Struct


class Probe(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Leaves effects under its name, unless it fails before."""

    name: str
    sleep_seconds: float = 0.0
    ill: str = ""
    """raise, exit, kill, hang, spin, balloon, or linger before its work: until it is healed."""

    ill_runs: int = 1_000_000
    """How many of its runs are ill; after these it is healed."""

    keeps: bool = False
    """Whether it writes its effect into our database, too."""
