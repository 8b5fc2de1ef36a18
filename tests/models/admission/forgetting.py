"""Redis is unavailable or loses data, Kafka is unavailable, and a rebuild runs."""

from collections.abc import Iterator

from tests.models.admission.state import Rebuild, State
from tests.models.checker import Step
from tests.models.ledger import Row
from tests.models.rules import Rules
from tests.models.scripts.begin_rebuild import begin_rebuild
from tests.models.scripts.open_shard import open_shard
from tests.models.scripts.restore_records import restore_records
from tests.models.shard import Envelope, Shard


def fault_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    shard, left = state.shard, state.left
    if left.flushes and not shard.is_cold:
        empty = Shard(marker=0, server=shard.server, clock=shard.clock)
        forgot = state.spend("flushes")._replace(shard=empty)
        yield Step("Redis is emptied", forgot, is_fault=True)
    if left.failovers and state.replica is None:
        yield Step("the replica stops following", state._replace(replica=shard), is_fault=True)
    elif left.failovers and state.replica is not None and not shard.is_cold:
        server = shard.server + 1
        marker = state.replica.marker if rules.marker_names_the_server else server
        older = state.replica._replace(marker=marker, server=server, clock=shard.clock)
        promoted = state.spend("failovers")._replace(shard=older, replica=None)
        yield Step("the replica that stopped is promoted", promoted, is_fault=True)
    if left.aways and not state.is_away:
        yield Step("Redis is away", state.spend("aways")._replace(is_away=True), is_fault=True)
    if state.is_away:
        yield Step("Redis is back", state._replace(is_away=False))
    if left.outages and state.has_kafka:
        away = state.spend("outages")._replace(has_kafka=False)
        yield Step("Kafka is away", away, is_fault=True)
    if not state.has_kafka:
        yield Step("Kafka is back", state._replace(has_kafka=True))


def rebuild_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    rebuild = state.rebuild
    if state.is_away:
        return
    if rebuild is None:
        if state.shard.is_cold:
            word = state.words + 1
            reply = begin_rebuild(state.shard, rules, word=word)
            begun = state._replace(shard=reply.shard, words=word, rebuild=Rebuild("read", word))
            yield Step("a rebuild begins", begun)
        return
    match rebuild.at:
        case "read" if not (rules.rebuild_waits_a_lease and _somebody_publishes(state)):
            unsent = sorted(state.outbox) if rules.the_outbox_counts else []
            after = _restored(state, [_row_of(one) for one in unsent if one.generation], rules)
            read = after._replace(rebuild=rebuild._replace(at="note"))
            yield Step("the rebuild restores the rows of the outbox", read)
        case "note":
            noted = state.log if rules.rebuild_waits_for_the_ledger else frozenset()
            noting = state._replace(rebuild=rebuild._replace(at="restore", noted=noted))
            yield Step("the rebuild notes the end of the log", noting)
        case "restore" if rebuild.noted <= state.applied:
            rows = [state.row] if state.row.generation else []
            after = _restored(state, rows, rules)
            restored = after._replace(rebuild=rebuild._replace(at="open"))
            yield Step("the rebuild restores what the ledger knows", restored)
        case "open":
            reply = open_shard(state.shard, rules, word=rebuild.word)
            opened = state._replace(shard=reply.shard, rebuild=None)
            yield Step(f"the rebuild opens the shard: {reply.answer}", opened)
        case _:
            return


def _somebody_publishes(state: State) -> bool:
    return any(one.at == "publish" and not one.is_paused for one in state.gateways)


def _row_of(envelope: Envelope) -> Row:
    return Row(envelope.generation, 1, "queued", submission=envelope.submission, body=envelope.body)


def _restored(state: State, rows: list[Row], rules: Rules) -> State:
    shard = state.shard
    word = state.rebuild.word if state.rebuild else 0
    for row in rows:
        shard = restore_records(shard, rules, word=word, row=row).shard
    return state._replace(shard=shard)
