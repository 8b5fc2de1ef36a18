"""Reads the log of the shared system, past every group."""

from confluent_kafka import Consumer, Producer, TopicPartition


def _consumer(stack, group="nobody"):
    brokers = stack.ground.settings["TASKMILL_KAFKA_BROKERS"]
    return Consumer({"bootstrap.servers": brokers, "group.id": group, "enable.auto.commit": False})


def _places(consumer, topic):
    found = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    return [TopicPartition(topic, number) for number in sorted(found)]


def ends(stack, topic):
    """Return where each partition of a topic ends now."""
    consumer = _consumer(stack)
    try:
        return {
            place.partition: consumer.get_watermark_offsets(place, timeout=10)[1]
            for place in _places(consumer, topic)
        }
    finally:
        consumer.close()


def has_read_all(stack, reader):
    """Say whether a reader has committed its whole topic; it joins no group to ask that."""
    consumer = _consumer(stack, reader.group)
    try:
        for place in consumer.committed(_places(consumer, reader.topic), timeout=10):
            first, end = consumer.get_watermark_offsets(place, timeout=10)
            if max(first, place.offset) < end:
                return False
        return True
    finally:
        consumer.close()


def values_since(stack, topic, begins):
    """Return the values of a topic that stand behind these places."""
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


def append_all(stack, told):
    """Write many records, as (topic, value), each to any partition."""
    brokers = stack.ground.settings["TASKMILL_KAFKA_BROKERS"]
    producer = Producer({"bootstrap.servers": brokers, "acks": "all"})
    for topic, value in told:
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
