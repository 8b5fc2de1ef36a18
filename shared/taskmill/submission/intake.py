"""Takes the requests that stand in `tasks.inbox`, each once however often its record comes."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Protocol, TypeAlias

from taskmill.core.errors import StoreUnavailable
from taskmill.core.log import LogRecord
from taskmill.core.ports import Bus
from taskmill.core.refusal import Refusal, RefusalKind, key_reused
from taskmill.core.task import LAST_MOMENT, Envelope, Millis
from taskmill.submission.ports import Admission
from taskmill.submission.submission import InLog, KeyReused, NotNow, Submission
from taskmill.submission.take import take

KEY_HEADER = "idempotency-key"

Answer: TypeAlias = InLog | Refusal | NotNow


class Read(Protocol):
    """Reads and checks a request, as it was when it was asked."""

    def __call__(
        self, octets: bytes, header_key: str | None, *, now: Millis
    ) -> Submission | Refusal: ...


def take_records(
    records: Sequence[LogRecord], read: Read, *, admission: Admission, bus: Bus
) -> list[Answer]:
    """Return what became of each record; what is refused stands in `tasks.dlq` with the reason."""
    opened = [_opened(record, read) for record in records]
    envelopes = [one for one in opened if isinstance(one, Envelope)]
    taken = iter(take(envelopes, admission=admission, bus=bus))
    answers: list[Answer] = [
        _answer(next(taken)) if isinstance(one, Envelope) else one for one in opened
    ]
    return _tell(records, answers, bus)


def _opened(record: LogRecord, read: Read) -> Envelope | Refusal | NotNow:
    at = Millis(min(max(record.at_ms, 0), LAST_MOMENT))
    submission = read(record.value or b"", _key(record), now=at)
    if not isinstance(submission, Refusal):
        return submission.as_envelope(now=at, entropy=_word(record))
    if submission.kind is RefusalKind.UNAVAILABLE:
        return NotNow(submission.detail)
    return submission


def _key(record: LogRecord) -> str | None:
    """Return the key of the headers: their names are written as over HTTP, in any case."""
    found = [octets for name, octets in record.headers.items() if name.lower() == KEY_HEADER]
    return b",".join(found).decode("latin-1") if found else None


def _word(record: LogRecord) -> bytes:
    """Name a record by its place, so that it is the same submission when it comes again.

    The moment tells it from one that stood there before its topic was made anew.
    """
    at = record.position
    return sha256(f"{at.topic} {at.partition} {at.offset} {record.at_ms}".encode()).digest()[:16]


def _answer(taken: InLog | KeyReused | NotNow) -> Answer:
    return key_reused(taken.id) if isinstance(taken, KeyReused) else taken


def _tell(records: Sequence[LogRecord], answers: list[Answer], bus: Bus) -> list[Answer]:
    """Send away what is refused; when that fails, it is to come again and be refused then."""
    try:
        for record, answer in zip(records, answers, strict=True):
            if isinstance(answer, Refusal):
                bus.send_refused(record, answer)
        bus.flush()
    except StoreUnavailable as error:
        return [NotNow(str(error)) if isinstance(one, Refusal) else one for one in answers]
    return answers
