"""Where an unfinished task belongs whose lane is rebuilt, as its record says."""

from datetime import timedelta
from typing import TypeAlias

from msgspec import Struct

from taskmill.core.owed import Cold
from taskmill.core.task import Envelope


class InLine(Struct, frozen=True):
    """In its line, by the ledger's turn; if its record is further or over, its claim finds that."""


class InFlight(Struct, frozen=True, kw_only=True):
    """A lease lives, whoever holds it: its record is looked at when that would end."""

    envelope: Envelope
    """The envelope of the record's turn."""
    look_after: timedelta


class InDueSet(Struct, frozen=True):
    """Owed at its time, which brings it into its lane."""


class Overwritten(Struct, frozen=True):
    """Its record was overwritten: until that is restored nobody knows whether somebody runs it."""


Placement: TypeAlias = InLine | InFlight | InDueSet | Overwritten | Cold
