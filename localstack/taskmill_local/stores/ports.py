"""Finds free ports on the loopback that no client's own end of a connection can take meanwhile."""

import random
import socket
from contextlib import ExitStack

# Below the ranges from which systems draw the ports of outgoing connections: otherwise a client
# that knocks at a server not yet listening may be given that very port and connect to itself.
_LOWEST, _HIGHEST = 20_000, 31_000

# A server needs a moment to take its port: until then only we know that it is given away.
_given: set[int] = set()


def free_ports(count: int) -> tuple[int, ...]:
    found: list[int] = []
    with ExitStack() as held:  # all are held until all are found, so that they differ
        for port in random.sample(range(_LOWEST, _HIGHEST), _HIGHEST - _LOWEST):
            if port in _given:
                continue
            holder = held.enter_context(socket.socket())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                holder.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
            if len(found) == count:
                _given.update(found)
                return tuple(found)
    raise OSError(f"No {count} free ports between {_LOWEST} and {_HIGHEST} on the loopback.")
