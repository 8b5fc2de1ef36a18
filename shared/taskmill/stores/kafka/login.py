"""Broker logins: SCRAM, IAM or none."""
# ruff: noqa: PLC0415 - botocore is slow to import, and password logins do not need it

import hashlib
import hmac
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, urlsplit

from taskmill.settings.access import Credentials, KafkaAccess
from taskmill.settings.addresses import SCRAM
from taskmill.stores.kafka.errors import LoginRefused
from taskmill.stores.kafka.protocol import Api, ByteReader, octets, text

Ask: TypeAlias = Callable[[Api, bytes], ByteReader]

_IAM = "AWS_MSK_IAM"
_ACTION = "kafka-cluster:Connect"
_SECONDS_TO_LIVE = 900
_FEWEST_ROUNDS = 4096
_MOST_ROUNDS = 1_000_000


def log_in(ask: Ask, access: KafkaAccess, host: str) -> None:
    try:
        if access.security == SCRAM:
            _shake_hands(ask, SCRAM)
            _log_in_by_scram(ask, access.credentials)
        elif access.security == _IAM:
            _shake_hands(ask, _IAM)
            _say(ask, iam_request(host))
    except ConnectionError as error:
        raise LoginRefused(
            f"the broker hung up during login by {access.security}: "
            "it does not accept the user, the password or the mechanism"
        ) from error


def _shake_hands(ask: Ask, mechanism: str) -> None:
    answer = ask(Api.SASL_HANDSHAKE, text(mechanism))
    if answer.number("h"):
        known = ", ".join(answer.text() for _ in answer.count()) or "none"
        raise LoginRefused(f"the broker does not support {mechanism}; it supports {known}")


def _say(ask: Ask, message: bytes) -> bytes:
    answer = ask(Api.SASL_AUTHENTICATE, octets(message))
    error, sentence = answer.number("h"), answer.text()
    if error:
        raise LoginRefused(f"the broker refused the login: {sentence or error}")
    return answer.octets()


def _log_in_by_scram(ask: Ask, credentials: Credentials) -> None:
    """Prove that we know the password, and have the broker prove it too: RFC 5802."""
    user = credentials.username.replace("=", "=3D").replace(",", "=2C")
    nonce = b64encode(os.urandom(24)).decode()
    bare = f"n={user},r={nonce}"
    challenge = _say(ask, f"n,,{bare}".encode()).decode()
    fields = dict(part.split("=", 1) for part in challenge.split(","))
    rounds = int(fields["i"])
    if not fields["r"].startswith(nonce) or not _FEWEST_ROUNDS <= rounds <= _MOST_ROUNDS:
        raise LoginRefused("the broker's challenge does not match our message")
    salted_password = hashlib.pbkdf2_hmac(
        "sha512", credentials.password.encode(), b64decode(fields["s"]), rounds
    )
    ending = f"c=biws,r={fields['r']}"
    message = f"{bare},{challenge},{ending}".encode()
    key = _hmac(salted_password, b"Client Key")
    signature = _hmac(hashlib.sha512(key).digest(), message)
    proof = bytes(ours ^ theirs for ours, theirs in zip(key, signature, strict=True))
    answer = _say(ask, f"{ending},p={b64encode(proof).decode()}".encode())
    expected = b"v=" + b64encode(_hmac(_hmac(salted_password, b"Server Key"), message))
    if not hmac.compare_digest(answer.split(b",")[0], expected):
        raise LoginRefused(
            "the broker cannot prove that it knows the password: it is not our broker"
        )


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha512")


def iam_request(host: str) -> bytes:
    """Return a signed request to connect to the broker *host* with this process's role."""
    from botocore.model import ServiceId
    from botocore.session import get_session
    from botocore.signers import RequestSigner

    session = get_session()
    region = session.get_config_variable("region")
    signer = RequestSigner(
        ServiceId("kafka-cluster"),
        region,
        "kafka-cluster",
        "v4",
        session.get_credentials(),
        session.get_component("event_emitter"),
    )
    url = f"https://{host}/?Action={quote(_ACTION, safe='')}"
    link: str = signer.generate_presigned_url(
        {"method": "GET", "url": url, "body": {}, "headers": {}, "context": {}},
        operation_name="Connect",
        expires_in=_SECONDS_TO_LIVE,
        region_name=region,
    )
    fields = {name.lower(): value for name, value in parse_qsl(urlsplit(link).query)}
    request = {"version": "2020_10_22", "host": host, "user-agent": "taskmill", **fields}
    return json.dumps(request, separators=(",", ":")).encode()
