"""How an invocation ends: with a response, or with one of the platform's failures."""

import json
import signal
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeAlias

REQUEST_LIMIT: Final = 6 * 2**20
RESPONSE_LIMIT: Final = 6_291_556  # 6 MB, and a little for the platform's own wrapping


class Failure(StrEnum):
    HANDLER_ERROR = "handler_error"
    INIT_ERROR = "init_error"
    TIMEOUT = "timeout"
    EXIT = "exit"
    OUT_OF_MEMORY = "out_of_memory"
    RESPONSE_TOO_LARGE = "response_too_large"
    REQUEST_TOO_LARGE = "request_too_large"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class Responded:
    body: bytes


@dataclass(frozen=True, slots=True)
class Failed:
    failure: Failure
    body: bytes
    """JSON with ``errorType`` and ``errorMessage``, worded as on the platform."""


Answer: TypeAlias = Responded | Failed


def failed(failure: Failure, error_type: str, message: str) -> Failed:
    return Failed(failure, json.dumps({"errorType": error_type, "errorMessage": message}).encode())


def timed_out(request_id: str, limit: timedelta) -> Failed:
    message = (
        f"RequestId: {request_id} Error: Task timed out after {limit.total_seconds():.2f} seconds"
    )
    return failed(Failure.TIMEOUT, "Sandbox.Timedout", message)


def out_of_memory(request_id: str) -> Failed:
    message = f"RequestId: {request_id} Error: Runtime exited with error: signal: killed"
    return failed(Failure.OUT_OF_MEMORY, "Runtime.OutOfMemory", message)


def exited(request_id: str, code: int) -> Failed:
    message = f"RequestId: {request_id} Error: Runtime exited with error: {exit_reason(code)}"
    return failed(Failure.EXIT, "Runtime.ExitError", message)


def unanswered(request_id: str) -> Failed:
    message = f"RequestId: {request_id} Error: Runtime asked for the next event without an answer"
    return failed(Failure.EXIT, "Runtime.ExitError", message)


def init_exited(code: int) -> Failed:
    message = f"Runtime exited with error before its first event: {exit_reason(code)}"
    return failed(Failure.INIT_ERROR, "Runtime.ExitError", message)


def init_timed_out(limit: timedelta) -> Failed:
    message = f"Init timed out after {limit.total_seconds():.2f} seconds"
    return failed(Failure.INIT_ERROR, "Sandbox.Timedout", message)


def cannot_start(function: str, error: Exception) -> Failed:
    message = f"The process of function {function} cannot be started: {error}. Is its code there?"
    return failed(Failure.INIT_ERROR, "Runtime.InvalidEntrypoint", message)


def request_too_large(size: int) -> Failed:
    message = (
        f"{size} byte payload is too large for the RequestResponse invocation type "
        f"(limit {REQUEST_LIMIT} bytes)"
    )
    return failed(Failure.REQUEST_TOO_LARGE, "RequestTooLargeException", message)


def response_too_large() -> Failed:
    message = (
        f"Response payload size exceeded maximum allowed payload size ({RESPONSE_LIMIT} bytes)."
    )
    return failed(Failure.RESPONSE_TOO_LARGE, "Function.ResponseSizeTooLarge", message)


def stopping() -> Failed:
    message = "The platform is stopping: start it again to invoke the function."
    return failed(Failure.STOPPING, "Platform.Stopping", message)


def exit_reason(code: int) -> str:
    if code < 0:
        return f"signal: {(signal.strsignal(-code) or str(-code)).lower()}"
    return f"exit status {code}"


def message_of(failure: Failed) -> str:
    try:
        message = json.loads(failure.body)["errorMessage"]
    except (ValueError, LookupError, TypeError):  # written by a function's own client, perhaps
        message = failure.body.decode(errors="replace")
    return str(message)
