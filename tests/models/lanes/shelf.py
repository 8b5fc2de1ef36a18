"""The shelf: what a line does not hold in Redis waits in the ledger alone.

One line, with room for a few members: the dispatcher enters tasks or shelves them, the recorder
makes rows of those that were shelved, the scheduler brings them in again. A worker runs the first
of the line in one step; places and leases are left to the model of lanes.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.checker import Step
from tests.models.lanes.lane import Lane, Member
from tests.models.rules import Rules
from tests.models.scripts.begin_lane import begin_lane
from tests.models.scripts.enter_lane import enter_lane
from tests.models.scripts.fill_lane import fill_lane
from tests.models.scripts.open_lane import open_lane

PASSED = "a task starts before an earlier one of its line"
_WORD = 1


class Hand(NamedTuple):
    """A process with one task; `at` is its next step."""

    at: str
    """The dispatcher's: enter, publish or commit; the scheduler's: enter or delete."""
    task: int


class Line(NamedTuple):
    """The surroundings of a case, apart from its faults."""

    tasks: int = 3
    cap: int = 1
    filled: int = 1
    """How many members a rebuild puts into the line."""
    is_ordered: bool = True
    """It has an ordering key: one partition carries its facts."""


class Budget(NamedTuple):
    """How often each fault may still happen."""

    kills: int = 0
    cancels: int = 0
    lane_losses: int = 0


class State(NamedTuple):
    pending: tuple[int, ...]
    lane: Lane = Lane()
    facts: tuple[int, ...] = ()
    """Those that say that a task was shelved, and that the recorder has not applied."""
    table: frozenset[int] = frozenset()
    ended: frozenset[int] = frozenset()
    dispatcher: Hand | None = None
    scheduler: Hand | None = None
    left: Budget = Budget()

    def spend(self, fault: str) -> "State":
        return self._replace(left=self.left._replace(**{fault: getattr(self.left, fault) - 1}))


class Shelf(NamedTuple):
    """Tasks of one line, in the order of `tasks.pending`."""

    rules: Rules
    around: Line = Line()
    left: Budget = Budget()

    def first(self) -> State:
        return State(tuple(range(self.around.tasks)), left=self.left)

    def steps(self, state: State) -> Iterator[Step[State]]:
        yield from self._dispatch(state)
        yield from self._record(state)
        yield from self._bring_in(state)
        yield from self._run(state)
        yield from self._fill(state)
        for task in range(self.around.tasks) if state.left.cancels else ():
            if task not in state.ended and task not in state.pending:
                cancelled = state.spend("cancels")._replace(ended=state.ended | {task})
                yield Step(f"a client cancels task {task}", cancelled, is_fault=True)
        if state.left.lane_losses and not state.lane.is_cold:
            lost = Lane(state.lane.epoch, is_cold=True)
            emptied = state.spend("lane_losses")._replace(lane=lost)
            yield Step("the lane is lost", emptied, is_fault=True)

    def _dispatch(self, state: State) -> Iterator[Step[State]]:
        """Enter, publish that it was shelved, commit."""
        hand = state.dispatcher
        if hand is None:
            for task in state.pending[:1]:
                read = state._replace(dispatcher=Hand("enter", task))
                yield Step(f"the dispatcher reads task {task}", read)
            return
        if state.left.kills:
            dead = state.spend("kills")._replace(dispatcher=None)
            yield Step(f"the dispatcher is killed before: {hand.at}", dead, is_fault=True)
        if hand.at == "enter":
            yield self._enters(state, hand.task)
        elif hand.at == "publish":
            sent = state._replace(facts=(*state.facts, hand.task))
            following = sent._replace(dispatcher=hand._replace(at="commit"))
            yield Step(f"the dispatcher publishes that task {hand.task} is shelved", following)
        else:
            committed = state._replace(pending=state.pending[1:], dispatcher=None)
            yield Step(f"the dispatcher commits task {hand.task}", committed)

    def _enters(self, state: State, task: int) -> Step[State]:
        reply = enter_lane(state.lane, self.rules, member=Member(task, 1), cap=self.around.cap)
        following = {"COLD": None, "WAITS": Hand("commit", task), "SHELVED": Hand("publish", task)}
        if not self.rules.shelving_is_told:
            following["SHELVED"] = Hand("commit", task)
        entered = state._replace(lane=reply.lane, dispatcher=following[reply.answer])
        return Step(f"the dispatcher enters task {task}: {reply.answer}", entered)

    def _record(self, state: State) -> Iterator[Step[State]]:
        is_ordered = self.around.is_ordered and self.rules.facts_of_a_line_keep_their_order
        for place, task in enumerate(state.facts[:1] if is_ordered else state.facts):
            rest = (*state.facts[:place], *state.facts[place + 1 :])
            has_row = task not in state.ended or self.rules.every_shelved_task_gets_a_row
            table = state.table | {task} if has_row else state.table
            yield Step(
                f"the recorder reads that task {task} is shelved",
                state._replace(facts=rest, table=table),
            )

    def _bring_in(self, state: State) -> Iterator[Step[State]]:
        """Read the first row, enter its task past the shelf, delete the row."""
        hand = state.scheduler
        if hand is None:
            yield from self._first_row(state)
            return
        if state.left.kills:
            dead = state.spend("kills")._replace(scheduler=None)
            yield Step(f"the scheduler is killed before: {hand.at}", dead, is_fault=True)
        if hand.at == "enter":
            member = Member(hand.task, 1)
            reply = enter_lane(state.lane, self.rules, member=member, from_shelf=True)
            is_done = reply.answer == "COLD" or not self.rules.rows_leave_last
            following = None if is_done else hand._replace(at="delete")
            entered = state._replace(lane=reply.lane, scheduler=following)
            yield Step(f"the scheduler brings task {hand.task} in: {reply.answer}", entered)
        else:
            deleted = state._replace(table=state.table - {hand.task}, scheduler=None)
            yield Step(f"the scheduler deletes the row of task {hand.task}", deleted)

    def _first_row(self, state: State) -> Iterator[Step[State]]:
        lane = state.lane
        if lane.is_cold:
            return
        is_open = lane.shelf >= 0
        if is_open and not state.table and not self.rules.the_last_row_closes_the_shelf:
            closed = state._replace(lane=lane._replace(shelf=-1))
            yield Step("the scheduler finds no row, and the shelf closes", closed)
        may_read = is_open or self.rules.rows_outlast_the_shelf
        if may_read and state.table and len(lane.line) < self.around.cap:
            task = min(state.table)
            table = state.table if self.rules.rows_leave_last else state.table - {task}
            read = state._replace(table=table, scheduler=Hand("enter", task))
            yield Step(f"the scheduler reads the row of task {task}", read)

    def _run(self, state: State) -> Iterator[Step[State]]:
        if state.lane.is_cold:
            return
        for member in sorted(state.lane.line)[:1]:
            task = member.task
            left = state._replace(lane=state.lane.without(member))
            if task in state.ended:
                yield Step(f"a worker finds task {task} over", left)
                continue
            is_passing = any(one not in state.ended for one in range(task))
            broken = PASSED if is_passing and self.around.is_ordered else None
            ran = left._replace(ended=state.ended | {task})
            yield Step(f"a worker runs task {task}", ran, broken=broken)

    def _fill(self, state: State) -> Iterator[Step[State]]:
        """Rebuild the lane once the ledger has applied everything; nobody sees it meanwhile."""
        if not state.lane.is_cold or state.facts or state.dispatcher or state.scheduler:
            return
        unfinished = [
            task
            for task in range(self.around.tasks)
            if task not in state.ended and task not in state.pending
        ]
        kept, rest = unfinished[: self.around.filled], unfinished[self.around.filled :]
        if not self.rules.a_rebuild_shelves_the_rest:
            rest = []
        begun = begin_lane(state.lane, self.rules, word=_WORD, is_paused=False).lane
        waiting = frozenset(Member(task, 1) for task in kept)
        last = rest[-1] if rest else -1
        filled = fill_lane(begun, self.rules, word=_WORD, waiting=waiting, shelved=last).lane
        opened = state._replace(
            lane=open_lane(filled, self.rules, word=_WORD).lane,
            table=state.table | set(rest),
        )
        yield Step(f"the lane is filled: {kept} wait, {rest} are shelved", opened)

    def broken(self, _state: State) -> str | None:
        return None

    def is_good(self, state: State) -> bool:
        busy = state.pending or state.facts or state.table or state.dispatcher or state.scheduler
        lane = state.lane
        is_empty = not lane.is_cold and not lane.line and lane.shelf == -1
        return is_empty and not busy and len(state.ended) == self.around.tasks
