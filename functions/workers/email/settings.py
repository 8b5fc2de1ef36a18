"""Mail settings of this deployment, read once; reports all problems together."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Self

import msgspec
from msgspec import Struct

from functions.workers.email.access import STARTTLS, SmtpAccess
from functions.workers.email.message import address_of, domain_of
from functions.workers.email.payload import Mailbox
from taskmill.core.errors import SettingsInvalid
from taskmill.settings import secrets
from taskmill.settings.access import Access, Credentials
from taskmill.settings.stores import ReadByName


class MailSettings(Struct, frozen=True, kw_only=True):
    sender: str
    """The default sender; empty when no mail is sent at all."""

    smtp: Access[SmtpAccess] | None
    """None when mail is sent by SES."""

    @classmethod
    def from_env(
        cls, env: Mapping[str, str], *, read_secret: ReadByName = secrets.read_secret
    ) -> Self:
        """Read the settings, or raise with everything that is missing or wrong."""
        sender = env.get("TASKMILL_MAIL_FROM", "")
        server = env.get("TASKMILL_SMTP_SERVER", "")
        identity = env.get("TASKMILL_SES_IDENTITY", "")
        complaints = _of_the_whole(sender, server, identity)
        smtp = None
        if server:
            read = partial(_access, env, read_secret)
            smtp = Access(read(), partial(read, fresh=True))
            complaints += smtp.value.complaints()
        if complaints:
            raise SettingsInvalid("; ".join(complaints))
        return cls(sender=sender, smtp=smtp)


def _of_the_whole(sender: str, server: str, identity: str) -> list[str]:
    if not (sender or server or identity):
        return []
    complaints = []
    if not sender:
        complaints.append("TASKMILL_MAIL_FROM is missing: set the sender address")
    elif not _is_mailbox(sender):
        complaints.append("TASKMILL_MAIL_FROM must look like Shop <orders@example.com>")
    elif identity and identity.lower() not in {address_of(sender).lower(), domain_of(sender)}:
        complaints.append("TASKMILL_MAIL_FROM must belong to TASKMILL_SES_IDENTITY")
    if server and identity:
        complaints.append(
            "TASKMILL_SMTP_SERVER and TASKMILL_SES_IDENTITY exclude each other: set one"
        )
    if not (server or identity):
        complaints.append(
            "TASKMILL_SMTP_SERVER and TASKMILL_SES_IDENTITY are missing: set one of them"
        )
    return complaints


def _is_mailbox(text: str) -> bool:
    try:
        msgspec.convert(text, Mailbox)
    except msgspec.ValidationError:
        return False
    return True


def _access(env: Mapping[str, str], read_secret: ReadByName, *, fresh: bool = False) -> SmtpAccess:
    return SmtpAccess(
        server=env["TASKMILL_SMTP_SERVER"],
        security=env.get("TASKMILL_SMTP_SECURITY") or STARTTLS,
        credentials=_credentials(env.get("TASKMILL_SMTP_SECRET", ""), read_secret, fresh=fresh),
        ca_file=env.get("TASKMILL_SMTP_CA_FILE", ""),
    )


def _credentials(name: str, read_secret: ReadByName, *, fresh: bool) -> Credentials:
    if not name:
        return Credentials()
    try:
        secret = json.loads(read_secret(name, fresh=fresh))
        return Credentials(username=str(secret["username"]), password=str(secret["password"]))
    except SettingsInvalid as error:
        raise SettingsInvalid(f"TASKMILL_SMTP_SECRET: {error}") from error
    except (ValueError, KeyError, TypeError):
        # Raised without its cause, whose message may contain part of the secret.
        raise SettingsInvalid(
            "the secret of TASKMILL_SMTP_SECRET is not a JSON object with username and password"
        ) from None
