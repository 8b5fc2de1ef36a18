"""Sends bytes as they are told, and hangs on to a system as slow clients do."""

import socket
import time
from contextlib import ExitStack, suppress
from http.client import HTTPResponse
from threading import Event, Thread

from tests.acceptance.client import PATIENCE_SECONDS, Answer

JSON = (("Content-Type", "application/json"),)


def a_request(method, target, body=b"", headers=JSON):
    """Return a request as it goes over the line; a header may be named twice."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def connect(client, *, receives=None):
    """Open a connection; who *receives* little leaves the rest to the other side."""
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
    """Send *octets* on a line of their own, and return the first answer."""
    with connect(client) as line:
        with suppress(ConnectionError):  # it may answer before it has read all
            line.sendall(octets)
        with HTTPResponse(line, method=octets.partition(b" ")[0].decode("latin-1")) as response:
            response.begin()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read().decode())


def leave_behind(client, octets):
    """Send *octets*, and leave without waiting for an answer."""
    with connect(client) as line:
        line.sendall(octets)


class SlowClients:
    """So many connections that are slow in every way; whoever is cut off is followed by another."""

    def __init__(self, client, count, *, large):
        """Take what is slow to read: the path of a large answer."""
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
                    with suppress(OSError):  # who has asked for a lot once asks for no more
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
    """Send one more byte; say whether the other side still listens."""
    line.settimeout(0)
    try:
        line.send(b" ")
        return line.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def timed(act):
    """Return what *act* gave, and how many seconds it took."""
    begun = time.monotonic()
    told = act()
    return told, time.monotonic() - begun
