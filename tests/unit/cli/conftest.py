"""A fake system for commands: records requests and returns a test's responses."""

import json
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest


class Stub:
    def __init__(self):
        self.requests = []
        self._answers = deque()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def answers(self, *bodies, status=200):
        self._answers += [(status, body) for body in bodies]

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def _handler(stub):  # noqa: N805 - the handler below has a self of its own
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                is_json = self.headers.get("Content-Type") == "application/json"
                result = json.loads(body) if is_json else body or None
                stub.requests.append((self.command, self.path, result))
                status, answer = stub._answers.popleft()
                octets = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(octets)))
                self.end_headers()
                self.wfile.write(octets)

            def do_POST(self):
                self.do_GET()

            def do_PUT(self):
                self.do_GET()

            def do_PATCH(self):
                self.do_GET()

            def do_DELETE(self):
                self.do_GET()

            def log_message(self, *_):
                pass

        return Handler


@pytest.fixture
def stub(monkeypatch):
    stub = Stub()
    monkeypatch.setenv("TASKMILL_URL", stub.url)
    yield stub
    stub.stop()
