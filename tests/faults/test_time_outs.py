"""Of what a killed worker held, only what had not ended runs again (P26)."""

import signal

from tests.faults.run import starts
from tests.faults.stack import WORKER
from tests.waiting import eventually

TASKS = 100
DONE = 40


def test_what_had_ended_when_its_process_is_killed_does_not_run_again(stack, run, figures):
    requests = [run.request(number, sleep_seconds=0.4 + number / 50) for number in range(TASKS)]
    run.submit(requests)
    eventually(lambda: len(finished(stack, run)) >= DONE, within=60, reason="40 have ended")
    assert stack.signal(signal.SIGKILL, WORKER)
    done, before = finished(stack, run), starts(stack, set(run.ids))
    assert len(done) < TASKS
    run.await_ends()
    assert run.complaints(kills=2, in_flight=TASKS) == []
    after = starts(stack, set(run.ids))
    ran_again = {label for label, times in after.items() if times > before.get(label, 0) > 0}
    figures.tell(
        "P26",
        f"{TASKS} tasks, killed when {len(done)} had ended: {len(ran_again)} of those in flight "
        "ran again",
    )
    assert not {run.ids[label] for label in ran_again} & done


def finished(stack, run):
    records = stack.records(list(run.ids.values()))
    return {record.id for record in records if record.status == "succeeded"}
