"""Clients generated from the description compile and can run a task."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "functions/gateway/openapi.json"
USER = ROOT / "tests/acceptance/a_generated_client.py"
GENERATOR = (sys.executable, "-m", "openapi_python_client")
TYPESCRIPT = ("npx", "--yes", "-p", "openapi-typescript@7", "-p", "typescript@5")
USER_IN_TYPESCRIPT = """\
import type { components, paths } from "./api";

type Task = components["schemas"]["SubmittedTask"];
const body: components["schemas"]["TaskRequest"] = { type: "echo", payload: { say: "hello" } };
const schedule: components["schemas"]["NewSchedule"] = {
  name: "nightly", cron: "0 3 * * *", task: { type: "echo" }, dst: { gap: "shift" },
};
const query: paths["/v1/tasks/{task_id}"]["get"]["parameters"]["query"] = { include: "payload" };
export const seen = (task: Task): number => task.generation;
export const sent = [body, schedule, query];
"""


SPECTRAL = ("npx", "--yes", "-p", "@stoplight/spectral-cli@6", "spectral")
WRONG_ON_PURPOSE = {"a-payload-that-does-not-fit-the-type", "one-valid-and-one-invalid-task"}


def run(*command, cwd, **others):
    answer = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=240, check=False, **others
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr


def has(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def python_client(tmp_path_factory):
    """Return a folder with a Python client."""
    if not has(*GENERATOR, "--version"):
        pytest.skip("openapi-python-client is not installed: `make lock` and `make build` do it")
    folder = tmp_path_factory.mktemp("python")
    made = ("--meta", "none", "--output-path", "taskmill_client", "--fail-on-warning")
    bin_folder = str(Path(sys.executable).parent)  # it formats what it wrote with our ruff
    path = os.pathsep.join([bin_folder, os.environ["PATH"]])
    env = os.environ | {"PATH": path}
    run(*GENERATOR, "generate", "--path", str(DOCUMENT), *made, cwd=folder, env=env)
    return folder


def test_a_client_in_python_is_generated_whole_and_compiles(python_client):
    run(sys.executable, "-m", "compileall", "-q", "taskmill_client", cwd=python_client)
    functions = {path.stem for path in python_client.glob("taskmill_client/api/*/*.py")}
    assert {"submit_task", "submit_batch", "read_task", "put_schedule"} <= functions


def test_a_client_in_python_gets_a_task_done(client, python_client):
    known = filter(None, [os.environ.get("PYTHONPATH"), str(python_client)])
    env = os.environ | {"PYTHONPATH": os.pathsep.join(known)}
    mark = f"generated-{uuid4().hex[:12]}"
    run(sys.executable, str(USER), client.url, mark, cwd=python_client, env=env)


def test_types_for_typescript_are_generated_and_take_what_the_api_takes(tmp_path):
    if shutil.which("npx") is None:
        pytest.skip("there is no npx: install Node to check the types for TypeScript")
    if not has(*TYPESCRIPT, "tsc", "--version"):
        pytest.skip("npx cannot fetch openapi-typescript and typescript from its registry")
    run(*TYPESCRIPT, "openapi-typescript", str(DOCUMENT), "-o", "api.d.ts", cwd=tmp_path)
    tmp_path.joinpath("user.ts").write_text(USER_IN_TYPESCRIPT)
    run(*TYPESCRIPT, "tsc", "--noEmit", "--strict", "user.ts", cwd=tmp_path)


def test_spectral_finds_no_error_but_in_examples_that_are_wrong_on_purpose(tmp_path):
    if shutil.which("npx") is None:
        pytest.skip("there is no npx: install Node to hold the description to Spectral's rules")
    if not has(*SPECTRAL, "--version"):
        pytest.skip("npx cannot fetch @stoplight/spectral-cli from its registry")
    (tmp_path / "rules.yaml").write_text('extends: ["spectral:oas"]\n')
    answer = tmp_path / "told.json"
    lint = (*SPECTRAL, "lint", str(DOCUMENT), "--ruleset", "rules.yaml", "--format", "json")
    command = (*lint, "--output", str(answer))
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=240, check=False)
    assert answer.exists(), ran.stdout + ran.stderr
    errors = [one for one in msgspec.json.decode(answer.read_bytes()) if one["severity"] == 0]
    strays = [one for one in errors if WRONG_ON_PURPOSE.isdisjoint(map(str, one["path"]))]
    assert errors
    assert strays == []
