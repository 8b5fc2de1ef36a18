"""Problems with a mapping's topic are reported in one sentence."""

import pytest
from confluent_kafka import KafkaError

from taskmill_local.mappings.client import sentence_for


@pytest.mark.parametrize(
    "code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED]
)
def test_a_mapping_that_may_not_read_says_so(code):
    assert sentence_for(KafkaError(code), topic="tasks.pending", brokers="b:9092") == (
        "Kafka denies the mapping of topic tasks.pending read access; it continues automatically"
        " once access is granted."
    )


def test_what_the_client_mends_by_itself_is_not_told():
    error = KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)
    assert sentence_for(error, topic="tasks.pending", brokers="b:9092") is None
