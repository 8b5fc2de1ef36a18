"""Sent records count once flushed, in memory and on a real broker."""

import base64
import gc
import json
import time
from datetime import timedelta
from functools import partial

import pytest
from kafka import KafkaConsumer, TopicPartition
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core import codec, topics
from taskmill.core.errors import NewerVersion, StoreUnavailable, Unpublishable
from taskmill.core.log import LARGEST_KEPT, is_dead_letter
from taskmill.core.refusal import invalid, malformed
from taskmill.core.wake_up import WakeUp
from taskmill.platform.kafka_event import failures, records_of
from taskmill.settings.access import KafkaAccess
from taskmill.stores.guard import Guard
from taskmill.stores.kafka.bus import KafkaBus
from taskmill.stores.kafka.cluster import Cluster
from taskmill.stores.kafka.ends import KafkaLogEnds
from taskmill.stores.kafka.producer import Producer
from taskmill.stores.memory.log import MemoryLog
from taskmill_local.stores.ports import free_ports
from tests.builders import (
    ECHO,
    a_fresh_envelope,
    a_log_record,
    a_position,
    died,
    now_ms,
    started,
    succeeded,
)
from tests.faults.proxy import Proxy
from tests.waiting import eventually

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


class InKafka:
    """A real bus, and its log from the start of the test on."""

    def __init__(self, brokers):
        self.bus = KafkaBus(brokers)
        self._ends = KafkaLogEnds(brokers)
        self.ends = self._ends.ends
        self._consumer = KafkaConsumer(bootstrap_servers=brokers, group_id=None)
        self._begins = {name: self._consumer.end_offsets(self._places(name)) for name in ALL}
        self.partitions = len(self._places(topics.worker(ECHO)))

    def _places(self, topic):
        numbers = self._consumer.partitions_for_topic(topic)
        return [TopicPartition(topic, number) for number in sorted(numbers)]

    def records(self, topic):
        """Return the new records of a topic, as a mapping would deliver them."""
        places = self._places(topic)
        ends = self._consumer.end_offsets(places)
        self._consumer.assign(places)
        for place in places:
            self._consumer.seek(place, self._begins[topic][place])
        wanted = sum(ends[place] - self._begins[topic][place] for place in places)
        found = []
        while len(found) < wanted:
            polled = self._consumer.poll(timeout_ms=1000)
            found += [record for records in polled.values() for record in records]
        return records_of({"records": {"all": [in_event(record) for record in found]}})

    def close(self):
        for client in (self._consumer, self.bus, self._ends):
            client.close()


def in_event(record):
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "value": base64.b64encode(record.value).decode(),
        "headers": [{name: list(octets)} for name, octets in record.headers],
    }


class InMemory:
    def __init__(self):
        self.bus = MemoryLog(now_ms)
        self.ends = self.bus.ends
        self.records = self.bus.records
        self.partitions = 1


OF_WORKERS = (topics.worker(ECHO), "tasks.worker.other")
ALL = (topics.PENDING, topics.EVENTS, topics.DLQ, *OF_WORKERS)


@pytest.fixture(autouse=True)
def collected(caplog):
    """Collect the sockets that kafka-python leaves open, while their warning is expected."""
    yield
    caplog.get_records("call").clear()  # its log lines hold on to them
    gc.collect()


@pytest.fixture(params=["memory", "kafka"])
def log(request):
    if request.param == "memory":
        yield InMemory()
        return
    log = InKafka(request.getfixturevalue("brokers"))
    yield log
    log.close()


def tasks_at(log, topic):
    return [task for record in log.records(topic) for task in codec.open_tasks(record.value)]


def test_submissions_stand_in_the_pending_topic(log):
    task = a_fresh_envelope(payload=Raw(b'{"n": 1.10, "s": "\xe2\x98\x83"}'))
    log.bus.send_pending([task])
    log.bus.flush()
    assert tasks_at(log, topics.PENDING) == [task]


def test_a_wake_up_stands_in_the_topic_of_its_type_and_has_no_content(log):
    log.bus.send_wake_ups([WakeUp("other", 0), WakeUp(ECHO, 0), WakeUp("other", 0)])
    log.bus.flush()
    values = {name: [one.value for one in log.records(name)] for name in OF_WORKERS}
    wake_up = codec.WAKE_UP
    assert values == {"tasks.worker.echo": [wake_up], "tasks.worker.other": [wake_up, wake_up]}
    with pytest.raises(NewerVersion):  # so a worker of the version before does not lose it
        codec.open_tasks(wake_up)


def test_a_wake_up_stands_in_its_partition_modulo_their_number(log):
    """A lane may count more partitions than a topic has: they are added to the topic later."""
    sent = (0, 1, log.partitions + 1, 2 * log.partitions - 1)
    for partition in sent:
        log.bus.send_wake_ups([WakeUp(ECHO, partition)])
    log.bus.flush()
    found = [record.position.partition for record in log.records(topics.worker(ECHO))]
    assert sorted(found) == sorted(partition % log.partitions for partition in sent)


def test_facts_stand_in_the_topic_of_events(log):
    task = a_fresh_envelope()
    facts = (started(task), succeeded(task))
    log.bus.send_facts(facts)
    log.bus.flush()
    (record,) = log.records(topics.EVENTS)
    assert codec.open_facts(record.value) == facts


def test_a_death_stands_beside_what_was_never_a_task_and_is_told_from_it(log):
    task = a_fresh_envelope()
    log.bus.send_facts([started(task), died(task)])
    log.bus.send_facts([succeeded(task)])
    log.bus.flush()
    (copy,) = log.records(topics.DLQ)
    assert is_dead_letter(copy)
    assert codec.open_facts(copy.value) == (died(task),)
    log.bus.send_undecodable(a_log_record(b"x"), "no parcel")
    log.bus.flush()
    assert [is_dead_letter(record) for record in log.records(topics.DLQ)] == [True, False]


@pytest.mark.parametrize("value", [b"\x00\xff not a parcel", b"", None])
def test_what_cannot_be_read_is_kept_with_its_place_and_the_reason(log, value):
    there = a_log_record(value, a_position(7, partition=3), kind="dead_letter")
    log.bus.send_undecodable(there, "not a ☃")
    log.bus.flush()
    (record,) = log.records(topics.DLQ)
    assert record.value == (value or b"")
    assert dict(record.headers) == {
        "reason": "not a ☃".encode(),
        "topic": b"tasks.worker.echo",
        "partition": b"3",
        "offset": b"7",
        "headers": b'{"kind":"ZGVhZF9sZXR0ZXI="}',
    }
    assert not is_dead_letter(record)


def test_a_request_that_is_refused_is_kept_with_the_code_the_place_and_the_words(log):
    there = a_log_record(b"{}", a_position(7, topic=topics.INBOX), who="me")
    log.bus.send_refused(there, invalid("invalid_request", "type is missing ☃", "/type"))
    log.bus.send_refused(there, malformed("no JSON"))
    log.bus.flush()
    first, second = log.records(topics.DLQ)
    assert (first.value, is_dead_letter(first)) == (b"{}", False)
    assert dict(first.headers) == {
        "reason": b"invalid_request",
        "field": b"/type",
        "detail": "type is missing ☃".encode(),
        "topic": b"tasks.inbox",
        "partition": b"0",
        "offset": b"7",
        "headers": b'{"who":"bWU="}',
    }
    assert "field" not in second.headers


def test_of_a_refused_request_that_is_too_large_as_much_is_kept_as_there_is_room_for(log):
    words = "☃" * 2_000
    there = a_log_record(b"x" * 2_090_000, who="x" * 40_000)
    log.bus.send_refused(there, invalid("invalid_request", words, f"/{words}"))
    log.bus.flush()
    (record,) = log.records(topics.DLQ)
    assert len(record.value) == LARGEST_KEPT
    assert record.headers["detail"].endswith(b"; the first 2000000 of its 2090000 bytes are kept")


def test_of_what_is_too_large_as_much_is_kept_as_there_is_room_for(log):
    headers = {f"{'h' * 250} {number}": "x" * 8_000 for number in range(20)}
    there = a_log_record(b"x" * 3_000_000, **headers)
    log.bus.send_undecodable(there, "no parcel")
    log.bus.flush()
    (record,) = log.records(topics.DLQ)
    assert len(record.value) == LARGEST_KEPT
    kept = b"no parcel; the first 2000000 of its 3000000 bytes are kept"
    assert record.headers["reason"] == kept
    assert len(json.loads(record.headers["headers"])) == 2


def test_many_go_in_few_parcels(log):
    sent = [a_fresh_envelope() for _ in range(250)]
    log.bus.send_pending(sent)
    log.bus.flush()
    assert len(log.records(topics.PENDING)) == 3
    assert {task.id for task in tasks_at(log, topics.PENDING)} == {task.id for task in sent}


def test_the_largest_tasks_fit_into_records(log):
    sent = [a_fresh_envelope(payload=Raw(b'"%b"' % (b"x" * 262_142))) for _ in range(10)]
    log.bus.send_pending(sent)
    log.bus.flush()
    assert len(tasks_at(log, topics.PENDING)) == 10


def test_a_record_that_is_too_large_is_refused_as_such_and_stops_nobody_else(log):
    too_large = a_fresh_envelope(payload=Raw(b'"%b"' % (b"x" * 2_200_000)))

    def send():
        log.bus.send_pending([too_large])
        log.bus.flush()

    with pytest.raises(Unpublishable, match="Kafka refuses a record: ") as caught:
        send()
    assert not isinstance(caught.value, StoreUnavailable), "asking again will not help"
    good = a_fresh_envelope()
    log.bus.send_pending([good])
    log.bus.flush()
    assert tasks_at(log, topics.PENDING) == [good]


def test_a_sealed_envelope_is_sent_as_it_is(log):
    raw = codec.encode(a_fresh_envelope())[:-1] + b',"only_newer": 1.10}'
    log.bus.send_pending([codec.as_raw(raw)])
    log.bus.flush()
    (record,) = log.records(topics.PENDING)
    assert raw in record.value


def test_flushing_nothing_is_no_failure(log):
    log.bus.send_facts([])
    log.bus.flush()
    assert log.bus.is_flushed()


def test_a_bus_is_flushed_when_what_was_sent_stands_in_the_log(log):
    task = a_fresh_envelope()
    log.bus.send_pending([task])
    eventually(log.bus.is_flushed, within=10, reason="the broker acknowledges it")
    assert tasks_at(log, topics.PENDING) == [task]


def test_what_a_failure_lost_is_not_on_its_way(log):
    """Whoever sent it may not have met the failure: the count says that there was one."""
    log.bus.send_facts([started(a_fresh_envelope())])
    before = log.bus.drops

    def fail():
        log.bus.send_batch(topics.PENDING, b"x" * 2_200_000)
        log.bus.flush()

    with pytest.raises(Unpublishable):
        fail()
    assert log.bus.is_flushed()
    assert log.bus.drops == before + 1


def test_the_ends_tell_how_far_the_log_reaches(log):
    before = sum(log.ends().values())
    log.bus.send_pending([a_fresh_envelope()])
    log.bus.send_facts([started(a_fresh_envelope())])
    log.bus.flush()
    assert sum(log.ends().values()) == before + 2
    assert {topic for topic, _ in log.ends()} == {topics.PENDING, topics.EVENTS}


def test_times_are_those_of_the_log(log):
    before = now_ms()
    log.bus.send_pending([a_fresh_envelope(created_at_ms=1)])
    log.bus.flush()
    (record,) = log.records(topics.PENDING)
    assert before <= record.at_ms <= now_ms() + 1


def test_a_broker_that_is_away_is_said_to_be():
    nowhere = f"127.0.0.1:{free_ports(1)[0]}"
    bus = KafkaBus(nowhere)
    ends = KafkaLogEnds(nowhere)
    with pytest.raises(StoreUnavailable, match="Kafka cannot be reached"):
        bus.send_pending([a_fresh_envelope()])
    with pytest.raises(StoreUnavailable, match="Kafka cannot be reached"):
        ends.ends()


def test_a_batch_whose_answer_was_lost_stands_once(brokers):
    until = time.monotonic() + 60
    log, cluster = InKafka(brokers), Cluster(KafkaAccess(brokers=brokers), until=until)
    producer = Producer(cluster, until=until)
    for number in range(20):
        producer.send(topics.EVENTS, [b"%d" % number], until=until)
        cluster.close()
        producer.flush()
    found = [record.value for record in log.records(topics.EVENTS)]
    assert sorted(found, key=int) == [b"%d" % number for number in range(20)]
    cluster.close()
    log.close()


def test_a_producer_that_was_fenced_says_so_and_is_followed_by_another(brokers):
    log, until = InKafka(brokers), time.monotonic() + 60
    log.bus.send_pending([a_fresh_envelope() for _ in range(700)])  # to every partition
    log.bus.flush()
    own = log.bus._producer  # noqa: SLF001 - whom the broker is to take for an older one of itself
    heir = Producer(Cluster(KafkaAccess(brokers=brokers), until=until), until=until)
    heir._author = replace(own._author, epoch=own._author.epoch + 1)  # noqa: SLF001 - the same
    heir.send(topics.PENDING, [b"%d" % n for n in range(6)], until=until)
    heir.flush()
    heir._cluster.close()  # noqa: SLF001 - the same
    log.bus.send_pending([a_fresh_envelope()])
    with pytest.raises(StoreUnavailable, match="error 47"):
        log.bus.flush()
    log.bus.send_pending([a_fresh_envelope()])
    log.bus.flush()
    log.close()


def test_a_topic_that_does_not_exist_is_named(brokers):
    bus = KafkaBus(brokers)
    with pytest.raises(StoreUnavailable, match=r"the topic tasks\.worker\.nobody does not exist"):
        bus.send_wake_ups([WakeUp("nobody", 0)])


class _Silence:
    """Makes a proxy forward a number of replies, and none after them."""

    def __init__(self, weather, *, behind):
        self._weather, self._left = weather, behind

    def asked(self, part):
        """Send every request."""

    def is_cut_at(self, _part):
        self._left -= 1
        self._weather.is_black_hole = not self._left
        return False


@pytest.fixture
def soon_silent(brokers):
    """Return a bus whose broker sends the producer id and the leaders, and then nothing more."""
    with Proxy(upstream=int(brokers.rpartition(":")[2])) as proxy:
        proxy.weather.cuts = partial(_Silence, proxy.weather, behind=2)
        bus = KafkaBus(f"127.0.0.1:{proxy.port}", patience=timedelta(seconds=2))
        yield bus
        bus.close()
        proxy.weather.is_black_hole = False


def test_a_broker_that_fell_silent_behind_its_answer_has_answered(soon_silent):
    with pytest.raises(StoreUnavailable, match="the topic nowhere does not exist"):
        soon_silent.send_batch("nowhere", b"x")


def test_a_broker_that_fell_silent_behind_its_refusal_has_refused(soon_silent):
    soon_silent.send_batch(topics.DLQ, b"x")
    soon_silent.flush()
    sequences = soon_silent._producer._sequences  # noqa: SLF001 - what lies beyond a gap may pass
    sequences.update(dict.fromkeys(((topics.DLQ, number) for number in range(100)), 7))
    soon_silent.send_batch(topics.DLQ, b"x")
    with pytest.raises(StoreUnavailable, match="error 45"):
        soon_silent.flush()


class _Through(Cluster):
    """A cluster whose leaders are asked through a proxy."""

    def __init__(self, brokers, port, *, until):
        self._front = ("127.0.0.1", port)
        super().__init__(KafkaAccess(brokers=brokers), until=until)

    def connection(self, _address, *, until):
        return super().connection(self._front, until=until)


@pytest.fixture
def fronted(brokers):
    """Return a producer that has sent something, and the weather between it and its broker."""
    until = time.monotonic() + 60
    with Proxy(upstream=int(brokers.rpartition(":")[2])) as proxy:
        cluster = _Through(brokers, proxy.port, until=until)
        producer = Producer(cluster, until=until)
        producer.send(topics.EVENTS, [b"warm"], until=until)
        assert producer.flush()
        yield producer, proxy.weather
        proxy.weather.is_black_hole = False
        cluster.close()


def test_a_look_waits_for_no_acknowledgement(fronted):
    producer, weather = fronted
    weather.is_black_hole = True
    before = time.monotonic()
    producer.send(topics.EVENTS, [b"x"], until=before + 30)
    assert not producer.flush(until=before)
    assert time.monotonic() - before < 5
    weather.is_black_hole = False
    eventually(
        lambda: producer.flush(until=time.monotonic()), within=30, reason="the broker answers"
    )


class _Leaderless(Cluster):
    """A cluster whose leaders are known, but refuse every connection after a while."""

    is_refusing = False

    def leaders(self, topic, *, until):
        return self._known if self.is_refusing else super().leaders(topic, until=until)

    def refuse(self, topic):
        self._known = self.leaders(topic, until=time.monotonic() + 30)
        self.is_refusing = True
        self.close()

    def connection(self, address, *, until):
        if self.is_refusing:
            raise ConnectionRefusedError
        return super().connection(address, until=until)


def test_a_look_waits_for_no_leader(brokers):
    """A worker looks while tasks run: their leases must not lapse meanwhile."""
    before = time.monotonic()
    cluster = _Leaderless(KafkaAccess(brokers=brokers), until=before + 60)
    producer = Producer(cluster, until=before + 60)
    producer.send(topics.EVENTS, [b"warm"], until=before + 60)
    producer.flush()
    cluster.refuse(topics.EVENTS)
    producer.send(topics.EVENTS, [b"x"], until=time.monotonic() + 30)
    before = time.monotonic()
    assert not producer.flush(until=before)
    assert time.monotonic() - before < 10
    cluster.is_refusing = False
    eventually(
        lambda: producer.flush(until=time.monotonic()), within=30, reason="the leader answers"
    )
    cluster.close()


def test_a_look_after_its_time_says_that_the_broker_is_away(fronted):
    producer, weather = fronted
    weather.is_black_hole = True
    soon = time.monotonic() + 0.5
    producer.send(topics.EVENTS, [b"x"], until=soon)
    eventually(lambda: time.monotonic() > soon, within=10, reason="its time is over")
    with pytest.raises(TimeoutError):
        producer.flush(until=time.monotonic())


def test_what_was_acknowledged_long_ago_is_no_failure(brokers):
    until = time.monotonic() + 60
    cluster = Cluster(KafkaAccess(brokers=brokers), until=until)
    producer = Producer(cluster, until=until)
    producer.send(topics.EVENTS, [b"warm"], until=until)
    producer.flush()
    soon = time.monotonic() + 5
    producer.send(topics.EVENTS, [b"x"], until=soon)
    eventually(lambda: time.monotonic() > soon, within=60, reason="its time is over")
    producer.flush()
    cluster.close()


def test_a_log_that_is_away_loses_what_was_sent():
    log = MemoryLog(now_ms)
    log.is_away = True
    for ask in (log.flush, log.is_flushed):
        log.send_pending([a_fresh_envelope()])
        with pytest.raises(StoreUnavailable):
            ask()
    log.is_away = False
    log.flush()
    assert log.records(topics.PENDING) == []


def test_the_partial_response_names_each_record_once():
    assert failures({a_position(8), a_position(7), a_position(7)}) == {
        "batchItemFailures": [
            {"itemIdentifier": {"partition": "tasks.worker.echo-0", "offset": 7}},
            {"itemIdentifier": {"partition": "tasks.worker.echo-0", "offset": 8}},
        ]
    }


def test_nobody_waits_twice_for_a_broker_that_is_away():
    nowhere = f"127.0.0.1:{free_ports(1)[0]}"
    guard = Guard("Kafka", tolerance=timedelta(), clock_ms=lambda: 0)
    patience = timedelta(seconds=2)
    bus = KafkaBus(nowhere, patience=patience, guard=guard)
    ends = KafkaLogEnds(nowhere, patience=patience, guard=guard)
    assert not bus.is_shut()
    with pytest.raises(StoreUnavailable, match="Kafka cannot be reached"):
        bus.send_pending([a_fresh_envelope()])
    assert bus.is_shut()
    for ask in (lambda: bus.send_pending([a_fresh_envelope()]), ends.ends):
        with pytest.raises(StoreUnavailable, match="did not respond a moment ago"):
            ask()


def test_a_broker_in_doubt_is_tried_without_sending_anything(brokers):
    clock = [0]
    guard = Guard("Kafka", tolerance=timedelta(), clock_ms=lambda: clock[0])
    bus = KafkaBus(brokers, patience=timedelta(seconds=5), guard=guard)
    assert not bus.is_in_doubt()
    guard.failed(-1)
    assert (bus.is_in_doubt(), bus.answers()) == (True, False), "it is shut"
    clock[0] += 1_000
    assert (bus.is_shut(), bus.is_in_doubt(), bus.answers()) == (False, True, True)
    assert not bus.is_in_doubt()
    bus.send_pending([a_fresh_envelope()])
    bus.flush()
    bus.close()


def test_a_broker_that_is_away_does_not_pass_its_trial():
    guard = Guard("Kafka", tolerance=timedelta(), clock_ms=lambda: 0)
    nowhere = f"127.0.0.1:{free_ports(1)[0]}"
    bus = KafkaBus(nowhere, patience=timedelta(seconds=2), guard=guard)
    assert not bus.answers()
    assert bus.is_shut()
