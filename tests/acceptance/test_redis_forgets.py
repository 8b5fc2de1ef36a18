"""Redis may lose all data at any time: no task is lost, no success runs twice, keys hold."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http import HTTPStatus
from uuid import uuid4

import psycopg
import pytest
from msgspec import Raw
from redis import Redis

from taskmill.sql import enqueue
from taskmill.stores.kafka.bus import KafkaBus
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.outbox import PostgresOutbox
from tests.acceptance.ledger import ends, outdate_a_schedule, statuses
from tests.acceptance.system import QUICK, System, run_command
from tests.builders import a_fresh_envelope, now_ms, succeeded
from tests.waiting import eventually

TASKS = 600
PATIENCE = 120
HOUR_MS = 3_600_000


@pytest.fixture
def system(folder):
    system = System(folder, **QUICK)
    try:
        yield system.start()
    finally:
        system.stop()


def submit(client, run, number):
    """Submit every third task under a key; return its id."""
    named = {"idempotency_key": f"{run}-{number}"} if number % 3 == 0 else {}
    return client.submit({"say": number}, **named)["id"]


def test_an_emptied_redis_is_rebuilt_from_the_ledger(system):
    client, run = system.client, uuid4()
    redis = Redis.from_url(client.platform()["stores"]["Valkey"]["address"])
    with ThreadPoolExecutor(8) as callers:
        first = list(callers.map(lambda n: submit(client, run, n), range(TASKS // 2)))
        redis.flushall()
        emptied = time.monotonic()
        more = callers.map(lambda n: submit(client, run, n), range(TASKS // 2, TASKS))
        ids = [*first, *more]
    eventually(
        lambda: statuses(system, ids) == {"succeeded": TASKS},
        within=PATIENCE,
        reason="every task succeeded in the ledger",
    )
    span = time.monotonic() - emptied
    print(f"\nemptied, rebuilt and done in {span:.1f} s")  # noqa: T201 - a figure to look at
    (succeeded,) = (row for row in ends(system, ids) if row[0] == "succeeded")
    assert succeeded == ("succeeded", TASKS, TASKS)
    for number in range(0, TASKS, 30):
        again = client.submit({"say": number}, idempotency_key=f"{run}-{number}")
        assert (again["id"], again["replayed"]) == (ids[number], True)
    assert doctor(system)[0] == 0
    (key,) = redis.keys(f"tm:*:task:{ids[0]}")
    redis.hset(key, "status", "running")
    orphan = facts_of_nobodys_task(system)
    outdate_a_schedule(system, "nightly", {"type": "echo", "payload": {"sleep_seconds": "x"}})
    refused = enqueue_in_vain(system)
    lost = accept_in_vain(system)
    code, answer = doctor(system)
    assert (code, [one["id"] for one in answer["record_behind"]]) == (1, [ids[0]])
    assert answer["unsubmitted"] == [{"id": orphan}]
    (unfit,) = answer["unfit_schedules"]
    assert (unfit["name"], unfit["field"]) == ("nightly", "/task/payload/sleep_seconds")
    (in_vain,) = answer["refused_requests"]
    assert (in_vain["id"], in_vain["field"]) == (refused, "/max_attempts")
    (of_the_outbox,) = answer["lost_in_the_outbox"]
    assert of_the_outbox["id"] == lost
    assert client.get("/v1/stats").body["outbox"] == {"waiting": 0, "parked": 1}
    assert client.get(f"/v1/tasks/{lost}").status == HTTPStatus.GONE
    assert client.post(f"/v1/enqueued/{refused}/discard", None).status == HTTPStatus.OK
    assert "refused_requests" not in doctor(system)[1]
    code, answer = doctor(system, **other_shards(system))
    assert (code, len(answer["cold_shards"])) == (1, 3)
    redis.close()


def accept_in_vain(system):
    """Put an unpublishable task into the outbox, wait until it is parked, and return its id."""
    task = a_fresh_envelope(payload=Raw(b'"%b"' % (b"x" * 2_200_000)))
    with closing(Database(system.client.platform()["stores"]["PostgreSQL"]["address"])) as database:
        outbox = PostgresOutbox(database)
        outbox.add([task])
        eventually(lambda: outbox.parked(most=1), within=PATIENCE, reason="it is parked")
    return task.id


def enqueue_in_vain(system):
    """Commit an invalid request, wait until it is parked, and return its id."""
    dsn = system.client.platform()["stores"]["PostgreSQL"]["address"]
    with psycopg.connect(dsn.replace("taskmill_app@", "taskmill_enqueue@")) as connection:
        task_id = enqueue(connection, "echo", max_attempts=0)
    eventually(
        lambda: system.client.get("/v1/enqueued").body["requests"],
        within=PATIENCE,
        reason="it is refused",
    )
    return task_id


def facts_of_nobodys_task(system):
    """Give the ledger a task's end without its submission; return its id."""
    task = a_fresh_envelope(generation=now_ms() - 2 * HOUR_MS)
    bus = KafkaBus(system.client.platform()["stores"]["Kafka"]["address"])
    bus.send_facts([succeeded(task)])
    bus.flush()
    bus.close()
    eventually(lambda: statuses(system, [task.id]), within=PATIENCE, reason="the ledger has it")
    return task.id


def other_shards(system):
    """Return the system's stores with another number of shards, which nobody opened."""
    stores = system.client.platform()["stores"]
    names = {"KAFKA_BROKERS": "Kafka", "REDIS_URL": "Valkey", "POSTGRES_DSN": "PostgreSQL"}
    places = {f"TASKMILL_{name}": stores[store]["address"] for name, store in names.items()}
    return places | {"TASKMILL_SHARDS": "3"}


def doctor(system, **settings):
    """Return the exit code and the findings of the doctor."""
    answer = run_command(
        system.folder, "doctor", "--json", TASKMILL_URL=system.client.url, **settings
    )
    return answer.returncode, json.loads(answer.stdout)
