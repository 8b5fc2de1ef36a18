"""A TLS server with a given certificate that forwards to a plaintext store."""

import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

_SSL_REQUEST = bytes.fromhex("0000000804d2162f")
"""How a client of PostgreSQL asks, in plaintext, whether it may speak TLS."""
_GLANCE_SECONDS = 0.05


@contextmanager
def tls_front(context: ssl.SSLContext, upstream: int, *, asks: bool = False) -> Iterator[int]:
    """Yield the port of a front to *upstream*; `asks` is for PostgreSQL's SSLRequest."""
    is_over = Event()
    threads: list[Thread] = []

    def accept() -> None:
        while not is_over.is_set():
            with suppress(TimeoutError):
                client, _ = listener.accept()
                client.settimeout(5)
                thread = Thread(target=_serve, args=(client, context, upstream, is_over, asks))
                threads.append(thread)
                thread.start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_GLANCE_SECONDS)
        threads.append(Thread(target=accept))
        threads[0].start()
        try:
            yield listener.getsockname()[1]
        finally:
            is_over.set()
            for thread in threads:
                thread.join()


def _serve(
    client: socket.socket,
    context: ssl.SSLContext,
    upstream: int,
    is_over: Event,
    asks: bool,  # noqa: FBT001 - a thread is given its arguments by their places
) -> None:
    with suppress(OSError), client:
        if asks:
            assert client.recv(len(_SSL_REQUEST)) == _SSL_REQUEST
            client.sendall(b"S")
        with (
            context.wrap_socket(client, server_side=True) as secured,
            socket.create_connection(("127.0.0.1", upstream)) as store,
        ):
            while not is_over.is_set() and _pass_on(secured, store):
                pass


def _pass_on(secured: ssl.SSLSocket, store: socket.socket) -> bool:
    """Forward data from either side; return False once one has closed."""
    ready, _, _ = select.select([secured, store], [], [], _GLANCE_SECONDS)
    for source, target in ((secured, store), (store, secured)):
        if source in ready:
            octets = source.recv(65_536)
            if source is secured and (waiting := secured.pending()):
                octets += secured.recv(waiting)
            if not octets:
                return False
            target.sendall(octets)
    return True
