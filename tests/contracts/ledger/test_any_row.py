"""Readers of the ledger tolerate every row that the log can produce."""

from datetime import timedelta
from itertools import chain
from types import SimpleNamespace
from uuid import uuid4

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from functions.gateway.history import history_as_json
from functions.gateway.listing import dead_as_json, page_as_json, read_filter
from functions.gateway.presenter import task_as_json
from taskmill.core import topics
from taskmill.core.log import LogRecord
from taskmill.core.view import TaskView
from taskmill.dispatch.due import DuePublisher
from taskmill.ledger.record import Recorder
from taskmill.recovery.rebuild import Rebuild
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.memory.log import MemoryLog
from taskmill.stores.memory.outbox import MemoryOutbox
from taskmill.stores.memory.process import MemoryCounters
from taskmill.stores.redis.session import Session
from tests.builders import a_position, now_ms
from tests.contracts.hot import InValkey
from tests.contracts.ledgers import PostgresTables
from tests.records import values

SOME = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
answer = st.lists(st.tuples(st.sampled_from([topics.PENDING, topics.EVENTS]), values), min_size=5)


@pytest.fixture
def tables(database):
    owner, app = database
    tables = PostgresTables(app, owner)
    yield tables
    tables.close()


@pytest.fixture
def valkeys(valkey):
    session = Session(valkey)
    yield InValkey(session)
    session.close()


def write(tables, answer):
    partition = uuid4().int % 2**31
    records = [
        LogRecord(
            position=a_position(offset, topic=topic, partition=partition),
            at_ms=now_ms(),
            value=value,
            headers={},
        )
        for offset, (topic, value) in enumerate(answer)
    ]
    Recorder(SimpleNamespace(ledger=tables.ledger)).record(records)


@SOME
@given(answer)
def test_who_reads_the_ledger_gets_past_any_row(tables, answer):
    write(tables, answer)
    rows, task_versions = tables.rows, tables.task_versions()
    page = rows.page(read_filter({"limit": "200"}))
    shown = [page_as_json(page, {})]
    shown.append(dead_as_json(rows.dead(read_filter({"status": "dead", "limit": "200"})), {}))
    for task in page.tasks:
        shown.append(task_as_json(rows.find(task.id)))
        shown.append(history_as_json(rows.history_of(task.id, most=500)))
    assert msgspec.json.encode(shown)
    ids = [task.id for task in page.tasks]
    assert len(task_versions.of(ids)) == len(ids)
    assert len(tables.whole().of(ids)) == len(ids)
    assert task_versions.unfinished(after=None, most=100) is not None
    assert tables.figures().figures()


@SOME
@given(answer)
def test_a_redis_is_rebuilt_from_any_rows(tables, valkeys, answer):
    write(tables, answer)
    valkeys.forget()
    log = MemoryLog(now_ms)
    stores = SimpleNamespace(
        clock=now_ms,
        cold_lanes=valkeys.cold_lanes(),
        counters=MemoryCounters(),
        log_ends=log,
        outbox=MemoryOutbox(),
        shards=valkeys.cold_shards(),
        whole_rows=tables.whole(),
    )
    Rebuild(stores, nonce=uuid4().hex, grace=timedelta(0), pause=lambda _span: None).run()
    assert not valkeys.cold_shards().are_some()
    whole = chain.from_iterable(
        chain.from_iterable(tables.whole().restorable(finished=done) for done in (True, False))
    )
    ids = [row.id for row in whole]
    read = [one for one in valkeys.records().read(ids) if isinstance(one, TaskView)]
    assert msgspec.json.encode([task_as_json(one) for one in read])
    valkeys.control().see(ids)
    due_stores = {"due": valkeys.due(), "bus": log, "catalogue": AssembledCatalogue()}
    DuePublisher(SimpleNamespace(clock=now_ms, **due_stores)).publish()
