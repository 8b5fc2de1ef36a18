"""A local TLS receiver of webhooks that gives the answers of a test."""

import contextlib
import socket
import ssl
import struct
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
_PATIENCE_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Received:
    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Answers each request with the next of its answers, and then always with the last."""

    port: int
    answers: list[bytes | Callable[[socket.socket], None]] = field(default_factory=lambda: [OK])
    received: list[Received] = field(default_factory=list)
    left: Event = field(default_factory=Event)
    """Set when the caller has closed a connection that was left open."""

    def serve(self, connection: socket.socket) -> None:
        connection.settimeout(_PATIENCE_SECONDS)
        self.received.append(_read(connection))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(answer):
            answer(connection)
        else:
            connection.sendall(answer)

    def hold(self, first: bytes = b"") -> Callable[[socket.socket], None]:
        """Send something, and then nothing until the caller leaves."""

        def hold(connection: socket.socket) -> None:
            connection.sendall(first)
            while connection.recv(1_000):
                pass
            self.left.set()

        return hold


def reset(connection: socket.socket) -> None:
    """Reset the connection, like a crashed machine."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@contextmanager
def receiver(context: ssl.SSLContext | None):
    listener = socket.create_server(("127.0.0.1", 0))
    result = Receiver(port=listener.getsockname()[1])
    thread = Thread(target=_accept, args=(listener, context, result))
    thread.start()
    try:
        yield result
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def _accept(listener: socket.socket, context: ssl.SSLContext | None, result: Receiver) -> None:
    while True:
        try:
            plain, _ = listener.accept()
        except OSError:
            return
        # What a caller does that refuses our certificate, or leaves, is no error of ours.
        with contextlib.suppress(OSError), plain:
            if context is None:
                result.serve(plain)
                continue
            with context.wrap_socket(plain, server_side=True) as secured:
                result.serve(secured)


def _read(connection: socket.socket) -> Received:
    read = b""
    while b"\r\n\r\n" not in read:
        read += connection.recv(65_536) or _gone()
    head, _, body = read.partition(b"\r\n\r\n")
    line, *lines = head.decode("ascii").split("\r\n")
    headers = dict(one.split(": ", maxsplit=1) for one in lines)
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65_536) or _gone()
    return Received(line, headers, body)


def _gone() -> bytes:
    raise ConnectionAbortedError("the caller left")
