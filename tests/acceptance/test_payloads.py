"""Large payloads and results pass through the whole system by links."""

import hashlib
import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

PATIENCE = 20
TEXT = "x" * 1_000_000
CONTENT = json.dumps({"say": TEXT}).encode()
REF = {"type": "echo", "size": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}


def followed(method, url, body=None, headers=None):
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=60)
    try:
        connection.request(method, f"{parts.path}?{parts.query}", body, headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def ended(client, answer):
    assert answer.status == 202, answer
    return client.task(answer.body["id"], wait=PATIENCE)


def test_a_large_payload_comes_and_goes_by_a_link(client):
    offer = client.post("/v1/payloads", REF).body
    early = client.post("/v1/tasks", {"type": "echo", "payload_ref": offer["payload_ref"]})
    assert (early.status, early.body["type"]) == (422, "payload_missing")

    upload = offer["upload"]
    more = upload["headers"] | {"Content-Length": str(len(CONTENT) + 1)}
    assert followed("PUT", upload["url"], CONTENT + b" ", more)[0] == 403
    assert followed("PUT", upload["url"], b" " + CONTENT[1:], upload["headers"])[0] == 400
    assert followed("PUT", upload["url"], CONTENT, upload["headers"])[0] == 200

    fields = {"type": "echo", "payload_ref": offer["payload_ref"]}
    task = ended(client, client.post("/v1/tasks", fields))
    assert (task["status"], task["payload_size"]) == ("succeeded", len(CONTENT))
    status, result = followed("GET", task["result_ref"]["download_url"])
    assert (status, json.loads(result)) == (200, {"say": TEXT})
    assert hashlib.sha256(result).hexdigest() == task["result_ref"]["sha256"]

    shown = client.get(f"/v1/tasks/{task['id']}?include=payload").body
    assert followed("GET", shown["payload_ref"]["download_url"]) == (200, CONTENT)


def test_a_report_is_written_and_found(client):
    payload = {"columns": ["id", "name"], "rows": [[number, "é"] for number in range(1000)]}
    task = ended(client, client.post("/v1/tasks", {"type": "report", "payload": payload}))
    assert task["status"] == "succeeded", task
    status, content = followed("GET", task["result_ref"]["download_url"])
    assert (status, content.decode().splitlines()[:2]) == (200, ["id,name", "0,é"])
    assert len(content.splitlines()) == 1001
