"""Connection to the mail server; rereads the secret when the server rejects it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from taskmill.settings import addresses
from taskmill.settings.access import Credentials

STARTTLS: Final = "STARTTLS"
TLS: Final = "TLS"
PLAINTEXT: Final = "PLAINTEXT"
SECURITY: Final = (STARTTLS, TLS, PLAINTEXT)

_HIGHEST_PORT: Final = 65_535


class SmtpAccess(Struct, frozen=True, kw_only=True):
    server: str
    """Host and port: `mail.example.com:587`."""

    security: str = STARTTLS
    credentials: Credentials = field(default_factory=Credentials)
    ca_file: str = ""

    @property
    def host(self) -> str:
        return self.server.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.server.rpartition(":")[2])

    @property
    def is_local(self) -> bool:
        return addresses.is_loopback(self.host)

    def complaints(self) -> Iterator[str]:
        port = self.server.rpartition(":")[2]
        if not (self.host and port.isascii() and port.isdecimal() and int(port) <= _HIGHEST_PORT):
            yield "TASKMILL_SMTP_SERVER must look like mail.example.com:587"
            return
        if self.security not in SECURITY:
            yield f"TASKMILL_SMTP_SECURITY must be one of {', '.join(SECURITY)}"
        if self.security == PLAINTEXT and not self.is_local:
            yield (
                "TASKMILL_SMTP_SECURITY is PLAINTEXT, which is not allowed for the remote host "
                f"{self.host}: set it to {STARTTLS} or {TLS}"
            )
        if self.ca_file and not Path(self.ca_file).is_file():
            yield f"TASKMILL_SMTP_CA_FILE is {self.ca_file!r}, but there is no such file"
