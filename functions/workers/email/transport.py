"""What a way to send mail answers, whichever it is."""

from typing import Protocol

from functions.workers.email.message import Mail
from taskmill.worker import Outcome


class Transport(Protocol):
    def send(self, mail: Mail, *, seconds: float) -> Outcome:
        """Send a mail, and answer within so many seconds whether it may have arrived."""
        ...
