"""Settings and limits of mail for the reference pages."""

from collections.abc import Mapping
from typing import Final

from functions.workers.email.message import LARGEST_MESSAGE
from functions.workers.email.payload import MOST_RECIPIENTS

TITLE: Final = "Mail"
SETTINGS: Final[Mapping[str, tuple[str, str]]] = {
    "MAIL_FROM": ("sender: `Shop <orders@example.com>`; without it no mail is sent", ""),
    "SES_IDENTITY": ("verified SES identity (domain or address)", ""),
    "SMTP_SERVER": ("host and port of a mail server to use instead of SES", ""),
    "SMTP_SECURITY": ("`STARTTLS`, `TLS` or `PLAINTEXT`", "STARTTLS"),
    "SMTP_SECRET": ("secret with `username` and `password` for the server", ""),
    "SMTP_CA_FILE": ("CA file for the server's certificate, instead of the system's", ""),
}
LIMITS: Final = (
    ("recipients", MOST_RECIPIENTS, "", "422"),
    ("encoded mail", LARGEST_MESSAGE, "bytes", "dead, `discarded`"),
)
