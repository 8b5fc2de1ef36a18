"""Webhooks pass through the whole system and reach only allowed targets."""

import hmac
import json
from base64 import b64decode, b64encode

import pytest

from tests.acceptance.system import System
from tests.integration.webhook.receiver import OK, receiver

SECRET = f"whsec_{b64encode(b'0123456789abcdef0123456789abcdef').decode()}"
GONE = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"
BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def system(folder):
    """Yield a system whose webhooks may call this machine."""
    system = System(folder, TASKMILL_WEBHOOK_LOOPBACK="1")
    try:
        yield system.start()
    finally:
        system.stop()


@pytest.fixture
def hook():
    with receiver(None) as result:
        yield result


def sent(client, url, **fields):
    payload = {"url": url, "secret": "here", **fields}
    answer = client.post("/v1/tasks", {"type": "webhook", "payload": payload})
    assert answer.status == 202, answer
    return client.task(answer.body["id"], wait=20)


def is_signed(received):
    result = received.headers
    content = f"{result['webhook-id']}.{result['webhook-timestamp']}.".encode() + received.body
    key = b64decode(SECRET.removeprefix("whsec_"))
    wanted = b64encode(hmac.digest(key, content, "sha256")).decode()
    return result["webhook-signature"] == f"v1,{wanted}"


def test_a_webhook_arrives_signed_again_and_again_under_one_id(system, hook):
    client = system.client
    secrets = {"here": {"host": "127.0.0.1", "secrets": [SECRET]}}
    (system.folder / "home" / "webhook_secrets.json").write_text(json.dumps(secrets))
    hook.answers = [BUSY, OK, GONE]
    url = f"http://127.0.0.1:{hook.port}/orders"

    task = sent(client, url, body={"order": 17})
    assert (task["status"], task["attempt"]) == ("succeeded", 2)
    assert (task["result"]["status"], task["result"]["body"]) == (200, "ok")
    assert [is_signed(one) for one in hook.received] == [True, True]
    assert len({one.headers["webhook-id"] for one in hook.received}) == 1
    assert hook.received[0].body == b'{"order":17}'

    assert sent(client, url)["reason"] == "discarded"
    assert "is disabled" in sent(client, url)["error"]["message"]
    assert len(hook.received) == 3
    (disabled,) = client.get("/v1/endpoints/disabled").body["endpoints"]
    assert disabled["url"] == url
    assert client.post("/v1/endpoints/enable", {"url": url}).status == 200
    hook.answers = [OK]
    assert sent(client, url)["status"] == "succeeded"

    task = sent(client, f"{client.url}/v1/tasks", body={"type": "echo"})
    assert task["reason"] == "discarded"
    assert "must not call the API of a queue" in task["error"]["message"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "10.0.0.1"])
def test_this_machine_is_called_by_nobody_unless_that_is_allowed(client, host):
    payload = {"url": f"https://{host}/", "secret": "here"}
    answer = client.post("/v1/tasks", {"type": "webhook", "payload": payload})
    assert (answer.status, answer.body["field"]) == (422, "/payload/url")
