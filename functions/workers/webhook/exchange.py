"""Sends one request to a target and reads its response, within deadlines and the SSRF guard."""

import asyncio
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from msgspec import Struct, field

from functions.workers.webhook.answer import HEAD_LIMIT, Body, Head, read_body, read_head
from functions.workers.webhook.resolver import Resolver
from taskmill.egress.ssrf_guard import Blocked, Target, vetted

SECONDS_TO_CONNECT: Final = 5.0
"""For name lookup, connection and TLS handshake together."""

_MOST_ADDRESSES: Final = 4

Resolve: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
Dial: TypeAlias = Callable[
    [str, int, ssl.SSLContext | None, str | None], Awaitable[tuple[StreamReader, StreamWriter]]
]


async def dial(
    address: str, port: int, context: ssl.SSLContext | None, name: str | None
) -> tuple[StreamReader, StreamWriter]:
    """Connect to an address without any lookup; the certificate must be valid for *name*."""
    return await asyncio.open_connection(
        address, port, ssl=context, server_hostname=name, limit=HEAD_LIMIT
    )


class Ways(Struct, frozen=True, kw_only=True):
    """How other hosts are reached; proxy variables of the environment are ignored."""

    context: ssl.SSLContext
    resolve: Resolve = field(default_factory=Resolver)
    dial: Dial = dial
    seconds_to_connect: float = SECONDS_TO_CONNECT


class Unreached(Exception):
    """The target could not be reached; a later attempt may succeed."""


async def exchange(
    target: Target, request: bytes, ways: Ways, *, seconds: float
) -> tuple[Head, Body] | Blocked:
    """Send *request* and return the response; a body that is late or breaks off is cut."""
    until = asyncio.get_running_loop().time() + seconds
    connection = await _connect(target, ways, seconds=min(seconds, ways.seconds_to_connect))
    if isinstance(connection, Blocked):
        return connection
    reader, writer = connection
    body = Body()
    try:
        async with asyncio.timeout_at(until):
            head = await _ask(request, reader, writer)
        # A receiver that has responded is not called again because its body was slow.
        with suppress(OSError):
            async with asyncio.timeout_at(until):
                await read_body(reader, head, body)
    finally:
        writer.transport.abort()
    return head, body


async def _ask(request: bytes, reader: StreamReader, writer: StreamWriter) -> Head:
    with suppress(ConnectionError):  # it may have responded before it had read everything
        writer.write(request)
        await writer.drain()
    return await read_head(reader)


async def _connect(
    target: Target, ways: Ways, *, seconds: float
) -> tuple[StreamReader, StreamWriter] | Blocked:
    try:
        async with asyncio.timeout(seconds):
            addresses = vetted(target, await _addresses(target, ways))
            if isinstance(addresses, Blocked):
                return addresses
            return await _reach(target, addresses, ways)
    except TimeoutError as error:
        raise Unreached(f"{target.host} could not be reached within {seconds:g} s") from error


async def _addresses(target: Target, ways: Ways) -> Sequence[str]:
    """Look the host up again for every attempt."""
    try:
        addresses = await ways.resolve(target.host)
    except (OSError, UnicodeError) as error:
        raise Unreached(f"{target.host} cannot be found") from error
    if not addresses:
        raise Unreached(f"{target.host} has no address")
    return addresses


async def _reach(
    target: Target, addresses: Sequence[str], ways: Ways
) -> tuple[StreamReader, StreamWriter]:
    """Connect to the first address that accepts; each was vetted and gets a share of the time."""
    context, name = (ways.context, target.host) if target.is_secure else (None, None)
    candidates = addresses[:_MOST_ADDRESSES]
    errors: list[OSError] = []
    for address in candidates:
        try:
            async with asyncio.timeout(ways.seconds_to_connect / len(candidates)):
                return await ways.dial(address, target.port, context, name)
        except OSError as error:
            errors.append(error)
    raise errors[-1]
