"""A lane while no scheduler is there: its processes watch it, and the last one stays.

Each process runs one task at a time. A wake-up starts it, is delivered again if it dies, and is
read once it has ended. The lane notes which partitions ask. What a process does at once is one step
here; leases, records and facts are left to the model of lanes.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.checker import Step
from tests.models.rules import Rules

_NOBODY = -1


class Place(NamedTuple):
    """A partition of the type's topic."""

    wake_ups: int = 1
    """Those that are not read."""
    process: str = ""
    """new, runs, idle or stays; empty when there is none."""
    task: int = _NOBODY
    is_noted: bool = False
    """The lane knows that its process has asked a moment ago, whether it lives or not."""


class Around(NamedTuple):
    """The surroundings of a case, apart from its faults."""

    tasks: int = 2
    places: int = 2


class State(NamedTuple):
    places: tuple[Place, ...]
    waiting: frozenset[int]
    flight: frozenset[int] = frozenset()
    is_watched: bool = False
    """A worker has watched a moment ago."""
    kills: int = 0

    def put(self, at: int, place: Place) -> "State":
        return self._replace(places=(*self.places[:at], place, *self.places[at + 1 :]))


class Unwatched(NamedTuple):
    """A few tasks, and a wake-up in each partition."""

    rules: Rules
    around: Around = Around()
    kills: int = 0

    def first(self) -> State:
        tasks = frozenset(range(self.around.tasks))
        return State((Place(),) * self.around.places, tasks, kills=self.kills)

    def steps(self, state: State) -> Iterator[Step[State]]:
        for at, place in enumerate(state.places):
            if place.process:
                yield from self._lives(state, at, place)
            elif place.wake_ups:
                started = state.put(at, place._replace(process="new"))
                yield Step(f"a wake-up starts a process in {at}", started)
            if place.is_noted and not place.process:
                silent = state.put(at, place._replace(is_noted=False))
                yield Step(f"nobody in {at} has asked for a while", silent)
        if state.is_watched:
            yield Step("nobody has watched for a while", state._replace(is_watched=False))

    def _lives(self, state: State, at: int, place: Place) -> Iterator[Step[State]]:
        if state.kills:
            dead = state._replace(kills=state.kills - 1)
            dead = dead.put(at, place._replace(process="", task=_NOBODY))
            yield Step(f"the process in {at} is killed", dead, is_fault=True)
        if place.process == "idle":
            yield from self._ends(state, at, place)
            return
        if place.process == "runs":
            left = state._replace(flight=state.flight - {place.task})
            idle = place._replace(process="idle", task=_NOBODY)
            yield Step(f"task {place.task} ends", left.put(at, idle))
        if place.process == "stays":
            yield from self._goes(state, at, place)
        yield from self._asks(state, at, place)

    def _asks(self, state: State, at: int, place: Place) -> Iterator[Step[State]]:
        """Take, or at least watch; whoever is there for long finds what nobody runs."""
        asked = state._replace(is_watched=True).put(at, place._replace(is_noted=True))
        noted = asked.places[at]
        if place.process != "runs" and state.waiting:
            yield from self._takes(asked, at)
            return
        yield Step(f"the process in {at} asks", _woken(asked))
        if place.process == "new":
            yield Step(f"nothing waits for {at}", asked.put(at, noted._replace(process="idle")))
            return
        if place.process == "stays" and not self._must_stay(state, at):
            idle = asked.put(at, noted._replace(process="idle"))
            yield Step(f"the process in {at} need not stay", idle)
        lost = state.flight - {one.task for one in state.places}
        if lost:
            back = asked._replace(flight=state.flight - lost, waiting=state.waiting | lost)
            yield Step(f"the process in {at} puts back {sorted(lost)}", _woken(back))

    def _takes(self, state: State, at: int) -> Iterator[Step[State]]:
        task = min(state.waiting)
        taken = state._replace(waiting=state.waiting - {task}, flight=state.flight | {task})
        busy = state.places[at]._replace(process="runs", task=task, is_noted=True)
        yield Step(f"the process in {at} takes task {task}", _woken(taken.put(at, busy)))

    def _ends(self, state: State, at: int, place: Place) -> Iterator[Step[State]]:
        """Ask a last time: take what waits, stay, or go."""
        if state.waiting:
            yield from self._takes(state, at)
        elif self._must_stay(state, at) and self.rules.the_last_process_stays:
            stays = place._replace(process="stays", is_noted=False)
            yield Step(f"the process in {at} stays", state.put(at, stays))
        yield from self._goes(state, at, place)

    def _goes(self, state: State, at: int, place: Place) -> Iterator[Step[State]]:
        """Go, as nobody needs it, or since its time is over."""
        must_stay = self._must_stay(state, at) and self.rules.the_last_process_stays
        hands_over = must_stay and self.rules.who_must_go_hands_over
        keeps_note = place.is_noted and not self.rules.who_goes_takes_its_note_along
        gone = Place(place.wake_ups - 1 + hands_over, is_noted=keeps_note)
        label = f"the process in {at} goes" + (", and wakes another" if hands_over else "")
        yield Step(label, _woken(state.put(at, gone)))

    def _must_stay(self, state: State, at: int) -> bool:
        """Return whether nobody else is there for what is in flight."""
        if state.is_watched and not self.rules.a_worker_is_no_scheduler:
            return False
        others = [
            one
            for number, one in enumerate(state.places)
            if number != at or not self.rules.its_own_note_is_no_company
        ]
        return bool(state.flight) and not any(one.is_noted for one in others)

    def broken(self, _state: State) -> str | None:
        return None

    def is_good(self, state: State) -> bool:
        return not state.waiting and not state.flight


def _woken(state: State) -> State:
    """Start a process for what waits, where none may be about to ask."""
    is_promised = any(one.is_noted and one.process != "runs" for one in state.places)
    idle = [at for at, one in enumerate(state.places) if not one.is_noted and not one.wake_ups]
    if not state.waiting or is_promised or not idle:
        return state
    return state.put(idle[0], state.places[idle[0]]._replace(wake_ups=1))
