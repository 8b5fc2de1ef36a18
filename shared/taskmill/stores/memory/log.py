"""The log in memory: what was sent, and which part of it is flushed."""

from collections.abc import Iterable, Mapping, Sequence

from taskmill.core import codec, topics
from taskmill.core.codec import RawEnvelope
from taskmill.core.errors import StoreUnavailable, Unpublishable
from taskmill.core.facts import Fact, TaskDied
from taskmill.core.log import DEAD_LETTER, LogRecord, Position, Reach, exiled, refused
from taskmill.core.ports import Clock
from taskmill.core.refusal import Refusal
from taskmill.core.task import Envelope, Millis
from taskmill.core.topics import Reader
from taskmill.core.wake_up import WakeUp

STORE = "Kafka"
LARGEST_RECORD = 2 * 1024 * 1024


class MemoryLog:
    """A bus and its log, with one partition per topic. While `is_away`, it is unavailable."""

    def __init__(self, clock: Clock) -> None:
        self.is_away = False
        self.is_known_away = False
        self.is_doubted = False
        """It failed some time ago: the next request is a trial."""
        self._clock = clock
        self._sent: list[tuple[str, bytes, Mapping[str, bytes]]] = []
        self.drops = 0
        self._log: dict[str, list[LogRecord]] = {}
        self._committed: dict[Reader, int] = {}

    def is_shut(self) -> bool:
        return self.is_known_away

    def is_in_doubt(self) -> bool:
        return self.is_known_away or self.is_doubted

    def answers(self) -> bool:
        self.is_doubted = self.is_away
        return not (self.is_away or self.is_known_away)

    def send_pending(self, envelopes: Sequence[Envelope | RawEnvelope]) -> None:
        self._send(topics.PENDING, codec.batches_of_tasks(envelopes))

    def send_wake_ups(self, wake_ups: Sequence[WakeUp]) -> None:
        for one in wake_ups:
            self._send(topics.worker(one.type), [codec.WAKE_UP])

    def send_facts(self, facts: Sequence[Fact]) -> None:
        self._send(topics.EVENTS, codec.batches_of_facts(facts))
        dead = [fact for fact in facts if isinstance(fact, TaskDied)]
        self._send(topics.DLQ, codec.batches_of_facts(dead), DEAD_LETTER)

    def send_batch(self, topic: str, value: bytes) -> None:
        self._send(topic, [value])

    def send_undecodable(self, record: LogRecord, reason: str) -> None:
        value, headers = exiled(record, reason)
        self._send(topics.DLQ, [value], headers)

    def send_refused(self, record: LogRecord, refusal: Refusal) -> None:
        value, headers = refused(record, refusal)
        self._send(topics.DLQ, [value], headers)

    def _send(
        self, topic: str, values: Iterable[bytes], headers: Mapping[str, bytes] | None = None
    ) -> None:
        self._sent.extend((topic, value, headers or {}) for value in values)

    def flush(self) -> None:
        if self.is_away and self._sent:
            self.drop()
            raise StoreUnavailable(STORE, "it is set to be unavailable")
        sent, self._sent = self._sent, []
        for topic, value, headers in sent:
            if len(value) > LARGEST_RECORD:
                self.drop()
                raise Unpublishable(STORE, f"a record has {len(value)} bytes")
            line = self._log.setdefault(topic, [])
            position = Position(topic, 0, len(line))
            now = Millis(self._clock())
            line.append(LogRecord(position=position, at_ms=now, value=value, headers=headers))

    def is_flushed(self) -> bool:
        self.flush()
        return True

    def drop(self) -> None:
        """Lose what is not flushed, as each failure does."""
        self._sent = []
        self.drops += 1

    def ends(self) -> Mapping[tuple[str, int], int]:
        if self.is_away:
            raise StoreUnavailable(STORE, "it is set to be unavailable")
        return {
            (topic, 0): len(self._log.get(topic, ())) for topic in (topics.PENDING, topics.EVENTS)
        }

    def reach(self, readers: Sequence[Reader]) -> Mapping[tuple[Reader, int], Reach]:
        if self.is_away:
            raise StoreUnavailable(STORE, "it is set to be unavailable")
        return {
            (one, 0): Reach(0, len(self._log[one.topic]), self._committed.get(one))
            for one in readers
            if one.topic in self._log
        }

    def commit(self, reader: Reader, offset: int) -> None:
        self._committed[reader] = offset

    def position(self, reader: Reader) -> int:
        """Return the number of the next record for a reader."""
        return self._committed.get(reader, 0)

    def records(self, topic: str, *, since: int = 0) -> list[LogRecord]:
        """Return the contents of the log: only flushed records."""
        return self._log.get(topic, [])[since:]

    def tasks(self, topic: str) -> list[Envelope]:
        return [task for record in self.records(topic) for task in codec.open_tasks(record.value)]

    def facts(self) -> list[Fact]:
        records = self.records(topics.EVENTS)
        return [fact for record in records for fact in codec.open_facts(record.value)]
