"""The log of a function: whole lines in order, framed as on the platform."""

import asyncio
import re

from taskmill_local.lambdas.logs import FunctionLog
from tests.integration.lambdas.stage import SECOND, a_plan, staged

PREFIX = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[\d+\] "


def lines_of(log):
    for line in log.splitlines():
        assert re.match(PREFIX, line), line
    return [re.sub(f"^{PREFIX}", "", line) for line in log.splitlines()]


def test_what_a_function_prints_stands_between_its_start_and_its_end(client, tmp_path):
    async def run():
        plan = a_plan("chatter", environment={"AWS_LAMBDA_LOG_FORMAT": "Text"})
        async with staged(plan, logs=tmp_path, client=client) as stage:
            await stage.result("chatter", {"line": "Grüße"})
            await stage.result("chatter", {"line": "again"})
        return lines_of(stage.log("chatter"))

    lines = asyncio.run(run())
    request_id = lines[0].split()[2]
    assert lines[0] == f"START RequestId: {request_id} Version: $LATEST"
    assert lines[1:3] == ["Grüße", "Grüße"]
    assert lines[3].startswith("[WARNING]")
    assert f"\t{request_id}\tlogged" in lines[3]
    assert lines[4] == "no end of line"
    assert lines[5] == f"END RequestId: {request_id}"
    report = rf"REPORT RequestId: {request_id}\tDuration: [\d.]+ ms\tBilled Duration: \d+ ms\t"
    memory = r"Memory Size: 256 MB\tMax Memory Used: [1-9]\d* MB"
    assert re.fullmatch(report + memory + r"\tInit Duration: [\d.]+ ms", lines[6])
    second = lines[7:]
    assert second[1:3] == ["again", "again"]
    assert "Init Duration" not in second[6]
    assert request_id not in "".join(second)


def test_lines_that_are_no_part_of_the_log_are_taken_out_of_it(client, tmp_path):
    taken = []

    def sift(line):
        return line.startswith(b"take") and not taken.append(line)

    async def run():
        async with staged(a_plan("chatter"), logs=tmp_path, client=client, sift=sift) as stage:
            await stage.result("chatter", {"line": "take this"})
        return lines_of(stage.log("chatter"))

    assert not any("take this" in line for line in asyncio.run(run()))
    assert taken == [b"take this", b"take this"]


def test_a_failure_of_the_process_is_logged_with_its_request_id(tmp_path):
    async def run():
        plans = a_plan("leave"), a_plan("hang", timeout=SECOND / 5)
        async with staged(*plans, logs=tmp_path) as stage:
            await stage.failure("leave", {"status": 3})
            await stage.failure("hang")
        return lines_of(stage.log("leave")), lines_of(stage.log("hang"))

    left, hung = asyncio.run(run())
    request_id = left[0].split()[2]
    assert f"RequestId: {request_id} Error: Runtime exited with error: exit status 3" in left
    assert any(line.endswith("Task timed out after 0.20 seconds") for line in hung)


def test_an_error_is_logged_as_a_readable_traceback(client, tmp_path):
    async def run():
        async with staged(a_plan("fail"), logs=tmp_path, client=client) as stage:
            await stage.failure("fail", {"why": "no milk"})
        return lines_of(stage.log("fail"))

    lines = asyncio.run(run())
    assert "[ERROR] ValueError: no milk" in lines
    assert "Traceback (most recent call last):" in lines
    assert any("in fail" in line for line in lines)


def test_a_failed_init_is_logged(tmp_path):
    async def run():
        plan = a_plan("leaving", handler="leaving_at_import.handler")
        async with staged(plan, logs=tmp_path) as stage:
            await stage.failure("leaving")
        return lines_of(stage.log("leaving"))

    assert "exit status 7" in asyncio.run(run())[-1]


def test_a_function_may_print_megabytes(client, tmp_path):
    async def run():
        async with staged(a_plan("print_much"), logs=tmp_path, client=client) as stage:
            event = {"text": "x" * 100, "repeat": 100, "end": "\n", "times": 1000}
            await stage.result("print_much", event)
        return lines_of(stage.log("print_much"))

    lines = asyncio.run(run())
    assert lines[1:-2] == ["x" * 10_000] * 1000


def test_a_line_without_an_end_is_cut(tmp_path):
    async def run():
        async with staged(a_plan("print_much"), logs=tmp_path) as stage:
            event = {"text": "x" * 1000, "repeat": 1000, "end": "", "times": 3}
            await stage.result("print_much", event)
        return lines_of(stage.log("print_much"))

    parts = asyncio.run(run())[1:-2]
    assert "".join(parts) == "x" * 3_000_000
    assert max(map(len, parts)) <= 65_536


def test_environments_side_by_side_do_not_tear_each_others_lines(tmp_path):
    async def run():
        async with staged(a_plan("print_much"), logs=tmp_path) as stage:
            events = [
                {"text": letter * 100, "repeat": 30, "end": "\n", "times": 300} for letter in "abc"
            ]
            await asyncio.gather(*(stage.result("print_much", event) for event in events))
        return lines_of(stage.log("print_much"))

    lines = [line for line in asyncio.run(run()) if "RequestId" not in line]
    assert sorted(lines) == sorted(letter * 3000 for letter in "abc" for _ in range(300))


def test_a_log_that_grows_too_long_is_put_aside_once(tmp_path):
    async def run():
        log = FunctionLog(tmp_path / "f.log", rotate_at=1000)
        for number in range(32):
            log.write(1, b"%d " % number + b"x" * 200)
            log.flush()

    asyncio.run(run())
    assert {file.name for file in tmp_path.iterdir()} == {"f.log", "f.log.1"}
    kept = lines_of((tmp_path / "f.log.1").read_text() + (tmp_path / "f.log").read_text())
    assert kept[-1].startswith("31 ")
    assert all((tmp_path / name).stat().st_size < 2000 for name in ("f.log", "f.log.1"))
