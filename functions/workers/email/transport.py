"""The interface of SMTP and SES, whichever sends the mail."""

from typing import Protocol

from functions.workers.email.message import Mail
from taskmill.worker import Outcome


class Transport(Protocol):
    def send(self, mail: Mail, *, seconds: float) -> Outcome:
        """Send a mail and report within the given seconds whether it may have arrived."""
        ...
