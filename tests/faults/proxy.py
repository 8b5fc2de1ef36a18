"""A TCP proxy on the loopback that delays, drops, resets and cuts connections."""

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread

_CHUNK = 65_536


@dataclass
class Weather:
    """The current behaviour of the connections; it may change at any moment."""

    latency_seconds: float = 0.0
    is_black_hole: bool = False
    """Takes everything and passes nothing on."""

    refuses: bool = False
    """Closes each new connection at once."""

    cuts: Callable[[], object] | None = None
    """Creates, for each new connection, the decision after which part of a reply to cut it."""


class NthReply:
    """Cuts the connection at the nth part of a reply, on any connection."""

    def __init__(self, nth):
        self._left = nth

    def __call__(self):
        return self

    def asked(self, part):
        """Count nothing."""

    def is_cut_at(self, _part):
        self._left -= 1
        return self._left == 0


class ProduceReplies:
    """Cuts Kafka connections at produce responses, whenever *chance* says so."""

    def __init__(self, chance):
        self._chance = chance

    def __call__(self):
        return _ProduceLine(self._chance)


class _ProduceLine:
    _PRODUCE = 0

    def __init__(self, chance):
        self._chance = chance
        self._requests, self._replies = Frames(), Frames()
        self._produces = set()

    def asked(self, part):
        for frame in self._requests.add(part):
            key, _version, number = struct.unpack_from(">hhi", frame)
            if key == self._PRODUCE:
                self._produces.add(number)

    def is_cut_at(self, part):
        is_cut = False
        for frame in self._replies.add(part):
            (number,) = struct.unpack_from(">i", frame)
            if number in self._produces:
                self._produces.discard(number)
                is_cut = self._chance() or is_cut
        return is_cut


class ScriptReplies:
    """Cuts Redis connections at replies to these scripts, whenever *chance* says so."""

    def __init__(self, shas, chance):
        self._shas = [sha.encode() for sha in shas]
        self._chance = chance

    def __call__(self):
        return _ScriptLine(self._shas, self._chance)


class _ScriptLine:
    """Nobody sends more requests there before all earlier ones are answered."""

    def __init__(self, shas, chance):
        self._shas = shas
        self._chance = chance
        self._is_meant = False

    def asked(self, part):
        self._is_meant = any(sha in part for sha in self._shas)

    def is_cut_at(self, _part):
        return self._is_meant and self._chance()


class Frames:
    """Splits a stream into Kafka's frames, each with its length in front."""

    def __init__(self):
        self._buffer = bytearray()

    def add(self, part):
        self._buffer += part
        while len(self._buffer) >= 4:
            (length,) = struct.unpack_from(">i", self._buffer)
            if len(self._buffer) < 4 + length:
                return
            yield bytes(self._buffer[4 : 4 + length])
            del self._buffer[: 4 + length]


@dataclass(eq=False)
class Line:
    """One connection through the proxy."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    cutter: object | None = None
    tasks: list = field(default_factory=list)

    def reset(self):
        """End it as a crashed machine would: with an RST."""
        for writer in (self.client, self.server):
            _reset(writer)
        for task in self.tasks:
            task.cancel()


def _reset(writer):
    with suppress(OSError):
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


class Proxy:
    """Forwards 127.0.0.1:`port` to `upstream` until it is stopped; has its own thread."""

    def __init__(self, upstream=0, port=0):
        self.upstream = upstream
        self.port = port
        self.weather = Weather()
        self.connections = 0
        self.cuts = 0
        self._lines = set()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)

    def start(self):
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._accept, "127.0.0.1", self.port))
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def stop(self):
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def reset(self):
        """Reset every connection; return how many there were."""
        return self._run(self._reset_all())

    async def _reset_all(self):
        lines = list(self._lines)
        for line in lines:
            line.reset()
        return len(lines)

    async def _close(self):
        self._server.close()
        await self._reset_all()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.01)  # an aborted transport closes in a later round of the loop

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)

    async def _accept(self, reader, client):
        self.connections += 1
        if self.weather.refuses:
            _reset(client)
            return
        try:
            answers, server = await asyncio.open_connection("127.0.0.1", self.upstream)
        except OSError:
            _reset(client)
            return
        line = Line(client, server, self.weather.cuts() if self.weather.cuts else None)
        self._lines.add(line)
        line.tasks = [
            asyncio.create_task(self._pass(line, reader, server, is_reply=False)),
            asyncio.create_task(self._pass(line, answers, client, is_reply=True)),
        ]
        with suppress(asyncio.CancelledError):  # of a proxy that is stopped
            await asyncio.gather(*line.tasks, return_exceptions=True)
        self._lines.discard(line)
        server.transport.abort()
        client.transport.abort()

    async def _end_of_the_hole(self):
        while self.weather.is_black_hole:  # noqa: ASYNC110 - it is set from other threads
            await asyncio.sleep(0.02)

    async def _pass(self, line, reader, writer, *, is_reply):
        try:
            await self._pass_on(line, reader, writer, is_reply=is_reply)
        except OSError:  # one end is gone: close the other one, as without a proxy
            line.reset()

    async def _pass_on(self, line, reader, writer, *, is_reply):
        while part := await reader.read(_CHUNK):
            weather = self.weather
            if weather.latency_seconds:
                await asyncio.sleep(weather.latency_seconds)
            await self._end_of_the_hole()
            if line.cutter and not is_reply:
                line.cutter.asked(part)
            elif line.cutter and line.cutter.is_cut_at(part):
                self.cuts += 1
                line.reset()
                return
            writer.write(part)
            await writer.drain()
        writer.write_eof()
