"""Sends mail by SMTP, and knows at which step it may have arrived without a confirmation."""

import smtplib
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from threading import Timer
from typing import Final

from msgspec import Struct

from functions.workers.email.access import STARTTLS, TLS, SmtpAccess
from functions.workers.email.message import Mail
from taskmill.settings.access import Access
from taskmill.stores import tls
from taskmill.worker import Discard, Outcome, Retry, Succeeded

_GO_ON: Final = 354
_PERMANENT: Final = 5
_DONE: Final = 2
_REFUSED: Final = (4, _PERMANENT)


class Patience(Struct, frozen=True, kw_only=True):
    """For how many seconds a server is waited for."""

    to_connect: float = 5
    for_an_answer: float = 10
    to_take_a_mail: float = 30
    to_part: float = 1


USUAL: Final = Patience()


class Smtp:
    """One connection for each mail: a server that hangs blocks only this one."""

    def __init__(
        self, access: Access[SmtpAccess], *, hello: str, patience: Patience = USUAL
    ) -> None:
        self._access = access
        self._hello = hello
        self._patience = patience

    def send(self, mail: Mail, *, seconds: float) -> Outcome:
        until = time.monotonic() + seconds
        try:
            connection = self._access.open(partial(self._connect, until), _is_refusal)
        except OSError as error:  # smtplib's errors are a subclass
            return Retry(f"the mail server refused the login: {_why(error)}")
        try:
            with _hung_up_at(until, connection):
                return _converse(connection, mail, self._patience)
        except OSError as error:
            return Retry(f"the mail server disconnected before the mail was sent: {_why(error)}")
        finally:
            _take_leave(connection, self._patience)

    def _connect(self, until: float, access: SmtpAccess) -> smtplib.SMTP:
        connection = self._reach(access)
        try:
            _wait(connection, self._patience.for_an_answer)
            with _hung_up_at(until, connection):
                self._enter(connection, access)
        except BaseException:
            connection.close()
            raise
        return connection

    def _enter(self, connection: smtplib.SMTP, access: SmtpAccess) -> None:
        if access.security == STARTTLS:
            connection.starttls(context=_context(access))
        connection.ehlo_or_helo_if_needed()
        if access.credentials.are_whole:
            connection.login(access.credentials.username, access.credentials.password)

    def _reach(self, access: SmtpAccess) -> smtplib.SMTP:
        if access.security == TLS:
            return smtplib.SMTP_SSL(
                access.host,
                access.port,
                local_hostname=self._hello,
                timeout=self._patience.to_connect,
                context=_context(access),
            )
        return smtplib.SMTP(
            access.host, access.port, local_hostname=self._hello, timeout=self._patience.to_connect
        )


@contextmanager
def _hung_up_at(until: float, connection: smtplib.SMTP) -> Iterator[None]:
    """Close the connection when the time is over, so that the current step can be reported."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("the time of this attempt is over")
    timer = Timer(seconds, _hang_up, [connection])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _hang_up(connection: smtplib.SMTP) -> None:
    if connection.sock is not None:
        with suppress(OSError):
            # Not the method of a TLS socket, which would briefly continue in plaintext.
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)


def _take_leave(connection: smtplib.SMTP, patience: Patience) -> None:
    """Send QUIT, as servers expect; its answer changes nothing."""
    with suppress(OSError):
        _wait(connection, patience.to_part)
        connection.quit()
    connection.close()


def _wait(connection: smtplib.SMTP, seconds: float) -> None:
    """Stop waiting for individual answers from here on."""
    if connection.sock is not None:  # the server has already closed the connection
        connection.sock.settimeout(seconds)


def _context(access: SmtpAccess) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=access.ca_file or None)


def _converse(connection: smtplib.SMTP, mail: Mail, patience: Patience) -> Outcome:
    size = f" SIZE={len(mail.content)}" if connection.has_extn("size") else ""
    code, words = connection.docmd("MAIL", f"FROM:<{mail.sender}>{size}")
    if code // 100 != _DONE:
        return _refused(f"the sender {mail.sender}", code, words)
    refusals = {one: refusal for one in mail.recipients if (refusal := _offer(connection, one))}
    if not_now := [refusal for refusal in refusals.values() if isinstance(refusal, Retry)]:
        return not_now[0]  # deliver to nobody, so that nobody gets it twice
    if len(refusals) == len(mail.recipients):
        return Discard(_reasons(list(refusals.values())))
    reasons = {one: refusal.reason for one, refusal in refusals.items()}
    return _hand_over(connection, mail, reasons, patience)


def _offer(connection: smtplib.SMTP, recipient: str) -> Retry | Discard | None:
    code, words = connection.docmd("RCPT", f"TO:<{recipient}>")
    return None if code // 100 == _DONE else _refused(f"the recipient {recipient}", code, words)


def _hand_over(
    connection: smtplib.SMTP, mail: Mail, reasons: dict[str, str], patience: Patience
) -> Outcome:
    code, words = connection.docmd("DATA")
    if code != _GO_ON:
        return _refused("the mail", code, words)
    try:
        _wait(connection, patience.to_take_a_mail)
        connection.send(stuffed(mail.content))
        code, words = connection.getreply()
    except OSError as error:
        return _in_doubt(_why(error))
    if code // 100 == _DONE:
        return Succeeded({"message_id": mail.message_id, "refused": reasons})
    return _refused("the mail", code, words) if code // 100 in _REFUSED else _in_doubt(_text(words))


def _in_doubt(why: str) -> Retry:
    reason = f"the mail server may have accepted the mail without confirming it: {why}"
    return Retry(reason, may_have_worked=True)


def stuffed(content: bytes) -> bytes:
    """Return *content* dot-stuffed, followed by the line that ends the mail."""
    text = content if content.endswith(b"\r\n") else content + b"\r\n"
    return text.replace(b"\r\n.", b"\r\n..") + b".\r\n"


def _refused(what: str, code: int, words: bytes) -> Retry | Discard:
    reason = f"the mail server refused {what}: {code} {_text(words)}"
    return Discard(reason) if code // 100 == _PERMANENT else Retry(reason)


def _text(words: bytes | str) -> str:
    return words if isinstance(words, str) else words.decode("utf-8", "replace")


def _reasons(refusals: Sequence[Retry | Discard]) -> str:
    return "; ".join(refusal.reason for refusal in refusals)


def _is_refusal(error: Exception) -> bool:
    return isinstance(error, smtplib.SMTPAuthenticationError)


def _why(error: OSError) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{error.smtp_code} {_text(error.smtp_error)}"
    return tls.why(error, setting="TASKMILL_SMTP_CA_FILE")
