"""Whole numbers keep their value in every notation."""

import json

import pytest

from taskmill.submission.strict_json import with_whole_numbers


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (b"3.0", b"3"),
        (b"1e2", b"100"),
        (b"-0.0", b"0"),
        (b'{"a":[1.0,1.5,"2.0",4]}', b'{"a":[1,1.5,"2.0",4]}'),
        (b"[1.0,123456789012345678901234567890]", b"[1,123456789012345678901234567890]"),
        (b"[1.0,1e300]", b"[1,1e300]"),
    ],
)
def test_a_point_with_nothing_behind_it_is_left_out(written, meant):
    assert json.loads(with_whole_numbers(written)) == json.loads(meant)
    assert b".0" not in with_whole_numbers(written).replace(b'"2.0"', b"")


@pytest.mark.parametrize("written", [b"3", b"1.5", b'"3.0"', b"{}", b"1e300"])
def test_where_nothing_is_written_so_there_is_nothing_to_do(written):
    assert with_whole_numbers(written) is None
