"""One event on its way through a function."""

import asyncio
from dataclasses import dataclass, field
from uuid import uuid4

from taskmill_local.lambdas.answer import Answer


@dataclass(slots=True, kw_only=True, eq=False)
class Invocation:
    event: bytes
    answer: asyncio.Future[Answer]
    request_id: str = field(default_factory=lambda: str(uuid4()))
    began: float = 0.0
    deliveries: int = 0

    def as_http(self, *, deadline_ms: int, function_arn: str) -> bytes:
        """Return the HTTP response to the process that asks for its next event."""
        trace = self.request_id.replace("-", "")
        # The C++ client crashes without a content type or with an empty deadline.
        head = (
            "HTTP/1.1 200 OK\r\n"
            "Content-Type: application/json\r\n"
            f"Lambda-Runtime-Aws-Request-Id: {self.request_id}\r\n"
            f"Lambda-Runtime-Invocation-Id: {self.request_id}\r\n"
            f"Lambda-Runtime-Deadline-Ms: {deadline_ms}\r\n"
            f"Lambda-Runtime-Invoked-Function-Arn: {function_arn}\r\n"
            f"Lambda-Runtime-Trace-Id: Root=1-{trace[:8]}-{trace[8:]};Sampled=0\r\n"
            f"Content-Length: {len(self.event)}\r\n\r\n"
        )
        return head.encode() + self.event  # in one piece, or Nagle waits for a delayed ACK
