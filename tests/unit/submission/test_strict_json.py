"""Ambiguous JSON is refused."""

import json
import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskmill.submission import strict_json
from taskmill.submission.strict_json import NotJson


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"{}", {}),
        (b" \r\n\t[1, 2.5, null, true]\r\n", [1, 2.5, None, True]),
        (b'"line\\r\\nline"', "line\r\nline"),
        (b'"\\\\u0000"', "\\u0000"),
        (b'"\\\\ud800"', "\\ud800"),
        (b'"\\ud83d\\ude00"', "😀"),
        ('"e\u0301 \u202e \u200b"'.encode(), "e\u0301 \u202e \u200b"),
        (b"9" * 4_300, int("9" * 4_300)),
        (b'{"a": {"a": 1}, "b": {"a": 1}}', {"a": {"a": 1}, "b": {"a": 1}}),
        (b"1e308", 1e308),
        (b"-0.0", -0.0),
    ],
    ids=lambda case: repr(case)[:30],
)
def test_what_is_json_is_read_as_it_stands(body, value):
    assert strict_json.read(body) == value


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "not JSON"),
        (b" \r\n", "not JSON"),
        (b"{} {}", "Extra data at character 3"),
        (b"{},", "Extra data"),
        (b"{'a': 1}", "not JSON"),
        (b'{"a": 1,}', "not JSON"),
        (b"[1", "not JSON"),
        (b"// a comment\n{}", "not JSON"),
        (b"\xef\xbb\xbf{}", "BOM"),
        ("{}".encode("utf-16"), "not UTF-8"),
        ("{}".encode("utf-16-le"), "not JSON"),
        ('{"a": "é"}'.encode("latin-1"), "not UTF-8"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b'"\xc0\xaf"', "not UTF-8"),
        (b'{"tenant": "a", "tenant": "b"}', "'tenant' appears twice"),
        (b'[{"x": {"k": 1, "\\u006b": 2}}]', "'k' appears twice"),
        (b"NaN", "NaN"),
        (b'{"a": Infinity}', "Infinity"),
        (b"[-Infinity]", "Infinity"),
        (b"1e400", "1e400 is too large"),
        (b"-1e400", "too large"),
        (b"9" * 400 + b".0", "too large"),
        (b"9" * 4_301, "4301 digits"),
        (b"01", "Extra data"),
        (b"+1", "not JSON"),
        (b'"\\ud800"', "surrogate"),
        (b'{"\\uDFFF": 1}', "surrogate"),
        (b'"\\ude00\\ud83d"', "surrogate"),
        (b'"\\u0000"', "NUL"),
        (b'{"a": [{"\\u0000": 1}]}', "NUL"),
        (b'"a\x00b"', "control character"),
        (b"{}\x00", "Extra data"),
        (b'"a\r\nb"', "control character"),
    ],
    ids=lambda case: repr(case)[:30],
)
def test_what_is_not_json_is_refused_with_the_reason(body, why):
    with pytest.raises(NotJson, match=why):
        strict_json.read(body)


def test_32_levels_are_read():
    assert strict_json.read(nested(32)) == json.loads(nested(32))


@pytest.mark.parametrize(
    "body",
    [
        nested(33),
        b'{"a":' * 33 + b"1" + b"}" * 33,
        nested(100_000),
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
    ids=["33 lists", "33 objects", "100,000 lists", "open lists", "open objects"],
)
def test_what_is_deeper_is_refused_and_not_a_crash(body):
    with pytest.raises(NotJson, match="nested deeper than 32 levels"):
        strict_json.read(body)


_TEXTS = st.text(st.characters())  # lone surrogates too
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner), max_leaves=20
)


@given(_VALUES, st.booleans())
def test_what_python_writes_is_read_back_or_refused(value, is_ascii):
    body = json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    try:
        read = strict_json.read(body)
    except NotJson:
        assert _is_unfit(value)
    else:
        assert not _is_unfit(value)
        assert read == value


def _is_unfit(value) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case str():
            return "\x00" in value or any(0xD800 <= ord(letter) <= 0xDFFF for letter in value)
        case list():
            return any(_is_unfit(item) for item in value)
        case dict():
            return any(_is_unfit(name) or _is_unfit(item) for name, item in value.items())
    return False


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body):
    with suppress(NotJson):
        strict_json.read(body)
