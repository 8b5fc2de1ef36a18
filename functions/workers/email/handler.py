"""Sends a mail by SMTP or SES; every attempt uses the same Message-ID."""

import os
from datetime import UTC, datetime, timedelta
from functools import cache

from functions.workers.email.message import Unsendable, compose, domain_of
from functions.workers.email.payload import Email
from functions.workers.email.ses import Ses
from functions.workers.email.settings import MailSettings
from functions.workers.email.smtp import Smtp
from functions.workers.email.transport import Transport
from taskmill.platform import process
from taskmill.worker import Discard, Outcome, RetryPolicy, Task, serve

_SHARE_OF_TIME = 0.9
"""Of an attempt's time; the rest is reserved for reporting the outcome."""


@process.replaceable
@cache
def settings() -> MailSettings:
    return MailSettings.from_env(os.environ)


@process.replaceable
@cache
def transport() -> Transport:
    smtp = settings().smtp
    return Ses() if smtp is None else Smtp(smtp, hello=domain_of(settings().sender))


def perform(email: Email, task: Task) -> Outcome:
    sender = settings().sender
    if not sender:
        return Discard("this deployment sends no mail: set MailFrom, and SmtpServer or SesIdentity")
    now = datetime.now(UTC)
    mail = compose(email, sender=sender, reference=task.idempotency_token, now=now)
    # After a time-out we can no longer report whether the mail may have arrived.
    seconds = (task.deadline - now).total_seconds() * _SHARE_OF_TIME
    return transport().send(mail, seconds=seconds)


process.at_init(settings)
lambda_handler = serve(
    Email,
    perform,
    max_attempts=8,
    timeout=timedelta(seconds=90),  # until now each answer of a slow server had its own limit
    retry=RetryPolicy(first_seconds=10, factor=3, cap_seconds=3600),
    discard=(Unsendable,),
)
