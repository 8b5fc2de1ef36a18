"""Reads the log of the shared system without any consumer group."""

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec


def _consumer(stack):
    brokers = stack.ground.settings["TASKMILL_KAFKA_BROKERS"]
    return Consumer(
        {"bootstrap.servers": brokers, "group.id": "nobody", "enable.auto.commit": False}
    )


def ends(stack, topic):
    """Return the end of each partition of a topic."""
    consumer = _consumer(stack)
    try:
        found = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        places = [TopicPartition(topic, number) for number in sorted(found)]
        return {
            place.partition: consumer.get_watermark_offsets(place, timeout=10)[1]
            for place in places
        }
    finally:
        consumer.close()


class Readers:
    """Positions of the log's readers, read without the code under test."""

    def __init__(self, stack):
        self._admin = AdminClient(
            {"bootstrap.servers": stack.ground.settings["TASKMILL_KAFKA_BROKERS"], "log_level": 0}
        )

    def has_read_all(self, reader):
        """Return whether a reader is known to have committed its whole topic."""
        try:
            return self._has_read_all(reader)
        except KafkaException:  # a broker that was paused must recover first
            return False

    def _has_read_all(self, reader):
        found = self._admin.list_topics(reader.topic, timeout=10).topics[reader.topic].partitions
        places = [TopicPartition(reader.topic, number) for number in found]
        asked = [ConsumerGroupTopicPartitions(reader.group, places)]
        (committed,) = self._admin.list_consumer_group_offsets(asked).values()
        ends = self._admin.list_offsets({place: OffsetSpec.latest() for place in places})
        return all(
            max(0, place.offset)
            >= ends[TopicPartition(reader.topic, place.partition)].result().offset
            for place in committed.result().topic_partitions
        )


def values_since(stack, topic, begins):
    """Return the values of a topic after these positions."""
    wanted = ends(stack, topic)
    consumer = _consumer(stack)
    consumer.assign([TopicPartition(topic, number, offset) for number, offset in begins.items()])
    reached, values = dict(begins), []
    while any(reached[number] < end for number, end in wanted.items()):
        for message in consumer.consume(1000, timeout=1):
            assert message.error() is None, message.error()
            reached[message.partition()] = message.offset() + 1
            values.append(message.value())
    consumer.close()
    return values


def append_all(stack, answer):
    """Write many records, as (topic, value), each to any partition."""
    brokers = stack.ground.settings["TASKMILL_KAFKA_BROKERS"]
    producer = Producer({"bootstrap.servers": brokers, "acks": "all"})
    for topic, value in answer:
        producer.produce(topic, value=value)
    assert producer.flush(30) == 0


def append(stack, topic, value):
    append_all(stack, [(topic, value)])


def append_everywhere(stack, topic, value):
    """Write a record to each partition of a topic; return how many."""
    brokers = stack.ground.settings["TASKMILL_KAFKA_BROKERS"]
    producer = Producer({"bootstrap.servers": brokers, "acks": "all"})
    partitions = ends(stack, topic)
    for number in partitions:
        producer.produce(topic, value=value, partition=number)
    assert producer.flush(30) == 0
    return len(partitions)
