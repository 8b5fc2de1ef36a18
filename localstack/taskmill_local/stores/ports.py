"""Finds free loopback ports that no outgoing connection can take meanwhile."""

import json
import random
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeAlias

from taskmill_local.errors import StoreFailed

Draw: TypeAlias = Callable[[int], Sequence[int]]

# Below the range from which systems draw the ports of outgoing connections: otherwise a client of a
# server that is not yet listening may get that very port and connect to itself.
_LOWEST, _HIGHEST = 20_000, 31_000

# A server needs a moment to bind its port: until then only we know that it is taken.
_in_use: set[int] = set()


def free_ports(count: int) -> tuple[int, ...]:
    ports: list[int] = []
    with ExitStack() as holders:  # all are held until all are found, so that they differ
        for port in random.sample(range(_LOWEST, _HIGHEST), _HIGHEST - _LOWEST):
            if port in _in_use:
                continue
            holder = holders.enter_context(socket.socket())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                holder.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(port)
            if len(ports) == count:
                _in_use.update(ports)
                return tuple(ports)
    raise OSError(f"No {count} free ports between {_LOWEST} and {_HIGHEST} on the loopback.")


def kept_ports(note: Path, count: int, *, draw: Draw, fixed: int | None = None) -> list[int]:
    """Return the ports of the last start where they are free, and others elsewhere.

    Settings of other programs that name these ports then stay valid from start to start.
    """
    last = _noted(note)
    choice = [port if is_free(port) else None for port in (last + [0] * count)[:count]]
    if fixed is not None:
        choice[0] = fixed
    replacements = iter(draw(choice.count(None)) if None in choice else ())
    ports = [port if port is not None else next(replacements) for port in choice]
    note.write_text(json.dumps(ports))
    return ports


def the_fixed_port(name: str, port: int | None) -> int | None:
    """Return the port that the setting names, which must be free."""
    if port is not None and not is_free(port):
        raise StoreFailed(f"{name} is {port}, which another program uses. Set it to a free port.")
    return port


def is_free(port: int) -> bool:
    if not port:
        return False
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):
            holder.bind(("127.0.0.1", port))
            return True
    return False


def _noted(note: Path) -> list[int]:
    with suppress(OSError, ValueError, TypeError):
        return [int(port) for port in json.loads(note.read_text())]
    return []
