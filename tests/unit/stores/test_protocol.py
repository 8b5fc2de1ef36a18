"""Our Kafka encoding equals that of another client, which can read it."""

import json
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskmill.stores.kafka.login import iam_request
from taskmill.stores.kafka.protocol import Author, batch_of

with warnings.catch_warnings():
    # kafka-python reads its own files in a way that Python 3.11 and 3.12 call deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.net.sasl.msk import AwsMskIamClient
    from kafka.record.memory_records import MemoryRecords

VALUES = st.lists(st.binary(max_size=300), min_size=1, max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=200)), max_size=3)


@given(values=VALUES, headers=HEADERS, sequence=st.integers(0, 2**33))
def test_a_batch_is_read_by_another_client_as_it_was_meant(values, headers, sequence):
    octets = batch_of(values, headers, author=Author(7, 2), sequence=sequence)
    records = MemoryRecords(octets)
    batch = records.next_batch()
    assert batch.validate_crc()
    assert (batch.producer_id, batch.producer_epoch) == (7, 2)
    assert batch.base_sequence == sequence % 2**31
    assert [(one.offset, one.value, one.headers) for one in batch] == [
        (offset, value, headers) for offset, value in enumerate(values)
    ]
    assert not records.has_next()


@pytest.mark.parametrize("token", [None, "a/session+token=="])
def test_the_wish_of_iam_is_signed_as_another_client_signs_it(token, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    if token is None:
        monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    else:
        monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    host = "b-1.example.kafka.eu-central-1.amazonaws.com"
    wish = json.loads(iam_request(host))
    other = AwsMskIamClient(host, "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", "eu-central-1", token)
    other.timestamp, other.datestamp = wish["x-amz-date"], wish["x-amz-date"][:8]
    expected = json.loads(other.first_message()) | {"user-agent": "taskmill"}
    assert wish == expected
