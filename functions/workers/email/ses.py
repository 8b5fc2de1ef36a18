"""Sends mail by Amazon SES, with a role instead of a password.

boto3 is imported for the first mail: a deployment that uses SMTP never pays for it.
"""
# ruff: noqa: PLC0415 - see above

from collections.abc import Callable
from threading import Lock
from typing import Any, Final

from functions.workers.email.message import Mail
from taskmill.worker import Discard, Outcome, Retry, Succeeded

SECONDS_TO_CONNECT: Final = 5
SECONDS_TO_ANSWER: Final = 20

_HOPELESS: Final = frozenset(
    {
        "BadRequestException",
        "MailFromDomainNotVerified",
        "MailFromDomainNotVerifiedException",
        "MessageRejected",
        "NotFoundException",
    }
)
_SERVER_ERROR: Final = 500


class Ses:
    """SES replaces our Message-ID with its own and returns it."""

    def __init__(
        self,
        *,
        open_client: Callable[[int], Any] | None = None,
        seconds_to_answer: int = SECONDS_TO_ANSWER,
    ) -> None:
        """*open_client* opens a client whose calls take at most the given seconds."""
        self._open = open_client or _open
        self._longest = SECONDS_TO_CONNECT + seconds_to_answer
        self._lock = Lock()
        self._clients: dict[int, Any] = {}

    def send(self, mail: Mail, *, seconds: float) -> Outcome:
        from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError
        from botocore.exceptions import EndpointConnectionError as Unreachable

        try:
            response = self._client(seconds).send_email(
                FromEmailAddress=mail.sender,
                Destination={"ToAddresses": list(mail.recipients)},
                Content={"Raw": {"Data": mail.content}},
            )
        except ClientError as error:
            return _refused(error.response)
        except (ConnectTimeoutError, Unreachable) as error:
            return Retry(f"SES cannot be reached: {error}")
        except BotoCoreError as error:
            return Retry(f"SES may have taken the mail: {error}", may_have_worked=True)
        return Succeeded({"message_id": mail.message_id, "ses_message_id": response["MessageId"]})

    def _client(self, seconds: float) -> Any:
        """Return a client that reports the outcome within *seconds*, and at least one."""
        patience = min(max(int(seconds), 1), self._longest)
        with self._lock:  # boto3 cannot create clients concurrently
            if patience not in self._clients:
                self._clients[patience] = self._open(patience)
            return self._clients[patience]


def _open(patience: int) -> Any:
    import boto3
    from botocore.config import Config

    connecting = patience * SECONDS_TO_CONNECT / (SECONDS_TO_CONNECT + SECONDS_TO_ANSWER)
    config = Config(
        connect_timeout=connecting,
        read_timeout=patience - connecting,
        retries={"total_max_attempts": 1},  # retries are the queue's job
    )
    return boto3.client("sesv2", config=config)


def _refused(response: Any) -> Outcome:
    code, words = response["Error"]["Code"], response["Error"].get("Message", "")
    if code in _HOPELESS:
        return Discard(f"SES refused the mail: {code}: {words}")
    status = response["ResponseMetadata"]["HTTPStatusCode"]
    reason = f"SES did not take the mail: {code}: {words}"
    return Retry(reason, may_have_worked=status >= _SERVER_ERROR)
