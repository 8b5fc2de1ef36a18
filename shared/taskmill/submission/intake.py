"""Takes requests from `tasks.inbox`, each once however often its record is redelivered."""

import logging
from collections.abc import Sequence
from hashlib import sha256
from typing import Protocol, TypeAlias, assert_never

from taskmill.core.counting import Count
from taskmill.core.errors import StoreUnavailable, Unpublishable
from taskmill.core.log import LogRecord, Position
from taskmill.core.ports import Bus, Counters
from taskmill.core.refusal import Refusal, RefusalKind, key_reused
from taskmill.core.task import LAST_MOMENT, Envelope, Millis
from taskmill.submission.known_keys import has_a_task
from taskmill.submission.ports import Admission, Blobs, Catalogue, Records
from taskmill.submission.read import read_request
from taskmill.submission.submission import InLog, KeyReused, NotNow, as_envelope
from taskmill.submission.take import take

KEY_HEADER = "idempotency-key"

Answer: TypeAlias = InLog | Refusal | NotNow

_log = logging.getLogger("taskmill.inbox")


class IntakeStores(Protocol):
    """Ports for taking requests from the log."""

    @property
    def admission(self) -> Admission: ...

    @property
    def blobs(self) -> Blobs: ...

    @property
    def bus(self) -> Bus: ...

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def counters(self) -> Counters: ...

    @property
    def records(self) -> Records: ...


class Intake:
    """The inbox's work on a batch of `tasks.inbox`."""

    def __init__(self, stores: IntakeStores) -> None:
        self._stores = stores

    def take(self, records: Sequence[LogRecord]) -> set[Position]:
        """Turn each request into a task, and return the positions to retry.

        Refused requests are copied to `tasks.dlq` with the reason.
        """
        answers = self._answers(records)
        for answer in answers:
            self._stores.counters.count(Count.INBOX, answer=_label(answer))
        put_off = {
            record.position: answer.why
            for record, answer in zip(records, answers, strict=True)
            if isinstance(answer, NotNow)
        }
        if put_off:
            fields = {"records": len(put_off), "why": sorted(set(put_off.values()))}
            _log.warning("enqueued requests deferred", extra=fields)
        return set(put_off)

    def _answers(self, records: Sequence[LogRecord]) -> list[Answer]:
        readings = [self._opened(record) for record in records]
        envelopes = [one for one in readings if isinstance(one, Envelope)]
        admission, bus = self._stores.admission, self._stores.bus
        verdicts = iter(take(envelopes, admission=admission, bus=bus))
        answers: list[Answer] = [
            _answer(next(verdicts)) if isinstance(one, Envelope) else one for one in readings
        ]
        return _report(records, answers, bus)

    def _opened(self, record: LogRecord) -> Envelope | Refusal | NotNow:
        """Read and check a request as of the time when it was sent."""
        at = Millis(min(max(record.at_ms, 0), LAST_MOMENT))
        submission = read_request(
            record.value or b"",
            _key(record),
            self._stores.catalogue,
            now=at,
            blobs=lambda: self._stores.blobs,
            is_known=lambda one: has_a_task(one, self._stores.records),
        )
        if not isinstance(submission, Refusal):
            return as_envelope(submission, now=at, entropy=_entropy(record))
        if submission.kind is RefusalKind.UNAVAILABLE:
            return NotNow(submission.detail)
        return submission


def _label(answer: Answer) -> str:
    match answer:
        case InLog(entry=entry):
            return entry
        case Refusal():
            return "refused"
        case NotNow():
            return "put_off"
        case _:
            assert_never(answer)


def _key(record: LogRecord) -> str | None:
    """Return the key from the headers, whose names are case-insensitive, as over HTTP."""
    keys = [octets for name, octets in record.headers.items() if name.lower() == KEY_HEADER]
    return b",".join(keys).decode("latin-1") if keys else None


def _entropy(record: LogRecord) -> bytes:
    """Name a record by its position, so that it is the same submission when redelivered.

    The time distinguishes it from a record that was there before its topic was recreated.
    """
    at = record.position
    return sha256(f"{at.topic} {at.partition} {at.offset} {record.at_ms}".encode()).digest()[:16]


def _answer(verdict: InLog | KeyReused | NotNow) -> Answer:
    return key_reused(verdict.id) if isinstance(verdict, KeyReused) else verdict


def _report(records: Sequence[LogRecord], answers: list[Answer], bus: Bus) -> list[Answer]:
    """Publish a refused request; if that fails, it is redelivered and refused then."""
    try:
        for record, answer in zip(records, answers, strict=True):
            if isinstance(answer, Refusal):
                bus.send_refused(record, answer)
        bus.flush()
    except (StoreUnavailable, Unpublishable) as error:
        return [NotNow(str(error)) if isinstance(one, Refusal) else one for one in answers]
    return answers
