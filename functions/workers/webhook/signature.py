"""Signs webhooks by Standard Webhooks 1.0, once with each live secret."""

import hmac
from base64 import b64encode
from collections.abc import Mapping, Sequence


def signed(
    secrets: Sequence[bytes], *, message_id: str, at_seconds: int, body: bytes
) -> Mapping[str, str]:
    """Return the headers that prove the sender of *body* and the time."""
    content = f"{message_id}.{at_seconds}.".encode() + body
    signatures = (hmac.digest(secret, content, "sha256") for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(at_seconds),
        "webhook-signature": " ".join(f"v1,{b64encode(one).decode()}" for one in signatures),
    }
