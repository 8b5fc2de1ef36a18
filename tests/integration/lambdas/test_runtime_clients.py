"""Both runtime clients behave the same, for the function and for its caller."""

import asyncio
import json
import os
import sys

import pytest

from taskmill_local.lambdas.answer import Failure, Responded
from tests.integration.lambdas.stage import FUNCTIONS, SECOND, a_plan, staged, told

MEGABYTE = 2**20


def test_the_caller_gets_what_the_function_responds(client, tmp_path):
    async def run():
        async with staged(a_plan("echo"), logs=tmp_path, client=client) as stage:
            event = {"text": "Zürich 東京 🚀 \u2028", "list": [1, 2.5, None, True]}
            assert await stage.result("echo", event) == event

    asyncio.run(run())


def test_an_event_of_five_hundred_kilobytes_gets_through(client, tmp_path):
    async def run():
        async with staged(a_plan("echo"), logs=tmp_path, client=client) as stage:
            event = ["é" * 250_000, "x" * 500_000]
            assert await stage.result("echo", event) == event

    asyncio.run(run())


def test_bytes_are_responded_as_they_are(client, tmp_path):
    async def run():
        async with staged(a_plan("raw_bytes"), logs=tmp_path, client=client) as stage:
            assert await stage.invoke("raw_bytes") == Responded(b"\x00\xffraw")

    asyncio.run(run())


def test_the_context_tells_about_the_invocation(client, tmp_path):
    async def run():
        plan = a_plan("describe", memory_mb=192, timeout=700 * SECOND)
        async with staged(plan, logs=tmp_path, client=client) as stage:
            return await stage.result("describe")

    seen = asyncio.run(run())
    assert seen["function"] == "describe"
    assert seen["version"] == "$LATEST"
    assert seen["memory_mb"] == "192"
    assert seen["arn"].endswith(":function:describe")
    assert seen["log_group"] == "/aws/lambda/describe"
    assert seen["log_stream"].endswith("[$LATEST]1")
    assert len(seen["request_id"]) == 36
    assert seen["tenant"] is None
    assert seen["client"] is None
    assert 600_000 < seen["remaining_ms"] <= 700_000


def test_the_environment_is_built_from_nothing_but_what_is_named(client, tmp_path, monkeypatch):
    monkeypatch.setenv("OF_THE_DEVELOPER", "secret")

    async def run():
        plan = a_plan("describe", environment={"OF_THE_FUNCTION": "1"})
        extra = {"OF_THE_PLATFORM": "2", "AWS_REGION": "eu-central-1"}
        async with staged(plan, logs=tmp_path, client=client, extra_environment=extra) as stage:
            return await stage.result("describe")

    seen = asyncio.run(run())
    environment = seen["environment"]
    assert "OF_THE_DEVELOPER" not in environment
    assert environment["OF_THE_FUNCTION"] == "1"
    assert environment["OF_THE_PLATFORM"] == "2"
    assert environment["AWS_REGION"] == "eu-central-1"
    assert environment["TZ"] == "UTC"
    assert environment["_HANDLER"] == "handlers.describe"
    assert environment["LAMBDA_TASK_ROOT"] == seen["cwd"] == str(FUNCTIONS)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert environment["AWS_EXECUTION_ENV"] == f"AWS_Lambda_python{version}"


def test_an_environment_starts_once_and_is_used_again(client, tmp_path):
    async def run():
        async with staged(a_plan("describe"), logs=tmp_path, client=client) as stage:
            seen = [await stage.result("describe") for _ in range(5)]
            assert [one["calls"] for one in seen] == [1, 2, 3, 4, 5]
            assert stage.snapshot("describe").cold_starts == 1

    asyncio.run(run())


def test_an_error_of_the_handler_is_the_answer_and_the_process_stays(client, tmp_path):
    async def run():
        async with staged(a_plan("fail"), logs=tmp_path, client=client) as stage:
            failure = await stage.failure("fail", {"why": "no milk"})
            assert failure == (Failure.HANDLER_ERROR, "ValueError", "no milk")
            pids = stage.snapshot("fail").pids
            await stage.failure("fail", {"why": "no milk"})
            assert stage.snapshot("fail").pids == pids

    asyncio.run(run())


def test_an_error_says_where_it_was_raised(client, tmp_path):
    async def run():
        async with staged(a_plan("fail"), logs=tmp_path, client=client) as stage:
            return await stage.invoke("fail", {"why": "no milk"})

    first, *_ = json.loads(asyncio.run(run()).body)["stackTrace"]
    assert "handlers.py" in first


@pytest.mark.parametrize(
    ("function", "event", "error_type"),
    [
        ("not_json", b"null", "Runtime.MarshalError"),
        ("echo", b"{not json", "Runtime.UnmarshalError"),
        ("echo", b"", "Runtime.UnmarshalError"),
    ],
)
def test_what_is_no_json_is_an_error_of_the_handler(client, tmp_path, function, event, error_type):
    async def run():
        async with staged(a_plan(function), logs=tmp_path, client=client) as stage:
            return told(await stage.functions.invoke(function, event))

    assert asyncio.run(run())[:2] == (Failure.HANDLER_ERROR, error_type)


@pytest.mark.parametrize(
    ("function", "event", "words"),
    [
        ("leave", {"status": 3}, "Runtime exited with error: exit status 3"),
        ("leave", {"status": 0}, "Runtime exited with error: exit status 0"),
        ("kill_itself", None, "Runtime exited with error: signal: killed"),
    ],
)
def test_a_process_that_ends_in_mid_invocation_is_told_and_replaced(
    client, tmp_path, function, event, words
):
    async def run():
        plans = a_plan(function), a_plan("describe")
        async with staged(*plans, logs=tmp_path, client=client) as stage:
            failure, error_type, message = await stage.failure(function, event)
            assert (failure, error_type) == (Failure.EXIT, "Runtime.ExitError")
            assert message.endswith(words)
            assert (await stage.failure(function, event))[0] == Failure.EXIT
            assert stage.snapshot(function).cold_starts == 2

    asyncio.run(run())


@pytest.mark.parametrize("function", ["hang", "block_in_c"])
def test_a_function_that_takes_too_long_is_killed_and_replaced(client, tmp_path, function):
    async def run():
        plan = a_plan(function, timeout=SECOND / 2)
        async with staged(plan, logs=tmp_path, client=client) as stage:
            failure, error_type, message = await stage.failure(function)
            assert (failure, error_type) == (Failure.TIMEOUT, "Sandbox.Timedout")
            assert message.endswith("Task timed out after 0.50 seconds")
            assert stage.snapshot(function).environments == 0
            assert (await stage.failure(function))[0] == Failure.TIMEOUT

    asyncio.run(run())


@pytest.mark.parametrize("function", ["take_memory", "take_memory_in_a_child"])
def test_a_function_that_takes_too_much_memory_is_killed(client, tmp_path, function):
    async def run():
        plan = a_plan(function, memory_mb=128)
        async with staged(plan, logs=tmp_path, client=client) as stage:
            return await stage.failure(function, {"mb": 160})

    failure, error_type, _ = asyncio.run(run())
    assert (failure, error_type) == (Failure.OUT_OF_MEMORY, "Runtime.OutOfMemory")


def test_memory_within_the_limit_is_nobodys_business(client, tmp_path):
    async def run():
        plan = a_plan("take_memory", memory_mb=256, timeout=SECOND)
        async with staged(plan, logs=tmp_path, client=client) as stage:
            return await stage.failure("take_memory", {"mb": 100})

    assert asyncio.run(run())[0] == Failure.TIMEOUT


@pytest.mark.parametrize("function", ["respond_with", "raise_a_long_message"])
def test_a_response_over_six_megabytes_is_refused_and_the_next_one_works(
    client, tmp_path, function
):
    async def run():
        async with staged(a_plan(function), logs=tmp_path, client=client) as stage:
            failure = await stage.failure(function, {"bytes": 7 * MEGABYTE})
            assert failure[:2] == (Failure.RESPONSE_TOO_LARGE, "Function.ResponseSizeTooLarge")
            answer = await stage.invoke(function, {"bytes": 5 * MEGABYTE})
            assert len(answer.body) > 5 * MEGABYTE

    asyncio.run(run())


def test_an_event_over_six_megabytes_never_reaches_a_process(client, tmp_path):
    async def run():
        async with staged(a_plan("echo"), logs=tmp_path, client=client) as stage:
            failure, _, message = await stage.failure("echo", "x" * 6 * MEGABYTE)
            assert failure == Failure.REQUEST_TOO_LARGE
            assert "limit 6291456 bytes" in message
            assert stage.snapshot("echo").cold_starts == 0
            assert isinstance(await stage.invoke("echo", "x" * (6 * MEGABYTE - 2)), Responded)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("handler", "error_type", "words"),
    [
        ("broken_import.handler", "Runtime.ImportModuleError", "a_module_that_does_not_exist"),
        ("no_such_file.handler", "Runtime.ImportModuleError", "no_such_file"),
        ("handlers.no_such_function", "Runtime.HandlerNotFound", "no_such_function"),
        ("broken_at_import.handler", "RuntimeError", "no settings"),
        ("leaving_at_import.handler", "Runtime.ExitError", "exit status 7"),
        ("nonsense", "Runtime.MalformedHandlerName", "nonsense"),
    ],
)
def test_a_failed_init_is_told_to_the_caller(client, tmp_path, handler, error_type, words):
    async def run():
        plan = a_plan("broken", handler=handler)
        async with staged(plan, logs=tmp_path, client=client) as stage:
            return await stage.failure("broken")

    failure, seen_type, message = asyncio.run(run())
    assert (failure, seen_type) == (Failure.INIT_ERROR, error_type)
    assert words in message


def test_a_syntax_error_is_a_failed_init(client, tmp_path):
    (tmp_path / "unreadable.py").write_text("def handler(:\n")

    async def run():
        plan = a_plan("broken", handler="unreadable.handler", code=tmp_path)
        async with staged(plan, logs=tmp_path, client=client) as stage:
            return await stage.failure("broken")

    assert asyncio.run(run())[:2] == (Failure.INIT_ERROR, "Runtime.UserCodeSyntaxError")


def test_an_init_without_an_end_is_ended(client, tmp_path):
    async def run():
        plan = a_plan("stuck", handler="hanging_at_import.handler")
        limit = SECOND / 2
        async with staged(plan, logs=tmp_path, client=client, init_limit=limit) as stage:
            return await stage.failure("stuck")

    failure, _, message = asyncio.run(run())
    assert (failure, message) == (Failure.INIT_ERROR, "Init timed out after 0.50 seconds")


def test_code_that_is_not_there_is_a_failed_init(client, tmp_path):
    async def run():
        plan = a_plan("lost", code=tmp_path / "nowhere")
        async with staged(plan, logs=tmp_path, client=client) as stage:
            return await stage.failure("lost")

    failure, _, message = asyncio.run(run())
    assert failure == Failure.INIT_ERROR
    assert "lost" in message
    assert os.fspath(tmp_path / "nowhere") in message


def test_a_function_that_asks_for_another_event_first_is_ended(client, tmp_path):
    async def run():
        async with staged(a_plan("ask_again"), logs=tmp_path, client=client) as stage:
            failure, _, message = await stage.failure("ask_again")
            assert failure == Failure.EXIT
            assert message.endswith("asked for the next event without an answer")
            assert (await stage.failure("ask_again"))[0] == Failure.EXIT

    asyncio.run(run())


@pytest.mark.parametrize(
    ("path", "status"), [("invocation/of-another/response", 400), ("init/error", 202)]
)
def test_a_function_cannot_speak_out_of_turn(client, tmp_path, path, status):
    async def run():
        async with staged(a_plan("post"), logs=tmp_path, client=client) as stage:
            assert await stage.result("post", {"path": path}) == status

    asyncio.run(run())
