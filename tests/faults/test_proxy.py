"""The fault proxy passes bytes on, and does the harm that it is told to do."""

import socket
import socketserver
import struct
import time
from threading import Thread

import pytest

from tests.faults.proxy import Commands, Frames, Proxy


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while part := self.request.recv(65_536):
            self.request.sendall(part)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Say nothing: lines are cut here on purpose."""


@pytest.fixture
def proxy():
    with Server(("127.0.0.1", 0), Echo) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        with Proxy(server.server_address[1]) as proxy:
            yield proxy
        server.shutdown()
        thread.join()


@pytest.fixture
def line(proxy):
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as line:
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


def test_the_line_is_cut_after_the_nth_reply_was_made(proxy, line):
    proxy.weather.drop_reply = Commands(2)
    assert ask(line) == b"hello"
    with pytest.raises(ConnectionResetError):
        ask(line)
    assert proxy.cuts == 1


def test_frames_are_counted_by_their_length(proxy, line):
    numbers = iter(range(1, 10))
    proxy.weather.drop_reply = Frames(lambda: next(numbers) == 3)
    frame = struct.pack(">i", 3) + b"abc"
    assert ask(line, frame + frame[:5]) == frame + frame[:5]
    line.sendall(frame[5:])
    assert line.recv(2) == frame[5:]
    with pytest.raises(ConnectionResetError):
        ask(line, frame)


def test_new_connections_are_refused_when_told(proxy):
    proxy.weather.refuses = True
    with pytest.raises(ConnectionError):
        connect_and_read(proxy)


def connect_and_read(proxy):
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as line:
        line.recv(1)
