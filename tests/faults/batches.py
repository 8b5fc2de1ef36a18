"""Passes batches to separate workers, in addition to those of the system."""

import json
from base64 import b64encode
from datetime import timedelta

from taskmill.core import codec, topics
from taskmill.stores.redis.session import Session
from taskmill.stores.redis.submission import RedisAdmission
from taskmill.submission.submission import owed_submission
from taskmill_local.settings import SHARDS
from tests.faults.log import append

LONG_ENOUGH = 60
_FIRST = 10**9
"""Offset beyond every record that the system's own workers see."""


def admitted(run, number, **how):
    """Return tasks that only this test knows, retrying as long as it takes."""
    return run.admit(range(number), hold=timedelta(minutes=10), **how)


def publish(stack, tasks):
    """Publish them for the system's own functions, and clear their due entries."""
    for value in codec.batches_of_tasks(tasks):
        append(stack, topics.PENDING, value)
    session = Session(stack.ground.own_redis_url)
    RedisAdmission(session, shards=SHARDS).clear([owed_submission(task) for task in tasks])
    session.close()


def event_of(tasks):
    topic = topics.worker(tasks[0].type)
    records = [
        {
            "topic": topic,
            "partition": 0,
            "offset": _FIRST + at,
            "timestamp": 0,
            "timestampType": "CREATE_TIME",
            "value": b64encode(next(codec.batches_of_tasks([task]))).decode(),
            "headers": [],
        }
        for at, task in enumerate(tasks)
    ]
    return {"eventSource": "aws:kafka", "records": {f"{topic}-0": records}}


def work(stack, tasks, seconds, **variables):
    """Let a process run a batch; return its indexes to retry."""
    process = stack.spawn_worker(seconds, tasks[0].type, **variables)
    said, _ = process.communicate(json.dumps(event_of(tasks)), timeout=LONG_ENOUGH)
    assert process.returncode == 0
    (answer,) = (line for line in said.splitlines() if line.startswith("answer "))
    result = json.loads(answer.removeprefix("answer "))["batchItemFailures"]
    return {one["itemIdentifier"]["offset"] - _FIRST for one in result}
