"""Builds a mail's bytes: validated headers, and a body in ASCII with CRLF."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from textwrap import wrap

from msgspec import UNSET, Struct

from functions.workers.email.payload import Email

LARGEST_MESSAGE = 5_000_000

_WIDTH = 76
_POLICY = SMTP.clone(cte_type="7bit")  # no server is required to accept eight bits
_FOLDED = re.compile(r"[\x20-\x7e]+(?:\r\n [\x20-\x7e]+)*")
_ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")


class Unsendable(Exception):
    """No mail can be made of this task, now or later."""


class Mail(Struct, frozen=True, kw_only=True):
    """A mail ready to send: envelope sender, recipients and bytes."""

    sender: str
    recipients: tuple[str, ...]
    message_id: str
    content: bytes


def compose(email: Email, *, sender: str, reference: str, now: datetime) -> Mail:
    """Return the mail, from *sender* unless the task names another address of the same domain."""
    author = sender if email.sender is UNSET else email.sender
    if domain_of(author) != domain_of(sender):
        raise Unsendable(
            f"mail from {address_of(author)} cannot be sent: from must be in {domain_of(sender)}"
        )
    message_id = f"<{reference}@{domain_of(sender)}>"
    content = _head(email, author, message_id, now) + _body(email)
    if len(content) > LARGEST_MESSAGE:
        raise Unsendable(f"the mail has {len(content)} bytes; the limit is {LARGEST_MESSAGE}")
    everybody = (*email.to, *email.cc, *email.bcc)
    return Mail(
        sender=address_of(author),
        recipients=tuple(dict.fromkeys(map(address_of, everybody))),
        message_id=message_id,
        content=content,
    )


def address_of(mailbox: str) -> str:
    return mailbox.rpartition("<")[2].rstrip(">")


def domain_of(mailbox: str) -> str:
    return address_of(mailbox).rpartition("@")[2].lower()


def _head(email: Email, author: str, message_id: str, now: datetime) -> bytes:
    lines = [f"{name}: {_checked(name, value)}\r\n" for name, value in _headers(email, author)]
    lines += [f"Date: {format_datetime(now)}\r\n", f"Message-ID: {message_id}\r\n"]
    return "".join(lines).encode("ascii")


def _headers(email: Email, author: str) -> Iterator[tuple[str, str]]:
    yield "From", _mailboxes([author])
    yield "To", _mailboxes(email.to)
    if email.cc:
        yield "Cc", _mailboxes(email.cc)
    if email.reply_to is not UNSET:
        yield "Reply-To", _mailboxes([email.reply_to])
    yield "Subject", _words("Subject", email.subject)
    for name, value in email.headers.items():
        yield name, _words(name, value)


def _checked(name: str, value: str) -> str:
    """Check a finished header, whatever wrote it: exactly one, folded, with nothing after it."""
    if value and not _FOLDED.fullmatch(value):
        raise Unsendable(f"the header {name} contains characters that are not allowed")
    return value


def _mailboxes(mailboxes: Iterable[str]) -> str:
    return ",\r\n ".join(map(_mailbox, mailboxes))


def _mailbox(mailbox: str) -> str:
    name, _, _ = mailbox.rpartition(" <")
    if not name:
        return mailbox
    if not name.isascii() or "=?" in name:
        return f"{_encoded('', name)}\r\n <{address_of(mailbox)}>"
    phrase = name if _ATOMS.fullmatch(name) else f'"{name}"'  # the name contains no quotes
    return f"{phrase} <{address_of(mailbox)}>"


def _words(name: str, text: str) -> str:
    """Return free text for a header, encoded where folding or decoding would change it."""
    if not text.isascii() or "=?" in text or text != " ".join(text.split()):
        return _encoded(name, text)
    width = _WIDTH - len(f"{name}: ")
    return "\r\n ".join(wrap(text, width, break_long_words=False, break_on_hyphens=False))


def _encoded(name: str, text: str) -> str:
    return Header(text, "utf-8", _WIDTH, name or None).encode(linesep="\r\n")


def _body(email: Email) -> bytes:
    body = EmailMessage(policy=_POLICY)
    if email.text:
        body.set_content(email.text)
    if email.html and email.text:
        body.add_alternative(email.html, subtype="html")
    elif email.html:
        body.set_content(email.html, subtype="html")
    return body.as_bytes(policy=_POLICY)
