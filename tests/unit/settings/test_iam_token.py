"""The IAM token with which a deployed function logs in to Redis."""

from urllib.parse import parse_qs, urlsplit

import pytest

from taskmill.core.errors import StoreUnavailable
from taskmill.settings import Settings
from taskmill.stores.redis.iam import iam_token
from taskmill.stores.redis.session import Session

ENV = {
    "TASKMILL_REDIS_URL": "rediss://taskmill-dev@127.0.0.1:1/0",
    "TASKMILL_REDIS_CACHE": "taskmill-dev",
}


@pytest.fixture(autouse=True)
def account(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")


def test_a_token_is_a_signed_wish_to_connect():
    token = iam_token("taskmill-dev", "cache-1")
    asked = urlsplit(f"https://{token}")
    fields = {name: value for name, (value,) in parse_qs(asked.query).items()}
    signature = fields.pop("X-Amz-Signature")
    date = fields.pop("X-Amz-Date")
    assert (asked.netloc, asked.path, len(signature)) == ("cache-1", "/", 64)
    assert fields == {
        "Action": "connect",
        "User": "taskmill-dev",
        "ResourceType": "ServerlessCache",
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"AKIDEXAMPLE/{date[:8]}/eu-central-1/elasticache/aws4_request",
        "X-Amz-Expires": "900",
        "X-Amz-SignedHeaders": "host",
    }


def test_each_user_and_cache_has_a_token_of_its_own():
    pairs = [("a", "b"), ("b", "b"), ("a", "c")]
    assert len({iam_token(user, cache) for user, cache in pairs}) == 3


def test_a_named_cache_is_connected_to_with_a_token():
    settings = Settings.from_env(ENV, needs=("redis",))
    assert settings.redis.value.cache == "taskmill-dev"
    with pytest.raises(StoreUnavailable):
        Session(settings.redis).run_id()
