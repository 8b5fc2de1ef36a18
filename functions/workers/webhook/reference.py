"""Settings and limits of webhooks for the reference pages."""

from collections.abc import Mapping
from typing import Final

from functions.workers.webhook.answer import BODY_LIMIT
from functions.workers.webhook.exchange import SECONDS_TO_CONNECT
from functions.workers.webhook.payload import HEADERS_LIMIT
from functions.workers.webhook.verdict import LATEST, SOONEST
from taskmill.egress.endpoints import MOST_DISABLED
from taskmill.egress.ssrf_guard import LONGEST_URL

TITLE: Final = "Webhooks"
SETTINGS: Final[Mapping[str, tuple[str, str]]] = {
    "WEBHOOK_SECRET": ("secret that webhooks are signed with", ""),
    "WEBHOOK_CA_FILE": ("CA file for endpoints, in addition to the system's", ""),
    "API_HOST": ("host of this deployment's own API, which webhooks may not call", ""),
    "WEBHOOK_LOOPBACK": ("local only: `1` lets webhooks call this machine", ""),
    "WEBHOOK_SECRET_FILE": ("local only: a file instead of the secret", ""),
}
LIMITS: Final = (
    ("URL", LONGEST_URL, "characters", "422"),
    ("headers", HEADERS_LIMIT, "bytes", "422"),
    ("time to connect", SECONDS_TO_CONNECT, "seconds", "retried"),
    ("stored body of a response", BODY_LIMIT, "bytes", "cut, `is_cut`"),
    ("shortest `Retry-After`", SOONEST, "", "raised to this"),
    ("longest `Retry-After`", LATEST, "", "lowered to this"),
    (
        "disabled endpoints that are remembered",
        MOST_DISABLED,
        "",
        "the oldest are forgotten",
    ),
)
