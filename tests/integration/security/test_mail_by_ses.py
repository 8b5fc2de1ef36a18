"""SES sends the mail with its identity, or its answer decides the task's outcome."""

import socket
import time
from datetime import UTC, datetime

import boto3
import msgspec
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from functions.workers.email.message import compose
from functions.workers.email.payload import Email
from functions.workers.email.ses import Ses
from taskmill.worker import Discard, Retry, Succeeded

PAYLOAD = {"to": ["ada@example.com"], "bcc": ["bob@example.com"], "subject": "hello", "text": "x"}
PLENTY = 60.0


def a_mail():
    email = msgspec.convert(PAYLOAD, Email)
    return compose(email, sender="shop@example.com", reference="t-1", now=datetime.now(UTC))


def test_ses_sends_for_an_identity_that_it_knows(account):
    refused = Ses().send(a_mail(), seconds=PLENTY)
    assert isinstance(refused, Discard)
    assert "MessageRejected" in refused.reason
    boto3.client("sesv2").create_email_identity(EmailIdentity="example.com")
    answer = Ses().send(a_mail(), seconds=PLENTY)
    assert isinstance(answer, Succeeded)
    assert answer.result["message_id"] == "<t-1@example.com>"
    assert answer.result["ses_message_id"]


class Client:
    """Replaces SES for failures that moto cannot simulate."""

    def __init__(self, error):
        self.error = error

    def send_email(self, **_):
        raise self.error


def an_answer(code, status):
    response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "SendEmail")


@pytest.mark.parametrize(
    ("error", "kind", "in_doubt"),
    [
        (an_answer("TooManyRequestsException", 429), Retry, False),
        (an_answer("SendingPausedException", 400), Retry, False),
        (an_answer("AccessDeniedException", 403), Retry, False),
        (an_answer("InternalFailure", 500), Retry, True),
        (an_answer("BadRequestException", 400), Discard, None),
        (EndpointConnectionError(endpoint_url="https://ses"), Retry, False),
        (ReadTimeoutError(endpoint_url="https://ses"), Retry, True),
    ],
    ids=str,
)
def test_what_ses_says_decides(error, kind, in_doubt):
    way = Ses(open_client=lambda _seconds: Client(error))
    answer = way.send(a_mail(), seconds=PLENTY)
    assert isinstance(answer, kind)
    assert getattr(answer, "may_have_worked", None) == in_doubt


@pytest.mark.parametrize("seconds", [0.5, 2, 80])
def test_ses_is_asked_no_longer_than_its_task_has_time(seconds, account, monkeypatch):
    """It accepts the connection and never answers; only a waiting client can report that."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("AWS_ENDPOINT_URL_SESV2", address)
        began = time.monotonic()
        answer = Ses(seconds_to_answer=2).send(a_mail(), seconds=seconds)
    assert isinstance(answer, Retry)
    assert answer.may_have_worked
    assert time.monotonic() - began < 20
