"""The door in Kafka: takes the requests that stand in `tasks.inbox`."""

from functools import partial
from typing import Any, assert_never

from taskmill.bootstrap import blobs, inbox
from taskmill.core.counting import Count
from taskmill.core.refusal import Refusal
from taskmill.platform import process
from taskmill.platform.kafka_event import failures, records_of
from taskmill.submission.intake import Answer, take_records
from taskmill.submission.known_keys import has_a_task
from taskmill.submission.read import read_request
from taskmill.submission.submission import InLog, NotNow


@process.counting()
def lambda_handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    log = process.log("inbox")
    services = inbox.services()
    records = records_of(event)
    read = partial(
        read_request,
        catalogue=services.catalogue,
        blobs=blobs.at_the_door,
        is_known=lambda submission: has_a_task(submission, services.records),
    )
    answers = take_records(records, read, admission=services.admission, bus=services.bus)
    for answer in answers:
        process.counters().count(Count.INBOX, answer=_word(answer))
    put_off = {
        record.position: answer.why
        for record, answer in zip(records, answers, strict=True)
        if isinstance(answer, NotNow)
    }
    if put_off:
        log.warning(
            "put off", extra={"records": len(put_off), "why": sorted(set(put_off.values()))}
        )
    return failures(put_off)


def _word(answer: Answer) -> str:
    match answer:
        case InLog(entry=entry):
            return entry
        case Refusal():
            return "refused"
        case NotNow():
            return "put_off"
        case _:
            assert_never(answer)


process.at_init(inbox.services)
