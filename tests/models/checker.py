"""A breadth-first model checker with explicit states: shortest traces, invariants and progress."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

S = TypeVar("S", bound=Hashable)
S_co = TypeVar("S_co", covariant=True, bound=Hashable)

STUCK = "stuck: without another fault no good end can be reached"


class Step(NamedTuple, Generic[S_co]):
    label: str
    state: S_co
    is_fault: bool = False
    """The world did it, not the system: progress may not count on it."""
    broken: str | None = None
    """What the step itself breaks, whatever state it leads to."""


class Model(Protocol[S]):
    """A system and its environment, one state at a time."""

    def first(self) -> S: ...

    def steps(self, state: S) -> Iterable[Step[S]]: ...

    def broken(self, state: S) -> str | None:
        """Return the invariant that *state* violates."""
        ...

    def is_good(self, state: S) -> bool:
        """Return whether everything has ended well in *state*."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    states: int
    steps: int
    complaint: str | None
    """None when the model is clean."""
    trace: tuple[str, ...] = ()

    def __str__(self) -> str:
        answer = f"{self.complaint or 'clean'} ({self.states:,} states, {self.steps:,} steps)"
        return "\n".join([answer, *(f"  {line}" for line in self.trace)])


def explore(model: Model[S], *, most: int) -> Verdict:
    """Visit every reachable state, nearest first; stop at the first violation.

    Progress means that from each state a good end stays reachable without faults. Deadlocks and
    livelocks both violate that.
    """
    graph = _Graph[S](most)
    found = graph.grow(model)
    if found is not None:
        return graph.verdict(*found)
    lost = graph.first_lost(model.is_good)
    if lost is None:
        return graph.verdict(None, ())
    rest = _to_rest(model, graph.states[lost])
    return graph.verdict(STUCK, (*graph.trace(lost), "from here it is lost, for instance:", *rest))


@dataclass(slots=True)
class _Graph(Generic[S]):
    most: int
    states: list[S] = field(default_factory=list)
    numbers: dict[S, int] = field(default_factory=dict)
    came: list[tuple[int, str]] = field(default_factory=list)
    """From which state, and by which step, each state was first reached."""
    backward: list[list[int]] = field(default_factory=list)
    """The states from which a step that is no fault leads to each state."""
    taken: int = 0

    def grow(self, model: Model[S]) -> tuple[str, Sequence[str]] | None:
        self._add(model.first(), -1, "")
        at = 0
        while at < len(self.states):
            if len(self.states) > self.most:
                return f"gave up after {self.most:,} states", ()
            complaint = model.broken(self.states[at])
            if complaint is not None:
                return complaint, self.trace(at)
            for step in model.steps(self.states[at]):
                self.taken += 1
                if step.broken is not None:
                    return step.broken, (*self.trace(at), step.label)
                number = self._add(step.state, at, step.label)
                if not step.is_fault:
                    self.backward[number].append(at)
            at += 1
        return None

    def _add(self, state: S, came_from: int, label: str) -> int:
        number = self.numbers.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
            self.came.append((came_from, label))
            self.backward.append([])
        return number

    def trace(self, number: int) -> tuple[str, ...]:
        labels = []
        while number > 0:
            number, label = self.came[number]
            labels.append(label)
        return tuple(reversed(labels))

    def first_lost(self, is_good: Callable[[S], bool]) -> int | None:
        """Return the nearest state from which no good end is reachable."""
        has_hope = [is_good(state) for state in self.states]
        hopeful = [number for number, good in enumerate(has_hope) if good]
        while hopeful:
            for number in self.backward[hopeful.pop()]:
                if not has_hope[number]:
                    has_hope[number] = True
                    hopeful.append(number)
        return next((number for number, hope in enumerate(has_hope) if not hope), None)

    def verdict(self, complaint: str | None, trace: Sequence[str]) -> Verdict:
        return Verdict(
            states=len(self.states), steps=self.taken, complaint=complaint, trace=tuple(trace)
        )


def _to_rest(model: Model[S], state: S) -> Iterator[str]:
    """Return the shortest path without faults to a state where nothing moves, if there is one."""
    ways: dict[S, tuple[str, ...]] = {state: ()}
    waiting = deque([state])
    while waiting:
        here = waiting.popleft()
        ahead = [step for step in model.steps(here) if not step.is_fault and step.state != here]
        if not ahead:
            yield from ways[here]
            yield f"at rest: {brief(here)}"
            return
        for step in ahead:
            if step.state not in ways:
                ways[step.state] = (*ways[here], step.label)
                waiting.append(step.state)
    yield "it goes round forever"


def brief(value: object) -> str:
    """Show a value by those of its fields that differ from their defaults."""
    if isinstance(value, tuple) and hasattr(value, "_field_defaults"):
        fields = zip(value._fields, value, strict=True)
        usual = value._field_defaults
        shown = [f"{name}={brief(one)}" for name, one in fields if usual.get(name, ...) != one]
        return f"{type(value).__name__}({', '.join(shown)})"
    if isinstance(value, frozenset):
        return "{" + ", ".join(brief(one) for one in sorted(value)) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(brief, value)) + ")"
    return repr(value)
