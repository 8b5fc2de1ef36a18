"""The tick: it looks at the record of a member in flight, and brings the member on."""

from collections.abc import Iterator

from tests.models.checker import Step
from tests.models.lanes.lane import Member
from tests.models.lanes.state import State, Tick, World, late, published, settled_looks
from tests.models.lanes.worker import is_stale
from tests.models.rules import Rules
from tests.models.scripts.look_at_turn import look_at_turn
from tests.models.scripts.look_later import look_later
from tests.models.scripts.put_back import put_back
from tests.models.scripts.take_tasks import take_tasks
from tests.models.scripts.watch_lane import watch_lane
from tests.models.shard import Envelope, Reply, told


def tick_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    for place, tick in enumerate(state.ticks):
        if place == 0 or tick != state.ticks[place - 1]:
            yield from going_on(state, place, rules, world)
    if len(state.ticks) < world.ticks:
        yield from _watches(state, rules)


def _watches(state: State, rules: Rules) -> Iterator[Step[State]]:
    """Let the look of a member come, however early."""
    lane = state.lane
    for member in sorted(one.member for one in lane.flight):
        if member not in lane.places and not rules.the_tick_looks_at_what_ended:
            continue
        known = {tick.look for tick in state.ticks if tick.member == member}
        look = min({0, 1, 2} - known)
        reply = watch_lane(lane, rules, member=member, look=look)
        if reply.answer == "LOOK":
            seen = late(state, member)._replace(lane=reply.lane)
            yield from _looks(seen, Tick("look", member, look, reply.lane.epoch), rules)


def _looks(state: State, tick: Tick, rules: Rules) -> Iterator[Step[State]]:
    """Read the record at once: what happened in between could as well happen before the watch."""
    task = tick.member.task
    member = tick.member
    looked = Envelope(member.generation, member.turn)
    reply = look_at_turn(state.shards[task], rules, envelope=looked)
    answer = reply.answer if rules.records_say_what_comes_back else "FREE"
    after = state.with_shard(task, reply.shard)
    label = f"the tick looks at {tick.member}: {answer}"
    match answer:
        case "OVER" if rules.the_tick_ends_what_is_over:
            yield Step(label, _with(after, _over(tick, reply, rules)))
        case "FREE" if rules.what_is_nobodys_comes_back:
            yield Step(label, _with(after, tick._replace(at="put back")))
        case "GONE":
            yield Step(label, _with(after, tick._replace(at="leave")))
        case _:
            later = look_later(after.lane, rules, member=tick.member, look=tick.look)
            yield Step(label, after._replace(lane=later.lane))


def _over(tick: Tick, reply: Reply, rules: Rules) -> Tick:
    decided_it = reply.facts and reply.facts[-1].turn == tick.member.turn
    is_silent = not (decided_it or rules.the_tick_publishes_any_turn)
    if not reply.facts or is_silent or not rules.the_tick_publishes:
        return tick._replace(at="leave")
    at = "publish" if rules.the_tick_publishes_first else "leave"
    return tick._replace(at=at, facts=reply.facts)


def _with(state: State, tick: Tick, others: tuple[Tick, ...] | None = None) -> State:
    rest = state.ticks if others is None else others
    ticks = tuple(sorted((*rest, tick)))
    return state._replace(ticks=ticks, lane=settled_looks(state.lane, ticks))


def going_on(state: State, place: int, rules: Rules, world: World) -> Iterator[Step[State]]:
    tick = state.ticks[place]
    others = (*state.ticks[:place], *state.ticks[place + 1 :])
    may_die = "scheduler" in world.mortal and not is_void(tick, state, rules)
    if state.left.kills and may_die:
        dead = _without(state.spend("kills"), others)
        yield Step(f"the tick is killed before: {tick.at} {tick.member}", dead, is_fault=True)
    if tick.at == "publish":
        sent = published(state, tick.member.task, tick.facts, rules)
        leaving = tick._replace(at="leave", facts=())
        is_done = not rules.the_tick_publishes_first
        after = _without(sent, others) if is_done else _with(sent, leaving, others)
        yield Step(f"the tick publishes {told(tick.facts)} of {tick.member}", after)
    elif tick.at == "leave":
        left = take_tasks(state.lane, rules, epoch=tick.epoch, leaving=tick.member)
        after = state._replace(lane=left.lane)
        telling = tick._replace(at="publish")
        after = _with(after, telling, others) if tick.facts else _without(after, others)
        yield Step(f"the tick takes {tick.member} out", after)
    else:
        yield _puts_back(state, tick.member, tick.look, others, rules)


def is_void(tick: Tick, state: State, rules: Rules) -> bool:
    """Return whether what is left of its work changes nothing, however late it is done."""
    if tick.at == "leave":
        return not tick.facts and is_stale(state.lane, tick.epoch, rules)
    is_as_seen = state.lane.look_of(tick.member) == tick.look
    return tick.at == "put back" and not is_as_seen and rules.put_back_compares_the_look


def _puts_back(
    state: State, member: Member, look: int, others: tuple[Tick, ...], rules: Rules
) -> Step[State]:
    reply = put_back(state.lane, rules, member=member, look=look)
    after = _without(state._replace(lane=reply.lane), others)
    return Step(f"the tick puts {member} back: {reply.answer}", after)


def _without(state: State, others: tuple[Tick, ...]) -> State:
    return state._replace(ticks=others, lane=settled_looks(state.lane, others))
