"""Well-behaved and faulty functions for the tests of the Lambda emulator."""

import http.client
import logging
import multiprocessing
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

from taskmill.platform.run import Shutdown

calls = 0
heeding = Shutdown(os.environ.get("AWS_LAMBDA_RUNTIME_API"))


def echo(event, context):
    return event


def describe(event, context):
    global calls  # noqa: PLW0603 - what a warm environment keeps is the point
    calls += 1
    return {
        "pid": os.getpid(),
        "calls": calls,
        "request_id": context.aws_request_id,
        "function": context.function_name,
        "version": context.function_version,
        "memory_mb": context.memory_limit_in_mb,
        "arn": context.invoked_function_arn,
        "log_group": context.log_group_name,
        "log_stream": context.log_stream_name,
        "remaining_ms": context.get_remaining_time_in_millis(),
        "tenant": context.tenant_id,
        "client": context.client_context,
        "cwd": str(Path.cwd()),
        "environment": dict(os.environ),
    }


def wait_for_file(event, context):
    """Write one file once running, and end when another one appears."""
    Path(event["running"]).write_text(str(os.getpid()))
    while not Path(event["until"]).exists():
        time.sleep(0.005)
    return {"pid": os.getpid()}


def run_until_sigterm(event, context):
    """Respond on SIGTERM, like a worker that gives back its turns."""
    answer = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: answer.set())
    Path(event["running"]).touch()
    answer.wait()
    return "given back"


def fail(event, context):
    raise ValueError(event["why"])


def hang(event, context):
    time.sleep(60)


def block_in_c(event, context):
    re.match(r"(a+)+$", "a" * 60 + "b")  # for ages, and it never lets go of the interpreter


def leave(event, context):
    os._exit(event["status"])


def kill_itself(event, context):
    os.kill(os.getpid(), signal.SIGKILL)


def take_memory(event, context):
    hoard = bytearray(event["mb"] * 2**20)
    time.sleep(60)
    return len(hoard)


def take_memory_in_a_child(event, context):
    multiprocessing.get_context("fork").Process(target=take_memory, args=(event, None)).start()
    time.sleep(60)


def start_a_child(event, context):
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    child.start()
    Path(event["pid_file"]).write_text(str(child.pid))
    os._exit(0)


def respond_with(event, context):
    return "x" * event["bytes"]


def raise_a_long_message(event, context):
    raise ValueError("x" * event["bytes"])


def not_json(event, context):
    return {1, 2, 3}


def raw_bytes(event, context):
    return b"\x00\xffraw"


def chatter(event, context):
    print(event["line"])  # noqa: T201 - what a function prints is the point
    print(event["line"], file=sys.stderr)  # noqa: T201 - what a function prints is the point
    logging.getLogger().warning("logged")
    sys.stdout.write("no end of line")


def print_much(event, context):
    for _ in range(event["times"]):
        sys.stdout.write(event["text"] * event["repeat"] + event["end"])


def leave_a_stray(event, context):
    """Abandon a running call, and end the process with the response."""
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    shutdown = Shutdown(os.environ["AWS_LAMBDA_RUNTIME_API"])
    with shutdown.at_work():
        shutdown.leave(context.aws_request_id, {"pid": os.getpid(), "event": event})


def heed_sigterm(event, context):
    """Listen for SIGTERM; or write a file once running, and respond and exit on request."""
    if "running" not in event:
        heeding.listen()
        return {"pid": os.getpid()}
    with heeding.at_work():
        Path(event["running"]).write_text(str(os.getpid()))
        while not heeding.is_wanted:
            time.sleep(0.005)
        heeding.leave(context.aws_request_id, {"pid": os.getpid()})
    return None


def ignore_sigterm(event, context):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def ask_again(event, context):
    """Request the next event, which only the runtime client may do."""
    api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    api.request("GET", "/2018-06-01/runtime/invocation/next")
    return api.getresponse().read().decode()


def post(event, context):
    api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    api.request("POST", f"/2018-06-01/runtime/{event['path']}", "{}")
    return api.getresponse().status
