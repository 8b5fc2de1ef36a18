"""An HTTP client for a running system."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection
from urllib.parse import urlsplit

PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict
    text: str

    @property
    def body(self):
        return json.loads(self.text)


class Client:
    def __init__(self, url):
        self.url = url
        self.parts = urlsplit(url)

    def get(self, target):
        return self.ask("GET", target)

    def post(self, target, body, **headers):
        return self.ask("POST", target, json.dumps(body).encode(), **headers)

    def ask(self, method, target, body=None, **headers):
        connection = HTTPConnection(self.parts.hostname, self.parts.port, timeout=PATIENCE_SECONDS)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            result = {"Content-Type": "application/json"} | named
            connection.request(method, target, body, result)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read().decode())
        finally:
            connection.close()

    def submit(self, payload, **fields):
        """Submit an echo task that must be accepted, and return it."""
        answer = self.post("/v1/tasks", {"type": "echo", "payload": payload, **fields})
        assert answer.status in {200, 202}, answer
        return answer.body

    def task(self, task_id, wait=None):
        query = "" if wait is None else f"?wait={wait}"
        answer = self.get(f"/v1/tasks/{task_id}{query}")
        assert answer.status == 200, answer
        return answer.body

    def platform(self):
        return self.get("/platform").body
