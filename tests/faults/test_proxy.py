"""The fault proxy forwards bytes and injects the requested faults."""

import socket
import socketserver
import struct
import time
from threading import Thread

import pytest

from tests.faults.proxy import Frames, NthReply, ProduceReplies, Proxy, ScriptReplies
from tests.waiting import eventually


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while part := self.request.recv(65_536):
            self.request.sendall(part)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    ended = 0

    def shutdown_request(self, request):
        super().shutdown_request(request)
        self.ended += 1

    def handle_error(self, request, client_address):
        """Say nothing: lines are cut here on purpose."""


@pytest.fixture
def served():
    with Server(("127.0.0.1", 0), Echo) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(served):
    with Proxy(served.server_address[1]) as proxy:
        yield proxy


@pytest.fixture
def line(proxy):
    with connect(proxy) as line:
        yield line


def ask(line, words=b"hello"):
    line.sendall(words)
    return line.recv(100)


def test_bytes_pass_both_ways(line):
    assert ask(line) == b"hello"


def test_latency_is_added_on_each_way(proxy, line):
    ask(line)
    proxy.weather.latency_seconds = 0.1
    began = time.monotonic()
    assert ask(line) == b"hello"
    assert time.monotonic() - began >= 0.2


def test_a_black_hole_answers_nothing_until_it_ends(proxy, line):
    ask(line)
    proxy.weather.is_black_hole = True
    line.settimeout(0.2)
    with pytest.raises(TimeoutError):
        ask(line)
    proxy.weather.is_black_hole = False
    line.settimeout(10)
    assert line.recv(100) == b"hello"


def test_a_reset_is_seen_as_one(proxy, line):
    ask(line)
    assert proxy.reset() == 1
    with pytest.raises(ConnectionResetError):
        ask(line)


def test_a_client_that_dies_is_gone_for_the_server_too(proxy, line, served):
    ask(line)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()  # with a reset, as a killed process does that had something left to read
    eventually(lambda: served.ended, within=10, reason="the server noticed it")
    assert served.ended == 1


def connect(proxy):
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=10)


def test_the_line_is_cut_when_the_nth_reply_was_made(proxy):
    proxy.weather.cuts = NthReply(2)
    with connect(proxy) as line:
        assert ask(line) == b"hello"
        with pytest.raises(ConnectionResetError):
            ask(line)
    assert proxy.cuts == 1


def test_only_replies_to_a_produce_are_cut(proxy):
    proxy.weather.cuts = ProduceReplies(lambda: True)
    with connect(proxy) as line:
        for key in (3, 18, 3):
            assert ask(line, a_frame(key, 7)) == a_frame(key, 7)
    # The echo's reply begins with key and version where Kafka's has the number: 0 and 5 is 5.
    with connect(proxy) as line, pytest.raises(ConnectionResetError):
        ask(line, a_frame(0, 5, version=5))


def test_only_replies_to_these_scripts_are_cut(proxy):
    proxy.weather.cuts = ScriptReplies(["abc"], lambda: True)
    with connect(proxy) as line:
        assert ask(line, b"EVALSHA def") == b"EVALSHA def"
        with pytest.raises(ConnectionResetError):
            ask(line, b"EVALSHA abc")
    assert proxy.cuts == 1


def a_frame(key, number, version=0):
    frame = struct.pack(">hhi", key, version, number)
    return struct.pack(">i", len(frame)) + frame


def test_frames_are_put_together_from_any_parts():
    frames = Frames()
    whole = a_frame(0, 1) + a_frame(1, 2)
    found = [frame for octet in whole for frame in frames.add(bytes([octet]))]
    assert found == [a_frame(0, 1)[4:], a_frame(1, 2)[4:]]


def test_new_connections_are_refused_when_told(proxy):
    proxy.weather.refuses = True
    with pytest.raises(ConnectionError):
        connect_and_read(proxy)


def connect_and_read(proxy):
    with connect(proxy) as line:
        line.recv(1)
