"""A mail server that gives the answers of a test, and records what it receives."""

import socket
import ssl
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import BinaryIO

HANGS_UP = b""
SAYS_NOTHING = b"..."
"""For an answer: the server leaves without one, or stays silent."""

_GLANCE_SECONDS = 0.05

_ANSWERS = {
    "greeting": b"220 here",
    "EHLO": b"250-here\r\n250-SIZE 10000000\r\n250 AUTH PLAIN",
    "STARTTLS": b"220 go on",
    "AUTH": b"235 welcome",
    "MAIL": b"250 yes",
    "RCPT": b"250 yes",
    "DATA": b"354 go on",
    "the mail": b"250 taken",
    "QUIT": b"221 bye",
}


@dataclass
class MailServer:
    answers: dict[str, bytes]
    context: ssl.SSLContext | None
    is_wrapped: bool
    """Whether it speaks TLS at once; otherwise it does when it has a context, and is asked to."""

    passwords: set[str]
    port: int = 0
    is_over: Event = field(default_factory=Event)
    lines: list[str] = field(default_factory=list)
    secured: list[str] = field(default_factory=list)
    """The lines that arrived over TLS."""

    raw: list[bytes] = field(default_factory=list)
    """The mails as they came, without the line that ends them."""

    @property
    def content(self) -> bytes:
        """The only received mail, without dot-stuffing."""
        (raw,) = self.raw
        lines = raw.split(b"\r\n")
        return b"\r\n".join(line.removeprefix(b".") for line in lines)

    def said(self, verb: str) -> list[str]:
        return [line for line in self.lines if line.upper().startswith(verb)]

    def serve(self, client: socket.socket) -> None:
        with suppress(OSError, EOFError), client:
            if not self.is_wrapped:
                self._talk(client, is_secured=False)
            elif self.context is not None:
                with self.context.wrap_socket(client, server_side=True) as secured:
                    self._talk(secured, is_secured=True)

    def _talk(self, client: socket.socket, *, is_secured: bool, greets: bool = True) -> None:
        """Answer line after line; buffered octets die with a change to TLS, as they must."""
        with client.makefile("rb") as lines:
            answer = self.answers["greeting"] if greets else None
            while True:
                if answer is not None:
                    self._say(client, answer)
                line = _read(lines).decode().removesuffix("\r\n")
                self.lines.append(line)
                if is_secured:
                    self.secured.append(line)
                answer = self._answer(line, is_secured=is_secured)
                if line == "STARTTLS" and self.context is not None:
                    self._say(client, answer)
                    with self.context.wrap_socket(client, server_side=True) as secured:
                        self._talk(secured, is_secured=True, greets=False)
                    return
                if answer.startswith(b"354"):
                    self._say(client, answer)
                    self.raw.append(b"".join(iter(lambda: _read(lines), b".\r\n")))
                    answer = self.answers["the mail"]

    def _say(self, client: socket.socket, answer: bytes) -> None:
        if answer == SAYS_NOTHING:
            self.is_over.wait()
        if answer in {HANGS_UP, SAYS_NOTHING}:
            raise EOFError
        client.sendall(answer + b"\r\n")

    def _answer(self, line: str, *, is_secured: bool) -> bytes:
        verb = line.partition(" ")[0].upper()
        if line in self.answers:
            return self.answers[line]
        if verb == "EHLO" and self.context is not None and not is_secured:
            return b"250-here\r\n250-STARTTLS\r\n" + self.answers["EHLO"]
        if verb == "AUTH" and self.passwords:
            _, name, password = b64decode(line.split(" ")[2]).decode().split("\0")
            return b"235 welcome" if f"{name}:{password}" in self.passwords else b"535 no"
        return self.answers.get(verb, b"500 what?")


def _read(lines: BinaryIO) -> bytes:
    line = lines.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return line


@contextmanager
def mail_server(
    answers: Mapping[str, bytes] | None = None,
    *,
    context: ssl.SSLContext | None = None,
    is_wrapped: bool = False,
    passwords: frozenset[str] = frozenset(),
) -> Iterator[MailServer]:
    server = MailServer(_ANSWERS | dict(answers or {}), context, is_wrapped, set(passwords))
    threads: list[Thread] = []

    def accept() -> None:
        while not server.is_over.is_set():
            with suppress(TimeoutError):
                client, _ = listener.accept()
                client.settimeout(5)
                threads.append(Thread(target=server.serve, args=(client,)))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_GLANCE_SECONDS)
        server.port = listener.getsockname()[1]
        threads.append(Thread(target=accept))
        threads[0].start()
        try:
            yield server
        finally:
            server.is_over.set()
            for thread in threads:
                thread.join()
