"""The local platform's mail sink: keeps the last hundred mails and sends none."""

import asyncio
import email
import json
from asyncio import StreamReader, StreamWriter
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import default
from typing import Any, Final

_ADDRESS: Final = "127.0.0.1"
_KEPT: Final = 100
_LARGEST: Final = 10_000_000
_LONGEST_LINE: Final = 100_000
_PATIENCE_SECONDS: Final = 60
_GO_ON: Final = b"354 end with a dot\r\n"
_TOO_LARGE: Final = b"552 too large\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    sender: str
    recipients: tuple[str, ...]
    arrived_at: datetime
    content: bytes

    def as_json(self) -> Mapping[str, Any]:
        message = email.message_from_bytes(self.content, EmailMessage, policy=default)
        return {
            "from": self.sender,
            "to": self.recipients,
            "subject": message["Subject"],
            "message_id": message["Message-ID"],
            "arrived_at": self.arrived_at.isoformat(),
            "content": self.content.decode("utf-8", "replace"),
        }


class MailSink:
    """A small mail server that accepts everything."""

    def __init__(self) -> None:
        self._letters: deque[Letter] = deque(maxlen=_KEPT)
        self._server: asyncio.Server | None = None
        self._writers: set[StreamWriter] = set()

    async def start(self) -> str:
        """Listen, and return host and port."""
        self._server = await asyncio.start_server(self._serve, _ADDRESS, 0, limit=_LONGEST_LINE)
        return f"{_ADDRESS}:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for writer in tuple(self._writers):
                writer.transport.abort()
            await self._server.wait_closed()

    async def page(self) -> tuple[int, str, bytes]:
        """Return the mails that arrived, latest last."""
        as_json = {"mails": [letter.as_json() for letter in self._letters]}
        return 200, "application/json", json.dumps(as_json).encode()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with suppress(OSError, EOFError, ValueError, TimeoutError):
                await _Conversation(reader, writer, self._letters.append).hold()
        finally:
            self._writers.discard(writer)
            writer.close()


@dataclass(slots=True)
class _Conversation:
    reader: StreamReader
    writer: StreamWriter
    keep: Callable[[Letter], None]
    sender: str = ""
    recipients: list[str] = field(default_factory=list)

    async def hold(self) -> None:
        reply = b"220 the postbox of taskmill\r\n"
        while True:
            self.writer.write(reply)
            await self.writer.drain()
            if reply.startswith(b"221"):
                return
            line = (await self._line()).decode("ascii", "replace").rstrip()
            reply = await self._answer(line)

    async def _answer(self, line: str) -> bytes:
        verb, _, rest = line.partition(" ")
        match verb.upper():
            case "EHLO" | "HELO" | "NOOP":
                return b"250 hello\r\n"
            case "MAIL":
                self.sender, self.recipients = _address(rest), []
            case "RCPT":
                self.recipients.append(_address(rest))
            case "RSET":
                self.sender, self.recipients = "", []
            case "DATA" if self.recipients:
                return await self._take()
            case "QUIT":
                return b"221 goodbye\r\n"
            case _:
                return b"503 not known, or not now\r\n"
        return b"250 so be it\r\n"

    async def _take(self) -> bytes:
        self.writer.write(_GO_ON)
        content = bytearray()
        size = 0
        while (line := await self._line()) != b".\r\n":
            size += len(line)
            if size <= _LARGEST:
                content += line.removeprefix(b".")
        if size > _LARGEST:
            return _TOO_LARGE
        self.keep(
            Letter(
                sender=self.sender,
                recipients=tuple(self.recipients),
                arrived_at=datetime.now(UTC),
                content=bytes(content),
            )
        )
        return b"250 kept\r\n"

    async def _line(self) -> bytes:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return line


def _address(rest: str) -> str:
    return rest.partition("<")[2].partition(">")[0]
