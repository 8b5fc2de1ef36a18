"""A runtime client in pure Python, for machines without a wheel of the platform's own."""

import importlib
import json
import logging
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import TracebackType
from typing import Any, NoReturn, TypeAlias

_ROOT = "/2018-06-01/runtime/"

Handler: TypeAlias = Callable[[Any, "Context"], Any]


class Context:
    """The invocation's context, as handlers know it."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.aws_request_id = headers["lambda-runtime-aws-request-id"]
        self.invoked_function_arn = headers["lambda-runtime-invoked-function-arn"]
        self.function_name = os.environ.get("AWS_LAMBDA_FUNCTION_NAME")
        self.function_version = os.environ.get("AWS_LAMBDA_FUNCTION_VERSION")
        self.memory_limit_in_mb = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
        self.log_group_name = os.environ.get("AWS_LAMBDA_LOG_GROUP_NAME")
        self.log_stream_name = os.environ.get("AWS_LAMBDA_LOG_STREAM_NAME")
        self.client_context = None
        self.identity = None
        self.tenant_id = None
        self._deadline_ms = int(headers["lambda-runtime-deadline-ms"])

    def get_remaining_time_in_millis(self) -> int:
        return max(0, self._deadline_ms - int(time.time() * 1000))


class Fault(Exception):
    """A failure that the platform reports under its own name, without a stack trace."""

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type


class _RuntimeApi:
    """One keep-alive connection without http.client, whose import would double the cold start."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._replies = self._socket.makefile("rb")

    def next(self) -> tuple[Mapping[str, str], bytes]:
        _, headers, event = self._call("GET", "invocation/next")
        return headers, event

    def post(self, path: str, body: bytes, content_type: str = "application/json") -> None:
        status, _, reply = self._call("POST", path, body, content_type)
        if status != 202:  # noqa: PLR2004 - 202 Accepted; http.HTTPStatus costs an import
            raise ConnectionError(f"The Runtime API refused {path} with {status}: {reply!r}.")

    def _call(
        self, method: str, path: str, body: bytes = b"", content_type: str = "application/json"
    ) -> tuple[int, Mapping[str, str], bytes]:
        head = (
            f"{method} {_ROOT}{path} HTTP/1.1\r\nHost: runtime\r\n"
            f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._socket.sendall(head.encode() + body)
        return self._reply()

    def _reply(self) -> tuple[int, Mapping[str, str], bytes]:
        status_line = self._replies.readline()
        if not status_line:
            sys.exit(0)  # the platform is gone, and with it this environment
        headers = {}
        while line := self._replies.readline().strip():
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = self._replies.read(int(headers["content-length"]))
        return int(status_line.split()[1]), headers, body


def _import_handler(name: str) -> Handler:
    module_name, _, function_name = name.rpartition(".")
    if not module_name:
        raise Fault("Runtime.MalformedHandlerName", f"Bad handler '{name}': no module in it")
    try:
        module = importlib.import_module(module_name.replace("/", "."))
    except ImportError as error:
        message = f"Unable to import module '{module_name}': {error}"
        raise Fault("Runtime.ImportModuleError", message) from error
    except SyntaxError as error:
        message = f"Syntax error in module '{module_name}': {error}"
        raise Fault("Runtime.UserCodeSyntaxError", message) from error
    handler: Handler | None = getattr(module, function_name, None)
    if handler is None:
        message = f"Handler '{function_name}' missing on module '{module_name}'"
        raise Fault("Runtime.HandlerNotFound", message)
    return handler


def _decoded(event: bytes) -> Any:
    try:
        return json.loads(event)
    except ValueError as error:
        raise Fault("Runtime.UnmarshalError", f"Unable to unmarshal input: {error}") from None


def _encoded(response: Any) -> tuple[bytes, str]:
    if isinstance(response, bytes):
        return response, "application/unknown"
    try:
        return json.dumps(response, default=_number).encode(), "application/json"
    except Exception as error:  # noqa: BLE001 - its methods may raise anything
        message = f"Unable to marshal response: {error}"
        raise Fault("Runtime.MarshalError", message) from None


def _number(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _error(error: BaseException, request_id: str = "") -> bytes:
    error_type = error.error_type if isinstance(error, Fault) else type(error).__name__
    trace = [] if isinstance(error, Fault) else _trace(error.__traceback__)
    report = {
        "errorMessage": str(error),
        "errorType": error_type,
        "requestId": request_id,
        "stackTrace": trace,
    }
    lines = [f"[ERROR] {error_type}: {error}", "Traceback (most recent call last):", *trace]
    sys.stdout.write("\n".join(line.rstrip("\n") for line in lines) + "\n")
    return json.dumps(report).encode()


def _trace(trace: TracebackType | None) -> list[str]:
    frames = [frame for frame in traceback.extract_tb(trace) if frame.filename != __file__]
    return traceback.format_list(frames)


def _answer(api: _RuntimeApi, handler: Handler) -> None:
    headers, event = api.next()
    context = Context(headers)
    os.environ["_X_AMZN_TRACE_ID"] = headers.get("lambda-runtime-trace-id", "")
    _RequestId.current = context.aws_request_id
    path = f"invocation/{context.aws_request_id}/"
    try:
        response, content_type = _encoded(handler(_decoded(event), context))
    except Exception as error:  # noqa: BLE001 - a handler's error becomes a response
        api.post(path + "error", _error(error, context.aws_request_id))
    else:
        api.post(path + "response", response, content_type)


class _RequestId(logging.Filter):
    current = ""

    def filter(self, record: logging.LogRecord) -> bool:
        record.aws_request_id = self.current
        return True


def _set_up_logging() -> None:
    layout = "[%(levelname)s]\t%(asctime)s.%(msecs)03dZ\t%(aws_request_id)s\t%(message)s"
    log = logging.StreamHandler(sys.stdout)
    log.setFormatter(logging.Formatter(layout, "%Y-%m-%dT%H:%M:%S"))
    log.addFilter(_RequestId())
    logging.getLogger().addHandler(log)


def main(handler_name: str) -> NoReturn:
    api = _RuntimeApi(os.environ["AWS_LAMBDA_RUNTIME_API"])
    _set_up_logging()
    try:
        handler = _import_handler(handler_name)
    except Exception as error:  # noqa: BLE001 - an import may raise anything
        api.post("init/error", _error(error))
        sys.exit(1)
    while True:
        _answer(api, handler)


if __name__ == "__main__":
    main(sys.argv[1])
