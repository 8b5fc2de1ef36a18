"""A complete request, as the front passes it on."""

import base64
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime

from taskmill_local.front.head import Head


def new_request_id() -> str:
    # In the platform's own format: fifteen characters and padding.
    return base64.b64encode(secrets.token_bytes(11)).decode()


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    head: Head
    body: bytes
    source_ip: str
    id: str = field(default_factory=new_request_id)
    arrived_at: datetime = field(default_factory=_now)
