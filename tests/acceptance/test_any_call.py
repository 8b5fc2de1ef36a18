"""Any described request gets a described response, and any other request is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "functions/gateway/openapi.json"
CONFIG = ROOT / "tests/acceptance/any_call.toml"
HOOKS = "tests.acceptance.any_call_hooks"
SCHEMATHESIS = (sys.executable, "-m", "schemathesis.cli")
PATIENCE = 300
LIVING = {"running", "paused"}


@pytest.fixture
def quiet_client(client):
    """Yield a client; afterwards, remove the system's active jobs, schedules and pauses."""
    yield client
    for job in client.get("/v1/redrives?limit=200").body["redrives"]:
        if job["state"] in LIVING:
            client.post(f"/v1/redrives/{job['id']}/stop", None)
    for one in client.get("/v1/schedules?limit=200").body["schedules"]:
        client.ask("DELETE", f"/v1/schedules/{one['name']}")
    for one in client.get("/v1/pauses").body["pauses"]:
        client.ask("DELETE", f"/v1/pauses/{one['id']}")


def test_a_stranger_who_read_the_description_finds_it_true(quiet_client, tmp_path):
    paths = [str(ROOT), *map(str, filter(None, sys.path))]
    answer = subprocess.run(
        [*SCHEMATHESIS, "--config-file", CONFIG, "run", DOCUMENT, "--url", quiet_client.url],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "SCHEMATHESIS_HOOKS": HOOKS},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
