"""The rule book in memory."""

from collections.abc import Callable

from msgspec.structs import asdict

from taskmill.core.ports import Clock
from taskmill.lanes.rules import PausedRule, PauseOrder, RuleBook, RuleKey, RulesChanged
from taskmill.stores.memory.ledger import MemoryLedger


class MemoryRules:
    def __init__(self, ledger: Callable[[], MemoryLedger], clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._book = RuleBook(revision=0)

    def revision(self) -> int:
        return self.book().revision

    def book(self) -> RuleBook:
        self._ledger().ask()
        return self._book

    def pause(self, order: PauseOrder) -> RulesChanged:
        before = self.book()
        others = [one for one in before.pauses if one.key != order.key]
        paused = PausedRule(**asdict(order), at_ms=self._clock())
        return self._change(before, [*others, paused])

    def resume(self, key: RuleKey) -> RulesChanged:
        before = self.book()
        if before.pause_of(key) is None:
            return RulesChanged(before, before)
        return self._change(before, [one for one in before.pauses if one.key != key])

    def pass_by(self, revision: int) -> int:
        book = self.book()
        if book.revision <= revision:
            self._book = RuleBook(revision + 1, book.pauses)
        return self._book.revision

    def _change(self, before: RuleBook, pauses: list[PausedRule]) -> RulesChanged:
        in_order = sorted(pauses, key=lambda one: one.key)
        self._book = RuleBook(before.revision + 1, tuple(in_order))
        return RulesChanged(before, self._book)
