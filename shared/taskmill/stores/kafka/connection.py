"""One connection to a broker, with TLS and login where required."""

import socket
import ssl
import time
from functools import partial

from taskmill.settings.access import KafkaAccess
from taskmill.stores.kafka.login import log_in
from taskmill.stores.kafka.protocol import Api, ByteReader, request

_SECONDS_TO_CONNECT = 2.0
_SECONDS_IDLE = 60.0
"""Networks silently drop connections that are idle for some minutes."""

_LENGTH_BYTES = 4
_READ_BYTES = 65_536


def seconds_until(until: float) -> float:
    """Return the time left, by the monotonic clock; raise when there is none."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("the broker did not respond in time")
    return seconds


class Connection:
    """Requests may be sent before earlier ones are answered."""

    def __init__(self, access: KafkaAccess, host: str, port: int, *, until: float) -> None:
        patience = min(_SECONDS_TO_CONNECT, seconds_until(until))
        self._socket = socket.create_connection((host, port), patience)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if access.security != "PLAINTEXT":
                trusted = ssl.create_default_context(cafile=access.ca_file or None)
                self._socket = trusted.wrap_socket(self._socket, server_hostname=host)
            self._arrived = b""
            self._tickets = self._owed = 0
            self._answers: dict[int, ByteReader] = {}
            self._used_at = time.monotonic()
            log_in(partial(self.ask, until=until), access, host)
        except BaseException:
            self._socket.close()
            raise

    @property
    def is_stale(self) -> bool:
        return not self._owed and time.monotonic() - self._used_at > _SECONDS_IDLE

    def send(self, api: Api, body: bytes, *, until: float) -> int:
        """Send a request, and return a ticket for its response."""
        ticket = self._tickets = (self._tickets + 1) & 0x7FFF_FFFF
        self._socket.settimeout(seconds_until(until))
        self._socket.sendall(request(api, ticket, body))
        self._owed += 1
        return ticket

    def receive(self, ticket: int, *, until: float) -> ByteReader:
        """Return the response; after a TimeoutError it may be asked for again."""
        while ticket not in self._answers:
            answer = ByteReader(self._frame(until))
            self._answers[answer.number("i")] = answer
        self._owed -= 1
        self._used_at = time.monotonic()
        return self._answers.pop(ticket)

    def ask(self, api: Api, body: bytes, *, until: float) -> ByteReader:
        return self.receive(self.send(api, body, until=until), until=until)

    def close(self) -> None:
        self._socket.close()

    def _frame(self, until: float) -> bytes:
        """Take the next response off what has arrived, once it is whole."""
        self._gather(_LENGTH_BYTES, until)
        end = _LENGTH_BYTES + int.from_bytes(self._arrived[:_LENGTH_BYTES], "big")
        self._gather(end, until)
        frame, self._arrived = self._arrived[_LENGTH_BYTES:end], self._arrived[end:]
        return frame

    def _gather(self, count: int, until: float) -> None:
        while len(self._arrived) < count:
            self._socket.settimeout(seconds_until(until))
            more = self._socket.recv(max(_READ_BYTES, count - len(self._arrived)))
            if not more:
                raise ConnectionResetError("the broker hung up")
            self._arrived += more
