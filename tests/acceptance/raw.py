"""Sends raw bytes, and occupies a system as slow clients do."""

import socket
import time
from contextlib import ExitStack, suppress
from http.client import HTTPResponse
from threading import Event, Thread

from tests.acceptance.client import PATIENCE_SECONDS, Answer

JSON = (("Content-Type", "application/json"),)


def a_request(method, target, body=b"", headers=JSON):
    """Return a request's bytes; a header may be repeated."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def connect(client, *, receives=None):
    """Open a connection; with a small *receives* the rest stays at the other side."""
    line = socket.socket()
    try:
        if receives is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        line.settimeout(PATIENCE_SECONDS)
        line.connect((client.parts.hostname, client.parts.port))
    except BaseException:
        line.close()
        raise
    return line


def ask(client, octets):
    """Send *octets* on a separate connection, and return the first response."""
    with connect(client) as line:
        with suppress(ConnectionError):  # it may answer before it has read all
            line.sendall(octets)
        with HTTPResponse(line, method=octets.partition(b" ")[0].decode("latin-1")) as response:
            response.begin()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read().decode())


def leave_behind(client, octets):
    """Send *octets*, and disconnect without waiting for a response."""
    with connect(client) as line:
        line.sendall(octets)


class SlowClients:
    """Connections that are slow in every way; each one cut off is replaced by another."""

    def __init__(self, client, count, *, large):
        """Take the path of a large response, to read slowly."""
        self._client = client
        self._large = a_request("GET", large)
        self._is_over = Event()
        self._thread = Thread(target=self._hang_on)
        self._lines = []
        self._ways = [self._slow_head, self._slow_body, self._unread]
        self._count = count

    def __enter__(self):
        for number in range(self._count):
            self._lines.append(self._ways[number % len(self._ways)]())
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()
        with ExitStack() as stack:
            for line in self._lines:
                stack.enter_context(line)

    def _hang_on(self):
        while not self._is_over.wait(0.5):
            for number, line in enumerate(self._lines):
                if self._is_over.is_set():
                    return
                if not _trickles(line):
                    line.close()
                    with suppress(OSError):  # one large request is enough
                        self._lines[number] = self._ways[number % 2]()

    def _slow_head(self):
        line = connect(self._client)
        line.sendall(a_request("GET", "/v1/types").removesuffix(b"\r\n\r\n") + b"\r\nX: ")
        return line

    def _slow_body(self):
        line = connect(self._client)
        line.sendall(a_request("POST", "/v1/tasks", b"[" * 1_000_000)[:1_000])
        return line

    def _unread(self):
        line = connect(self._client, receives=4_096)
        line.sendall(self._large * 2)
        return line


def _trickles(line):
    """Send one more byte; return whether the other side still accepts it."""
    line.settimeout(0)
    try:
        line.send(b" ")
        return line.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def timed(act):
    """Return the result of *act*, and its duration in seconds."""
    begun = time.monotonic()
    answer = act()
    return answer, time.monotonic() - begun
