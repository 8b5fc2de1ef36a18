"""What waits in a lane, in order, and the tree over its lines."""

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from taskmill.core.task import Envelope
from taskmill.lanes.caps import Size
from taskmill.lanes.lane import Line, Member, line_of, member_of
from taskmill.lanes.order import order_of

_OLD: Final = 60_000
"""A task that waited for this long (ms) may start before those of higher classes."""

_OLD_EVERY: Final = 8
"""Every eighth pick may be an old one."""

_Path: TypeAlias = tuple[str, ...]
"""The first fields of a line: type, class, tenant, fairness key, gates."""

_LINE: Final = 5
"""How many fields a whole line has."""

_Place: TypeAlias = tuple[int, str]
"""Where a task stands in its line: its order, and its member among those of the same order."""


@dataclass(slots=True, kw_only=True)
class HeldTask:
    """A task in a lane, waiting or in flight."""

    member: Member
    order: int
    line: Line
    raw: bytes

    @property
    def place(self) -> _Place:
        return self.order, str(self.member)

    @property
    def path(self) -> _Path:
        return tuple(str(self.line).split("\t"))


def held(envelope: Envelope, raw: bytes) -> HeldTask:
    return HeldTask(
        member=member_of(envelope), order=order_of(envelope), line=line_of(envelope), raw=raw
    )


@dataclass(slots=True)
class _Waiting:
    """The content of a line, in order."""

    places: list[_Place] = field(default_factory=list)
    tasks: dict[_Place, HeldTask] = field(default_factory=dict)

    @property
    def head(self) -> int:
        return self.places[0][0]

    def add(self, task: HeldTask) -> None:
        insort(self.places, task.place)
        self.tasks[task.place] = task

    def remove(self, place: _Place) -> HeldTask:
        del self.places[bisect_left(self.places, place)]
        return self.tasks.pop(place)


class Lines:
    """What waits, in order, and whose turn is next.

    The tree over the lines has the tenants of a type and class, the fairness keys of each tenant,
    and the lines of each key, all with their ranks: a tenant and a key are ranked by turn, a line
    by the order of its first task.
    """

    def __init__(self) -> None:
        self._lines: dict[_Path, _Waiting] = {}
        self._tree: defaultdict[_Path, dict[str, int]] = defaultdict(dict)
        self._turns = 0
        self._picks = 0
        self._waiting: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._waiting.total()

    def size(self, line: str | None = None) -> Size:
        """Return how much waits in a line; without one, in all of them."""
        paths = list(self._lines) if line is None else [tuple(line.split("\t"))]
        waiting = [self._lines[path] for path in paths if path in self._lines]
        return Size(
            sum(len(one.places) for one in waiting),
            sum(len(task.raw) for one in waiting for task in one.tasks.values()),
        )

    def waiting(self, name: str) -> int:
        """Return how many tasks of a type wait; those that must run alone have "!" after it."""
        return self._waiting[name]

    def add(self, task: HeldTask) -> None:
        line = self._lines.setdefault(task.path, _Waiting())
        line.add(task)
        self._waiting[task.path[0]] += 1
        if line.places[0] == task.place:
            self._rank(task.path, task.order)

    def withdraw(self, task: HeldTask) -> None:
        """Take a task out of its line."""
        path, siblings = task.path, self._tree[task.path[:-1]]
        line = self._lines[path]
        line.remove(task.place)
        self._waiting[path[0]] -= 1
        if line.places:
            siblings[path[-1]] = line.head
            return
        del self._lines[path]
        if not self._lines:
            self._tree.clear()
        elif len(siblings) > 1:  # the only one stays until a pick finds it empty
            del siblings[path[-1]]

    def count(self, prefix: _Path) -> tuple[int, int | None]:
        """Return how many tasks wait in the lines with this beginning, and the oldest order."""
        lines = [line for path, line in self._lines.items() if path[: len(prefix)] == prefix]
        oldest = min((line.head for line in lines), default=None)
        return sum(len(line.places) for line in lines), oldest

    def pick(self, name: str, now: int) -> HeldTask | None:
        """Take the task of a type that starts next out of its line."""
        while classes := [one for one in "0123" if (name, one) in self._tree]:
            task = self._pick_old(name, classes[1:], now)
            if task is None:
                task = self._pick_below((name, classes[0]))
            if task is not None:
                self._picks += 1
                return task
        return None

    def _rank(self, path: _Path, order: int) -> None:
        """Rank a line by its first task; a node that has a child is known to its parent."""
        siblings = self._tree[path[:-1]]
        is_known = bool(siblings)
        for name in [name for name in siblings if (*path[:-1], name) not in self._lines]:
            del siblings[name]
        siblings[path[-1]] = order
        for depth in (3, 2):
            if is_known:
                return
            siblings = self._tree[path[:depth]]
            is_known = bool(siblings)
            siblings[path[depth]] = self._next_turn()

    def _next_turn(self) -> int:
        self._turns += 1
        return self._turns

    def _pick_old(self, name: str, classes: Iterable[str], now: int) -> HeldTask | None:
        """Pick from the class whose next task is the oldest, if it is old and its turn has come."""
        if self._picks % _OLD_EVERY != _OLD_EVERY - 1:
            return None
        orders = [(self._next_order((name, one)), one) for one in classes]
        order, oldest = min(orders, default=(now * 1000, ""))
        return self._pick_below((name, oldest)) if order < (now - _OLD) * 1000 else None

    def _next_order(self, path: _Path) -> int:
        child = self._first(path)
        below = (*path, child)
        return self._tree[path][child] if len(below) == _LINE else self._next_order(below)

    def _first(self, path: _Path) -> str:
        children = self._tree[path]
        return min(children, key=lambda name: (children[name], name))

    def _pick_below(self, path: _Path) -> HeldTask | None:
        """Pick from the first child that has a task; others of the same node are next then."""
        children, task = self._tree[path], None
        while children and task is None:
            child, is_only = self._first(path), len(children) == 1
            below = (*path, child)
            task = self._pick_head(below) if len(below) == _LINE else self._pick_below(below)
            rank = self._rank_after(below, children[child], is_only=is_only)
            if rank is None:
                del children[child]
            else:
                children[child] = rank
        if not children:
            del self._tree[path]
        return task

    def _pick_head(self, path: _Path) -> HeldTask | None:
        line = self._lines.get(path)
        if line is None:
            return None
        task = line.remove(line.places[0])
        self._waiting[path[0]] -= 1
        if not line.places:
            del self._lines[path]
        return task

    def _rank_after(self, path: _Path, rank: int, *, is_only: bool) -> int | None:
        """Return the rank of a node that had its turn; None if nothing is left below it."""
        if len(path) == _LINE:
            line = self._lines.get(path)
            return None if line is None else line.head
        if path not in self._tree:
            return None
        return rank if is_only else self._next_turn()
