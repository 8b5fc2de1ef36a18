"""Code that uses a generated client: a task's whole life, lists, a schedule and a pause."""

import sys

from taskmill_client import Client
from taskmill_client.api.pauses import end_pause, list_pauses, make_pause
from taskmill_client.api.schedules import delete_schedule, make_schedule
from taskmill_client.api.stats import read_statistics
from taskmill_client.api.tasks import (
    cancel_task,
    list_tasks,
    read_history,
    read_task,
    submit_batch,
    submit_task,
)
from taskmill_client.models import (
    BatchRequest,
    ChangeRequest,
    DstRequest,
    Gap,
    NewSchedule,
    PauseRequest,
    PayloadEcho,
    ProblemNotFound,
    ReadTaskInclude,
    RetryRequest,
    ScheduledTaskEcho,
    Status,
    TaskRequestEcho,
)

client, mark = Client(base_url=sys.argv[1], timeout=60), sys.argv[2]

task = submit_task.sync(
    client=client,
    body=TaskRequestEcho(type_="echo", payload=PayloadEcho(say=mark), idempotency_key=mark),
)
assert (task.type_, task.idempotency_key) == ("echo", mark), task
assert task.generation > 2**40, "it does not fit 32 bits"
ended = read_task.sync(task.id, client=client, wait=20, include=ReadTaskInclude.PAYLOAD)
assert (ended.status, ended.payload["say"]) == (Status.SUCCEEDED, mark), ended
assert [fact.kind for fact in read_history.sync(task.id, client=client).facts][-1] == "succeeded"
listed = list_tasks.sync(client=client, status=Status.SUCCEEDED, limit=200, wait=20.0)
assert task.id in {one.id for one in listed.tasks}, listed

batch = submit_batch.sync(
    client=client,
    body=BatchRequest(tasks=[TaskRequestEcho(type_="echo", delay_seconds=600.0) for _ in range(2)]),
)
assert (batch.accepted, batch.refused) == (2, 0), batch
for result in batch.results:
    assert cancel_task.sync(result.task.id, client=client).status is Status.CANCELLED

schedule = NewSchedule(
    name=mark,
    cron="0 3 * * *",
    dst=DstRequest(gap=Gap.SHIFT),
    task=ScheduledTaskEcho(type_="echo", retry=RetryRequest(first_seconds=2.0)),
)
assert make_schedule.sync(client=client, body=schedule).dst.gap is Gap.SHIFT
assert delete_schedule.sync(mark, client=client).name == mark

paused = make_pause.sync(client=client, body=PauseRequest(type_="report", seconds=60.0))
assert (paused.id, paused.type_) == ("type:report", "report"), paused
assert paused.id in {one.id for one in list_pauses.sync(client=client).pauses}
assert end_pause.sync(paused.id, client=client).until == paused.until

assert ChangeRequest(delay_seconds=1.5).to_dict() == {"delay_seconds": 1.5}
assert read_statistics.sync(client=client).types is not None
nobody = read_task.sync("019f4a6b-1c2d-7e3f-8a4b-5c6d7e8f9a0b", client=client)
assert isinstance(nobody, ProblemNotFound), nobody
