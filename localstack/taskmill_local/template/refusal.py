"""Collects everything that the platform cannot do, to refuse a template once and completely."""

from collections.abc import Iterable
from pathlib import Path

from taskmill_local.errors import PlatformError


class TemplateRefused(PlatformError):
    """The template uses features that the local platform does not support; lists all of them."""

    def __init__(self, template: Path, complaints: Iterable[str]) -> None:
        self.complaints = tuple(complaints)
        lines = "".join(f"\n  - {complaint}" for complaint in self.complaints)
        super().__init__(f"the local platform cannot run {template}:{lines}")


class Unresolved(Exception):
    """A value of the template cannot be resolved here; the message says which and why."""
