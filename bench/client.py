"""One keep-alive connection to the front, lean enough not to distort the measurement."""

import json
import socket
from typing import Any, Final
from urllib.parse import urlsplit

_PATIENCE_SECONDS: Final = 60
_READ_BYTES: Final = 1 << 18
_END_OF_HEAD: Final = b"\r\n\r\n"
_LENGTH: Final = b"content-length:"
_REFUSED: Final = 300


class Client:
    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._host = address.netloc
        place = (address.hostname or "", address.port or 80)
        self._socket = socket.create_connection(place, _PATIENCE_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, method: str, path: str, body: object = None) -> Any:
        return json.loads(self.exchange(self.request(method, path, body)))

    def request(self, method: str, path: str, body: object = None) -> bytes:
        """Return the bytes of a request, so that a loop need not build them again."""
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content

    def exchange(self, request: bytes) -> bytes:
        self._socket.sendall(request)
        head, _, content = self._read_head().partition(_END_OF_HEAD)
        length = _length_in(head)
        parts, missing = [content], length - len(content)
        while missing > 0:
            parts.append(self._read())
            missing -= len(parts[-1])
        text = b"".join(parts)
        status = int(head.split(b" ", 2)[1])
        if status >= _REFUSED:
            target = request.partition(b" HTTP/")[0].decode()
            raise RuntimeError(f"{target} was answered with {status}: {text[:500]!r}")
        return text

    def close(self) -> None:
        self._socket.close()

    def _read_head(self) -> bytes:
        octets = self._read()
        while _END_OF_HEAD not in octets:
            octets += self._read()
        return octets

    def _read(self) -> bytes:
        octets = self._socket.recv(_READ_BYTES)
        if not octets:
            raise RuntimeError("the front closed the connection in the middle of a response")
        return octets


def _length_in(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(_LENGTH):
            return int(line.removeprefix(_LENGTH))
    return 0
