"""The rule book: what operators set for everything and for single types, today their pauses."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from taskmill.core.task import Millis, TaskType
from taskmill.lanes.lane import LanePause

_LANE: Final = "lane"
_TYPE: Final = "type"


class RuleKey(Struct, frozen=True, order=True):
    """What a rule is about."""

    name: str
    value: str

    @property
    def type(self) -> TaskType | None:
        """Return the type that it is about; None for everything."""
        return TaskType(self.value) if self.name == _TYPE else None


EVERYTHING: Final = RuleKey(_LANE, "*")


def key_of(task_type: TaskType | None) -> RuleKey:
    return EVERYTHING if task_type is None else RuleKey(_TYPE, task_type)


class PauseOrder(Struct, frozen=True, kw_only=True):
    """A pause as an operator asks for it."""

    key: RuleKey
    until_ms: Millis | None = None
    """None means until it is resumed."""

    reason: str | None = None
    by: str


class PausedRule(PauseOrder, frozen=True, kw_only=True):
    """A pause in the rule book."""

    at_ms: Millis

    def is_over(self, now: Millis) -> bool:
        return self.until_ms is not None and self.until_ms <= now


class RuleBook(Struct, frozen=True):
    """All pauses, also those whose end has come, and the revision as of which they are so."""

    revision: int
    pauses: tuple[PausedRule, ...] = ()

    def pause_of(self, key: RuleKey) -> PausedRule | None:
        return next((one for one in self.pauses if one.key == key), None)

    def for_lanes(self) -> Sequence[LanePause]:
        return [LanePause(type=one.key.type, until_ms=one.until_ms) for one in self.pauses]


class RulesChanged(Struct, frozen=True):
    """The rule book before a change, and as the change left it."""

    before: RuleBook
    after: RuleBook
