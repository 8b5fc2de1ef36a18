"""An event can carry any record of a topic."""

import json
from dataclasses import dataclass

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME

from taskmill_local.mappings.event import encode


@dataclass(frozen=True)
class Fetched:
    """A message with unreadable headers, such as a name that is not UTF-8."""

    complaint: Exception

    def topic(self):
        return "tasks.pending"

    def partition(self):
        return 3

    def offset(self):
        return 7

    def timestamp(self):
        return TIMESTAMP_CREATE_TIME, 1

    def key(self):
        return None

    def value(self):
        return b"odd"

    def headers(self):
        raise self.complaint


@pytest.mark.parametrize(
    "complaint",
    [
        SystemError("returned a result with an exception set"),
        UnicodeDecodeError("utf-8", b"", 0, 1, ""),
    ],
)
def test_a_record_whose_headers_have_no_readable_name_comes_without_them(complaint):
    record = encode(Fetched(complaint))
    answer = json.loads(record.json)
    assert (answer["value"], answer["headers"], answer["offset"]) == ("b2Rk", [], 7)
