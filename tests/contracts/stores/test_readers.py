"""Positions of log readers, in memory and on a real broker."""

import gc
import itertools
import logging
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.topics import Reader
from taskmill.core.wake_up import WakeUp
from taskmill.stores.kafka.bus import KafkaBus
from taskmill.stores.kafka.client import API_VERSION
from taskmill.stores.kafka.readers import KafkaReaders
from taskmill.stores.memory.log import MemoryLog
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.java import find_java
from taskmill_local.stores.kafka import start_kafka
from taskmill_local.stores.ports import free_ports
from taskmill_local.stores.server import Server
from taskmill_local.stores.topics import TopicPlan, create_topics
from tests.builders import now_ms
from tests.faults.proxy import Proxy
from tests.waiting import eventually

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def collected():
    """Collect the sockets that kafka-python leaves open, while their warning is expected."""
    yield
    gc.collect()


class InMemory:
    def __init__(self):
        self.bus = MemoryLog(now_ms)
        self.reach = self.bus.reach
        self.commit = self.bus.commit

    def close(self):
        pass


class InKafka:
    def __init__(self, brokers):
        self.bus = KafkaBus(brokers)
        self._readers = KafkaReaders(brokers)
        self.reach = self._readers.reach
        self._brokers = brokers

    def commit(self, reader, offset):
        consumer = KafkaConsumer(
            bootstrap_servers=self._brokers, api_version=API_VERSION, group_id=reader.group
        )
        place = TopicPartition(reader.topic, 0)
        consumer.assign([place])
        consumer.commit({place: OffsetAndMetadata(offset, "", -1)})
        consumer.close(autocommit=False)

    def close(self):
        self._readers.close()
        self.bus.close()


@pytest.fixture(params=["memory", "kafka"])
def log(request):
    log = InMemory() if request.param == "memory" else InKafka(request.getfixturevalue("brokers"))
    yield log
    log.close()


def answers(log, reader):
    """Return whether the broker has a group coordinator yet: the first request creates it."""
    try:
        return log.reach([reader])
    except StoreUnavailable:
        return False


@pytest.fixture
def reader(log, request):
    """Return a reader of a separate topic."""
    name = f"readers{next(_numbers)}"
    if isinstance(log, InKafka):
        plans = {topics.worker(name): TopicPlan(partitions=1, configs={})}
        create_topics(request.getfixturevalue("brokers"), plans)
    reader = Reader(f"worker-{name}", topics.worker(name))
    if isinstance(log, InKafka):
        eventually(lambda: answers(log, reader), within=30, reason="the broker knows groups")
    return reader


def fill(log, reader, records):
    for _ in range(records):
        log.bus.send_wake_ups([WakeUp(topics.type_of(reader.topic), 0)])
        log.bus.flush()


def lag(log, *readers):
    return {reader.name: reach.lag for (reader, _), reach in log.reach(readers).items()}


def test_a_reader_that_never_committed_has_all_before_it(log, reader):
    fill(log, reader, 3)
    assert lag(log, reader) == {reader.name: 3}
    assert log.reach([reader])[reader, 0].committed is None


def test_what_is_committed_waits_no_more(log, reader):
    fill(log, reader, 3)
    log.commit(reader, 2)
    assert lag(log, reader) == {reader.name: 1}
    fill(log, reader, 2)
    assert lag(log, reader) == {reader.name: 3}


def test_each_reader_of_a_topic_comes_forward_alone(log, reader):
    other = Reader(f"{reader.name}-other", reader.topic)
    fill(log, reader, 3)
    log.commit(reader, 3)
    assert lag(log, reader, other) == {reader.name: 0, other.name: 3}


def test_a_topic_that_is_not_there_has_no_partitions(log):
    assert log.reach([Reader("worker-nobody", topics.worker("nobody"))]) == {}


def test_no_broker_is_an_unavailable_store(caplog):
    caplog.set_level(logging.CRITICAL)  # a record would hold the error, the client and its sockets
    (port,) = free_ports(1)
    assert "Kafka" in complaint(f"127.0.0.1:{port}")


@pytest.fixture
def cut_lines(runner, stores_home):
    """Return the address of a broker whose connections are cut every few milliseconds."""
    home = stores_home.with_name("cut")
    prepare_home(home)
    server, is_over, chance = Server("Kafka", home), Event(), random.Random(7)
    with Proxy() as proxy, ThreadPoolExecutor(1) as others:
        try:
            brokers = runner.run(start_kafka(server, find_java(), front=proxy.port))
            proxy.upstream = int(brokers.rpartition(":")[2])
            mine = f"127.0.0.1:{proxy.port}"
            plans = (topics.PENDING, topics.EVENTS, topics.DLQ)
            create_topics(mine, dict.fromkeys(plans, TopicPlan(partitions=2, configs={})))

            def cut():
                while not is_over.wait(chance.uniform(0.001, 0.03)):
                    proxy.reset()

            cutting = others.submit(cut)
            yield mine
        finally:
            is_over.set()
            cutting.result()
            runner.run(server.stop(timedelta(seconds=3)))


def test_a_line_that_is_cut_in_a_question_is_an_unavailable_store(cut_lines, caplog):
    """The client itself then knows of some partitions, and not of others."""
    caplog.set_level(logging.CRITICAL)
    readers = KafkaReaders(cut_lines)
    answer = Counter(is_start_reported(readers) for _ in range(60))
    readers.close()
    assert answer.keys() == {True, False}


def is_start_reported(readers):
    try:
        return len(readers.reach(topics.RECORDERS)) > 0
    except StoreUnavailable:
        return False


def complaint(brokers):
    """Return the raised error as text: the error itself would keep the sockets alive."""
    try:
        KafkaReaders(brokers).reach(topics.readers([]))
    except StoreUnavailable as error:
        return str(error)
    return ""
