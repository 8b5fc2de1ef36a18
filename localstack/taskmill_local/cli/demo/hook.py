"""The demo's webhook receiver, which accepts only signed requests."""

import hmac
import json
import os
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, Final

SECRET_NAME: Final = "demo"  # noqa: S105 - a name
_HOST: Final = "127.0.0.1"


@dataclass(slots=True)
class Receiver:
    """Records the ids of correctly signed webhooks, each once."""

    port: int = 0
    key: bytes = field(default_factory=lambda: os.urandom(32))
    believed: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{_HOST}:{self.port}/orders"

    @property
    def secrets(self) -> str:
        """Return the signing secrets, in the form that the worker reads."""
        secret = f"whsec_{b64encode(self.key).decode()}"
        return json.dumps({SECRET_NAME: {"host": _HOST, "secrets": [secret]}})

    def believes(self, headers: Any, body: bytes) -> bool:
        """Verify one signature by Standard Webhooks, and record new ids."""
        message_id = headers.get("webhook-id", "")
        content = f"{message_id}.{headers.get('webhook-timestamp', '')}.".encode() + body
        signature = f"v1,{b64encode(hmac.digest(self.key, content, 'sha256')).decode()}"
        if not hmac.compare_digest(
            headers.get("webhook-signature", "").encode(), signature.encode()
        ):
            return False
        if message_id not in self.believed:
            self.believed.append(message_id)
        return True


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    server = HTTPServer((_HOST, 0), _handler_of(receiver))
    receiver.port = server.server_port
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler_of(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            is_fine = receiver.believes(self.headers, body)
            self.send_response(HTTPStatus.NO_CONTENT if is_fine else HTTPStatus.UNAUTHORIZED)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Suppress request logs: the demo reports arrivals itself."""

    return Handler
