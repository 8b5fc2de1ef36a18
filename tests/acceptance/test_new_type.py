"""Copying a folder adds a type, including the schedules that it declares."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.system import System, run_command
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
PARTS = ["functions", "infra", "localstack", "shared", "template.yaml"]
OLD, NEW = "echo", "parrot"
TYPES = {path.parent.name for path in (ROOT / "functions/workers").glob("*/handler.py")}


@pytest.fixture
def project(folder):
    """Return a copy of the runnable part of this project."""
    copy = folder / "project"
    copy.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, copy / part, ignore=ignored)
        else:
            shutil.copy(source, copy / part)
    return copy


def add_type(project):
    """Follow docs/how-to/add-a-type.md."""
    folder = project / "functions/workers" / NEW
    shutil.copytree(folder.with_name(OLD), folder)
    for path in folder.iterdir():
        text = path.read_text().replace(OLD, NEW).replace(OLD.capitalize(), NEW.capitalize())
        path.write_text(text)
    declared = "nightly:\n  cron: 0 3 * * *\n  task: {payload: {say: good night}}\n"
    (folder / "schedules.yaml").write_text(declared)
    assemble(project)


def assemble(project):
    subprocess.run([sys.executable, "infra/assemble.py"], cwd=project, check=True)


def apply(system, project):
    """Return the output of declaring the folders' schedules in the ledger."""
    dsn = system.client.platform()["stores"]["PostgreSQL"]["address"]
    words = ("schedule", "apply", "--dsn", dsn)
    result = run_command(system.folder, *words, TASKMILL_ROOT=str(project))
    assert result.returncode == 0, result
    return result.stdout


def test_a_copied_folder_is_a_new_type(folder, project):
    add_type(project)
    names = [entry["name"] for entry in json.loads(_catalogue(project))]
    assert names == sorted({*TYPES, NEW})
    system = System(folder, TASKMILL_ROOT=str(project)).start()
    try:
        answer = system.client.post("/v1/tasks", {"type": NEW, "payload": {"say": "hello"}})
        assert answer.status == 202, answer
        described = system.client.get("/openapi.json").body["components"]["schemas"]
        said = described[f"TaskRequest.{NEW}"]["properties"]["type"]
        assert said == {"type": "string", "const": NEW}
        result = system.client.task(answer.body["id"], wait=20)
        assert (result["type"], result["status"], result["result"]) == (
            NEW,
            "succeeded",
            {"say": "hello"},
        )
        schedule = system.client.get("/v1/schedules/nightly").body
        assert (schedule["managed"], schedule["task"]["type"]) == (True, NEW)
        refused = system.client.ask("DELETE", "/v1/schedules/nightly")
        assert (refused.status, refused.body["type"]) == (409, "managed_schedule")
        assert apply(system, project) == "nothing to do: the schedules are as declared\n"
        (project / "functions/workers" / NEW / "schedules.yaml").unlink()
        assemble(project)
        assert apply(system, project) == "deleted nightly\n"
        eventually(
            lambda: system.client.get(f"/v1/tasks?type={NEW}&status=succeeded").body["tasks"],
            within=60,
            reason="the new type's task in the ledger",
        )
    finally:
        system.stop()


def _catalogue(project):
    return (project / "shared/taskmill/catalogue.json").read_text()
