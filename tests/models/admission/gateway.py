"""A request at a gateway, step by step: the use case `submit`."""

from collections.abc import Iterator

from tests.models.admission.state import Gateway, State
from tests.models.checker import Step
from tests.models.rules import Rules
from tests.models.scripts.admit import admit
from tests.models.scripts.clear_owed import clear_owed
from tests.models.shard import Entry, Envelope, Reply

_ANSWERS = {"own": "202", "deferred": "deferred", "replay": "200"}


def gateway_steps(state: State, index: int, body: str, rules: Rules) -> Iterator[Step[State]]:
    gateway = state.gateways[index]
    if gateway.is_done:
        return
    name = f"gateway {index} (body {body})"
    if state.left.kills:
        dead = state.spend("kills").put(index, Gateway("dead"))
        yield Step(f"{name} is killed before: {gateway.at}", dead, is_fault=True)
    if gateway.is_paused:
        yield Step(f"{name} wakes", state.put(index, gateway._replace(is_paused=False)))
        return
    if state.left.pauses and gateway.at != "admit":
        paused = state.spend("pauses").put(index, gateway._replace(is_paused=True))
        yield Step(f"{name} is paused before: {gateway.at}", paused, is_fault=True)
    if gateway.at == "admit":
        yield from _admitting(state, index, name, body, rules)
    elif gateway.at == "publish":
        yield from _publishing(state, index, name, rules)
    else:
        yield _clearing(state, index, name, rules)


def _admitting(
    state: State, index: int, name: str, body: str, rules: Rules
) -> Iterator[Step[State]]:
    if state.is_away:
        yield _deferring(state, index, name, body, rules)
        return
    reply = admit(state.shard, rules, submission=index, body=body)
    if reply.answer == "COLD":
        yield _deferring(state, index, name, body, rules)
        return
    after = state._replace(shard=reply.shard)
    label = f"{name} admits: {reply.answer} g{reply.generation}"
    yield Step(label, after.put(index, _weighed(reply, index, body, rules)))
    if state.left.lost_replies:
        lost = _deferring(after.spend("lost_replies"), index, name, body, rules)
        yield Step(f"{label}; the reply is lost, and {lost.label}", lost.state, is_fault=True)


def _weighed(reply: Reply, index: int, body: str, rules: Rules) -> Gateway:
    match reply.answer:
        case "CREATED" | "BEFORE":
            return Gateway("publish", "own", Envelope(reply.generation, 1, index, body))
        case "REPLAYED" if reply.owed is not None and rules.a_replay_publishes:
            return Gateway("publish", "replay", reply.owed.envelope)
        case "REPLAYED":
            return Gateway("answered", "replay", answer="200")
        case _:
            return Gateway("answered", answer="422")


def _deferring(state: State, index: int, name: str, body: str, rules: Rules) -> Step[State]:
    """Ask the outbox, then the ledger; otherwise the dispatcher admits."""
    unsent = sorted(state.outbox) if rules.the_outbox_counts else []
    known = unsent[0].body if unsent else state.row.body
    if known != "?":
        answer = "200" if known == body else "422"
        done = state.put(index, Gateway("answered", "replay", answer=answer))
        return Step(f"{name} finds body {known} in outbox or ledger: {answer}", done)
    deferred = Gateway("publish", "deferred", Envelope(0, 1, index, body))
    return Step(f"{name} defers", state.put(index, deferred))


def _publishing(state: State, index: int, name: str, rules: Rules) -> Iterator[Step[State]]:
    gateway = state.gateways[index]
    following = gateway._replace(at="clear")
    if gateway.kind == "deferred":
        following = gateway._replace(at="answered", answer="deferred")
    if state.has_kafka:
        sent = state.published(gateway.envelope).put(index, following)
        yield Step(f"{name} publishes {gateway.envelope}", sent)
    else:
        spilled = state._replace(outbox=state.outbox | {gateway.envelope})
        yield Step(f"{name} puts {gateway.envelope} into the outbox", spilled.put(index, following))


def _clearing(state: State, index: int, name: str, rules: Rules) -> Step[State]:
    gateway = state.gateways[index]
    answer = _ANSWERS[gateway.kind]
    result, after = "COLD", state
    if not state.is_away:
        entry = Entry(gateway.envelope.generation, 1, "submission", "later")
        reply = clear_owed(state.shard, rules, entry=entry)
        result, after = reply.answer, state._replace(shard=reply.shard)
    if result != "DONE" and gateway.kind == "own" and rules.an_answer_waits_for_the_clear:
        answer = "deferred"
    done = after.put(index, gateway._replace(at="answered", answer=answer))
    return Step(f"{name} clears: {result}, and answers {answer}", done)
