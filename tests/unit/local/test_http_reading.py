"""Input split in any way is parsed the same, or refused."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskmill_local.front.body import ChunkedBody
from taskmill_local.front.head import Refused, parse_head
from taskmill_local.front.limits import Limits

HEAD = b"POST /tasks?a=1 HTTP/1.1\r\nHost: here\r\nContent-Length: 12\r\nConnection: keep-alive"
NASTY = st.sampled_from([b"\r", b"\n", b"\r\n", b"\x00", b" ", b"\t", b":", b",", b"\xff", b"/"])
PIECE = st.one_of(NASTY, st.binary(max_size=3))


@given(st.integers(0, len(HEAD)), st.integers(0, 8), PIECE)
def test_a_damaged_head_is_read_or_refused_but_never_breaks(place, removed, inserted):
    damaged = HEAD[:place] + inserted + HEAD[place + removed :]
    try:
        head = parse_head(damaged)
    except Refused:
        return
    assert head.path.startswith(("/", "*"))
    assert not {"\r", "\n", "\0"} & set("".join(head.headers.values()))


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=6),
    st.lists(st.integers(0, 400), max_size=12),
)
def test_chunks_are_joined_wherever_the_network_cuts_them(chunks, cuts):
    wire = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    wire += b"0\r\nX-Trailer: 1\r\n\r\n"
    places = [0, *sorted(cut for cut in cuts if cut < len(wire)), len(wire)]
    body = ChunkedBody(Limits())
    arrived = bytearray()
    results = []
    for start, end in pairwise(places):
        arrived += wire[start:end]
        results.append(body.take(arrived))
    assert [result for result in results if result is not None] == [b"".join(chunks)]
    assert not arrived


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_no_chunks_or_wait_for_more(garbage):
    body = ChunkedBody(Limits(body_bytes=100))
    arrived = bytearray(garbage)
    try:
        taken = body.take(arrived)
    except Refused:
        return
    assert taken is None or garbage.endswith(bytes(arrived))


def test_what_follows_a_chunked_body_is_left_alone():
    arrived = bytearray(b"1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1\r\n")
    assert ChunkedBody(Limits()).take(arrived) == b"x"
    assert arrived == b"GET / HTTP/1.1\r\n"


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/a?b=c?d", "/a", "b=c?d"),
        ("http://here/a?b", "/a", "b"),
        ("https://here", "/", ""),
        ("http://here?b", "/", "b"),
        ("//here/a", "//here/a", ""),
    ],
)
def test_a_target_is_a_path_and_a_query(target, path, query):
    head = parse_head(f"GET {target} HTTP/1.1\r\nHost: here".encode())
    assert (head.path, head.query) == (path, query)


def test_chunks_of_a_byte_are_taken_in_turns():
    body = ChunkedBody(Limits(chunks_at_once=10))
    arrived = bytearray(b"1\r\nx\r\n" * 25 + b"0\r\n\r\n")
    turns = [(body.take(arrived), body.is_interrupted) for _ in range(3)]
    assert turns == [(None, True), (None, True), (b"x" * 25, False)]


def test_a_body_of_too_many_chunks_is_refused():
    body = ChunkedBody(Limits(chunks=3))
    with pytest.raises(Refused) as refused:
        body.take(bytearray(b"1\r\nx\r\n" * 4))
    assert refused.value.status == 413
