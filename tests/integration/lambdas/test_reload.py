"""A function with changed files runs the new code, and no invocation is interrupted."""

import asyncio

from taskmill_local.reload import Reload
from tests.integration.lambdas.stage import a_plan, staged
from tests.waiting import eventually, eventually_async

WITHIN = 20.0
GLANCE = 0.05
HANDLER = """
import pathlib, time
def lambda_handler(event, context):
    if event and "until" in event:
        pathlib.Path(event["running"]).touch()
        while not pathlib.Path(event["until"]).exists():
            time.sleep(0.01)  # between two looks
    return {said!r}
"""


def write(folder, said):
    """Replace the handler at once: half of a file would be a change of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = folder.parent / "whole"
    whole.write_text(HANDLER.format(said=said))
    whole.replace(folder / "handler.py")


def plans_for(code, *names):
    return [
        a_plan(name, handler=f"workers.{name}.handler.lambda_handler", code=code) for name in names
    ]


def test_only_the_changed_function_starts_anew_and_what_runs_ends_first(tmp_path):
    code, answer = tmp_path / "code", []
    for name in ("echo", "other"):
        write(code / "workers" / name, "old")
    plans = plans_for(code, "echo", "other")

    async def check():
        async with staged(*plans, logs=tmp_path / "logs") as stage:
            reload = Reload(
                {plan.name: plan for plan in plans},
                stage.functions,
                lambda *words: answer.append(words),
                root=code,
                glance_seconds=GLANCE,
            )
            await reload.start()
            assert await stage.result("echo") == "old"
            assert await stage.result("other") == "old"
            kept, (old,) = stage.snapshot("other").pids, stage.snapshot("echo").pids
            event = {"running": str(tmp_path / "runs"), "until": str(tmp_path / "go")}
            running = asyncio.create_task(stage.result("echo", event))
            await asyncio.to_thread(
                eventually, (tmp_path / "runs").exists, within=WITHIN, reason="it runs"
            )

            write(code / "workers" / "echo", "new, and longer")

            await eventually_async(lambda: bool(answer), within=WITHIN, reason="the change is seen")
            assert await stage.result("echo") == "new, and longer"
            (tmp_path / "go").touch()
            assert await running == "old"
            await eventually_async(
                lambda: old not in stage.snapshot("echo").pids, within=WITHIN, reason="it ends"
            )
            assert await stage.result("echo") == "new, and longer"
            assert stage.snapshot("other").pids == kept
            await reload.stop()

    asyncio.run(check())
    assert answer == [("echo", "restarts: its files have changed")]


def test_a_change_that_counts_once_it_is_assembled_says_so(tmp_path):
    code, answer = tmp_path / "code", []
    write(code / "workers/echo", "old")
    (code / "infra").mkdir()
    sentence = "template.yaml is out of date: run `make template`"
    (code / "infra/assemble.py").write_text(f"print({sentence!r})\nraise SystemExit(1)\n")
    (plan,) = plans_for(code, "echo")

    async def check():
        async with staged(plan, logs=tmp_path / "logs") as stage:
            reload = Reload(
                {"echo": plan},
                stage.functions,
                lambda *words: answer.append(words),
                root=code,
                glance_seconds=GLANCE,
            )
            await reload.start()
            write(code / "workers/echo", "new, and longer")
            await eventually_async(lambda: len(answer) == 2, within=WITHIN, reason="it is reported")
            await reload.stop()

    asyncio.run(check())
    assert answer[1] == ("Template", f"{sentence} and start again.")
