"""Ids: no two keys collide, UUIDs have their version, shards are even."""

import uuid
from collections import Counter

from hypothesis import assume, given
from hypothesis import strategies as st

from taskmill.core.task import fingerprint, keyed_id, shard_of, unkeyed_id
from tests.builders import NOW

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.tuples(words, words, words)


@given(names, names)
def test_no_two_keys_name_one_task(one, other):
    assume(one != other)
    assert keyed_id(*one) != keyed_id(*other)


def test_what_moves_from_one_part_into_the_next_makes_another_name():
    assert len({keyed_id("ab", "c", "d"), keyed_id("a", "bc", "d"), keyed_id("a", "b", "cd")}) == 3
    assert keyed_id("a", "", "b") != keyed_id("a", "b", "")


@given(names)
def test_a_key_always_names_the_same_uuid_of_version_8(name):
    task_id = keyed_id(*name)
    assert task_id == keyed_id(*name) == str(uuid.UUID(task_id))
    assert (uuid.UUID(task_id).version, uuid.UUID(task_id).variant) == (8, uuid.RFC_4122)


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=16))
def test_without_a_key_an_id_is_a_uuid_of_version_7_and_its_moment(now, entropy):
    number = uuid.UUID(unkeyed_id(now, entropy))
    assert (number.version, number.variant) == (7, uuid.RFC_4122)
    assert number.int >> 80 == now


def test_later_ids_are_larger():
    assert unkeyed_id(NOW, b"\xff" * 16) < unkeyed_id(NOW + 1, b"\0" * 16)


def test_a_known_key_has_its_known_name():
    assert keyed_id("default", "echo", "k") == "4c395749-1736-8edf-a49f-b39f86967438"


@given(names, st.integers(1, 4096))
def test_a_shard_is_one_of_those_there_are(name, shards):
    assert 0 <= shard_of(keyed_id(*name), shards) < shards


def test_shards_are_even():
    counts = Counter(shard_of(keyed_id("t", "echo", str(n)), 16) for n in range(16_000))
    assert len(counts) == 16
    assert min(counts.values()) > 850
    assert max(counts.values()) < 1150


def test_the_key_is_no_part_of_the_fingerprint():
    assert fingerprint({"a": 1, "idempotency_key": "k"}) == fingerprint({"a": 1})


def test_the_order_of_fields_is_no_part_of_the_fingerprint():
    request = {"type": "echo", "payload": {"b": 1, "a": [{"y": 1, "x": 2}]}}
    turned = {"payload": {"a": [{"x": 2, "y": 1}], "b": 1}, "type": "echo"}
    assert fingerprint(request) == fingerprint(turned)


@given(st.lists(st.integers(), min_size=2, max_size=4))
def test_the_order_of_a_list_is_part_of_the_fingerprint(numbers):
    assume(numbers != numbers[::-1])
    assert fingerprint({"payload": numbers}) != fingerprint({"payload": numbers[::-1]})


def test_a_default_that_is_written_out_makes_another_fingerprint():
    assert fingerprint({"a": 1}) != fingerprint({"a": 1, "max_attempts": 4})
