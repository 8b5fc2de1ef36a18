"""Receivers that implement Standard Webhooks accept our signatures."""

from base64 import b64encode
from datetime import UTC, datetime

import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from functions.workers.webhook.signature import signed

SECRETS = (b"1" * 24, b"2" * 64)


def receiver(secret):
    return standardwebhooks.Webhook(f"whsec_{b64encode(secret).decode()}")


def now():
    return int(datetime.now(UTC).timestamp())


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers()))
def test_receivers_with_either_secret_take_it(payload):
    import json  # noqa: PLC0415 - only here

    body = json.dumps(payload).encode()
    headers = signed(SECRETS, message_id="0193-17", at_seconds=now(), body=body)
    for secret in SECRETS:
        assert receiver(secret).verify(body, dict(headers)) == payload


@pytest.mark.parametrize(
    "changed",
    [
        lambda _at: {"webhook-id": "0193-18"},
        lambda at: {"webhook-timestamp": str(at + 1)},
        lambda at: {"webhook-timestamp": str(at - 1_000)},
        lambda _at: {"webhook-signature": "v1,AAAA"},
    ],
    ids=["id", "a second later", "long ago", "signature"],
)
def test_receivers_notice_every_change(changed):
    at = now()
    headers = signed(SECRETS, message_id="0193-17", at_seconds=at, body=b"{}")
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        receiver(SECRETS[0]).verify(b"{}", dict(headers) | changed(at))


def test_receivers_notice_another_body_and_another_secret():
    headers = dict(signed(SECRETS, message_id="0193-17", at_seconds=now(), body=b"{}"))
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        receiver(SECRETS[0]).verify(b"[]", headers)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        receiver(b"3" * 32).verify(b"{}", headers)
