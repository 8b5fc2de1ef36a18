"""The temporary project of a benchmark: the real one and an empty function."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.against import UnknownVersion, version
from bench.measures.every import MEASURES
from bench.profiling import FUNCTIONS
from bench.project import BARE_PATH, project
from taskmill_local.cli import arguments
from taskmill_local.template.read import read_plan

ROOT = Path(__file__).parents[3]
PARAMETERS = {
    "KafkaBrokers": "-",
    "RedisUrl": "redis://-",
    "PostgresDsn": "-",
    "Shards": "4",
    "WaitingPlaces": "1",
}


def plan_of(folder):
    return read_plan(folder / "template.yaml", root=folder, parameters=PARAMETERS)


def test_the_project_has_every_function_of_the_real_one_and_the_bare_one():
    with project(ROOT) as folder:
        ours, real = plan_of(folder), plan_of(ROOT)
        assert set(ours.functions) - set(real.functions) == {"Bare"}
        assert [route.function for route in ours.routes if route.path == BARE_PATH] == ["Bare"]
        assert (folder / "functions/gateway/handler.py").samefile(
            ROOT / "functions/gateway/handler.py"
        )


def test_the_project_is_gone_behind_its_use_and_the_real_one_unchanged():
    before = (ROOT / "template.yaml").read_bytes()
    with project(ROOT, profiled="Gateway") as folder:
        assert folder.exists()
    assert not folder.exists()
    assert (ROOT / "template.yaml").read_bytes() == before


def test_the_command_offers_what_can_be_measured_and_profiled():
    assert tuple(MEASURES) == arguments.MEASURES
    assert tuple(FUNCTIONS) == arguments.PROFILES


def test_a_version_that_git_does_not_know_is_refused_by_name():
    with pytest.raises(UnknownVersion, match="no-such-version"), version(ROOT, "no-such-version"):
        pass


PROGRAM = """
import threading, time

def spend():
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        sum(range(1000))

thread = threading.Thread(target=spend)
thread.start()
thread.join()
print("done", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(("function", "has_profile"), [("Gateway", True), ("Recorder", False)])
def test_only_the_wanted_function_writes_a_profile_of_all_its_threads(function, has_profile):
    with project(ROOT, profiled="Gateway") as folder:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONPATH": str(folder), "AWS_LAMBDA_FUNCTION_NAME": function},
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            assert process.stdout.readline() == "done\n"
            (folder / "profile_over").touch()
            if not has_profile:
                process.terminate()
            process.wait(20)
        files = list(folder.glob("*.profile"))
        assert len(files) == has_profile
        if has_profile and sys.version_info < (3, 12):  # later Pythons watch one thread only
            assert b"spend" in files[0].read_bytes()
