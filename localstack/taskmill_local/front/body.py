"""Extracts a request's body from the data received so far."""

import re
from http import HTTPStatus
from typing import TypeAlias

from taskmill_local.front.head import Head, Refused
from taskmill_local.front.limits import Limits

_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[\t -~]*)?")
_CHUNK_LINE_BYTES = 256
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~\x80-\xff]*")
_NEW_LINE = b"\r\n"


class SizedBody:
    """A body with a Content-Length."""

    is_interrupted = False

    def __init__(self, length: int) -> None:
        self._length = length

    def take(self, buffer: bytearray) -> bytes | None:
        """Remove the body from the received data, or return None until it is complete."""
        if len(buffer) < self._length:
            return None
        body = bytes(buffer[: self._length])
        del buffer[: self._length]
        return body


class ChunkedBody:
    """A body in chunks; extensions and trailers are checked and discarded."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._body = bytearray()
        self._missing = 0
        self._chunks = 0
        self.is_interrupted = False
        self._is_whole = False
        self._trailer_bytes = 0

    def take(self, buffer: bytearray) -> bytes | None:
        """Move received data into the body; return it once its last line has arrived.

        Stops after a number of chunks so that other connections get their turn.
        """
        position = 0
        pause = self._chunks + self._limits.chunks_at_once
        while not self._is_whole and self._chunks < pause:
            position = self._take_chunk(buffer, position)
            line = None if self._missing else _line(buffer, position, _CHUNK_LINE_BYTES)
            if line is None:
                break
            position += len(line) + len(_NEW_LINE)
            self._begin_chunk(line)
        self.is_interrupted = self._chunks >= pause
        while self._is_whole:
            room = self._limits.head_bytes - self._trailer_bytes
            line = _line(buffer, position, room)
            if line is None:
                break
            position += len(line) + len(_NEW_LINE)
            if not line:
                del buffer[:position]
                return bytes(self._body)
            self._pass_trailer(line)
        del buffer[:position]
        return None

    def _take_chunk(self, buffer: bytearray, position: int) -> int:
        if not self._missing:
            return position
        piece = buffer[position : position + self._missing]
        self._body += piece
        self._missing -= len(piece)
        if not self._missing:
            if not self._body.endswith(_NEW_LINE):
                raise Refused(HTTPStatus.BAD_REQUEST)
            del self._body[-len(_NEW_LINE) :]
        return position + len(piece)

    def _begin_chunk(self, line: bytes) -> None:
        match = _CHUNK_SIZE.fullmatch(line)
        if match is None:
            raise Refused(HTTPStatus.BAD_REQUEST)
        size = int(match[1], 16)
        self._chunks += 1
        if self._chunks > self._limits.chunks or len(self._body) + size > self._limits.body_bytes:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        self._is_whole = size == 0
        self._missing = size + len(_NEW_LINE) if size else 0

    def _pass_trailer(self, line: bytes) -> None:
        if not _TRAILER.fullmatch(line):
            raise Refused(HTTPStatus.BAD_REQUEST)
        self._trailer_bytes += len(line) + len(_NEW_LINE)


Body: TypeAlias = SizedBody | ChunkedBody


def body_of(head: Head, limits: Limits) -> Body:
    """Return the reader of the body; a body that is announced as too large is refused unread."""
    if head.is_chunked:
        return ChunkedBody(limits)
    if head.content_length > limits.body_bytes:
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return SizedBody(head.content_length)


def _line(buffer: bytearray, position: int, most: int) -> bytes | None:
    end = buffer.find(_NEW_LINE, position)
    line = bytes(buffer[position : end if end >= 0 else position + most + 1])
    if len(line) > most or b"\n" in line:
        raise Refused(HTTPStatus.BAD_REQUEST)
    return line if end >= 0 else None
