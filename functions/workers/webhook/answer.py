"""Reads the response to a webhook: the head strictly, the body as far as it arrives and fits."""

import re
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader
from contextlib import suppress
from email.message import Message
from http.client import HTTPException, parse_headers
from io import BytesIO
from typing import Final

from msgspec import Struct

HEAD_LIMIT: Final = 32_768
BODY_LIMIT: Final = 65_536

_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: .*)?")
_LENGTH = re.compile(r"[0-9]{1,18}", re.ASCII)
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r\n")
_MOST_INTERIM: Final = 5
_FINAL: Final = 200
_BODILESS: Final = (204, 304)


class NotHttp(Exception):
    """The response is not HTTP/1."""


class Head(Struct, frozen=True):
    status: int
    headers: Message

    def one(self, name: str) -> str:
        return str(self.headers.get(name, "")).strip()


class Body:
    """Grows as data arrives, so that everything received is kept in any case."""

    def __init__(self) -> None:
        self.octets = bytearray()
        self.is_cut = True

    @property
    def room(self) -> int:
        return BODY_LIMIT - len(self.octets)


async def read_head(reader: StreamReader) -> Head:
    """Read the final response's head; interim responses are skipped."""
    for _ in range(_MOST_INTERIM):
        head = _head(await _block(reader))
        if head.status >= _FINAL:
            return head
    raise NotHttp("it sent too many interim responses")


async def _block(reader: StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except LimitOverrunError as error:
        raise NotHttp(f"its headers exceed {HEAD_LIMIT} bytes") from error
    except IncompleteReadError as error:
        raise NotHttp("it closed the connection before it answered") from error


def _head(block: bytes) -> Head:
    line, _, rest = block.partition(b"\r\n")
    status = _STATUS.fullmatch(line)
    if status is None:
        raise NotHttp("it does not speak HTTP/1.1")
    try:
        return Head(int(status[1]), parse_headers(BytesIO(rest)))
    except HTTPException as error:
        raise NotHttp("it sent malformed headers") from error


async def read_body(reader: StreamReader, head: Head, body: Body) -> None:
    """Fill *body*; if it breaks off or grows too large, keep what arrived and mark it as cut."""
    with suppress(IncompleteReadError, LimitOverrunError, NotHttp):
        if head.status in _BODILESS:
            body.is_cut = False
        elif "chunked" in head.one("transfer-encoding").lower():
            await _chunks(reader, body)
        elif _LENGTH.fullmatch(length := head.one("content-length")):
            body.is_cut = not await _exactly(reader, int(length), body)
        else:
            await _to_the_end(reader, body)


async def _chunks(reader: StreamReader, body: Body) -> None:
    while True:
        size = _CHUNK.fullmatch(await reader.readuntil(b"\r\n"))
        if size is None:
            raise NotHttp("it sent a chunk without a size")
        if int(size[1], 16) == 0:
            body.is_cut = False
            return
        if not await _exactly(reader, int(size[1], 16), body):
            return
        await reader.readexactly(2)


async def _exactly(reader: StreamReader, count: int, body: Body) -> bool:
    """Read the given number of bytes as they arrive; return whether all of them fit."""
    rest = count
    while rest and body.room:
        octets = await reader.read(min(rest, body.room))
        if not octets:
            return False
        body.octets += octets
        rest -= len(octets)
    return not rest


async def _to_the_end(reader: StreamReader, body: Body) -> None:
    while body.room:
        octets = await reader.read(body.room)
        if not octets:
            body.is_cut = False
            return
        body.octets += octets
