"""What the reference pages say about mail: settings and limits."""

from collections.abc import Mapping
from typing import Final

from functions.workers.email.message import LARGEST_MESSAGE
from functions.workers.email.payload import MOST_RECIPIENTS

TITLE: Final = "Mail"
SETTINGS: Final[Mapping[str, tuple[str, str]]] = {
    "MAIL_FROM": ("the sender: `Shop <orders@example.com>`; without it no mail is sent", ""),
    "SES_IDENTITY": ("the verified domain or address that SES lets send", ""),
    "SMTP_SERVER": ("host and port of a mail server, instead of SES", ""),
    "SMTP_SECURITY": ("`STARTTLS`, `TLS` or `PLAINTEXT`", "STARTTLS"),
    "SMTP_SECRET": ("the secret with `username` and `password` of the server", ""),
    "SMTP_CA_FILE": ("authorities for the server's certificate, instead of the system's", ""),
}
LIMITS: Final = (
    ("recipients", MOST_RECIPIENTS, "", "422"),
    ("a mail as it is sent", LARGEST_MESSAGE, "bytes", "dead, `discarded`"),
)
