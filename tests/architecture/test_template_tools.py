"""The checks of `make check` and `make build` detect broken templates and bundles."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.finish_build import foreign, strays

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv-deploy/bin"


@pytest.fixture
def project(tmp_path):
    """Return a copy of everything that the tools read."""
    for part in ("docs", "functions", "infra", "localstack", "shared"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "template.yaml", tmp_path)
    return tmp_path


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.skipif(not TOOLS.exists(), reason="`make check` installs the tools of deployments")
@pytest.mark.parametrize(
    ("path", "old", "new", "complaint"),
    [
        ("template.yaml", "    Timeout: 30", "    Timeouts: 30", "Timeouts"),
        ("template.yaml", "BatchSize: 500", "BatchSize: 50000", "50000"),
        ("infra/data.yaml", "RequireTLS: true", "RequireTLS: true\n      Wrong: 1", "Wrong"),
        ("infra/data.yaml", "RequireTLS: true", "RequireTLS: false", "RequireTLS False"),
    ],
)
def test_a_wrong_template_does_not_pass(project, path, old, new, complaint):
    replace(project / path, old, new)
    ran = subprocess.run(
        [str(project / "infra/check_template.sh"), str(Path(sys.executable).parent), str(TOOLS)],
        cwd=project,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": "shared:localstack:."},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode != 0
    assert complaint in ran.stdout + ran.stderr


@pytest.mark.skipif(not TOOLS.exists(), reason="`make check` installs the tools of deployments")
def test_a_sound_template_passes_and_leaves_nothing_at_home(project, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    ran = subprocess.run(
        [str(project / "infra/check_template.sh"), str(Path(sys.executable).parent), str(TOOLS)],
        cwd=project,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": "shared:localstack:.", "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert list(home.iterdir()) == []


def test_a_template_that_is_not_what_the_folders_say_does_not_pass(project):
    command = [sys.executable, "infra/assemble.py", "--check"]
    assert subprocess.run(command, cwd=project, check=False).returncode == 0
    replace(project / "infra/base.yaml", "Default: 64", "Default: 65")
    answer = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert "run `make template`" in answer.stdout


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (
            "handler.py",
            "lambda_handler = ",
            "handler = ",
            "handler.py defines no worker",
        ),
        (
            "handler.py",
            '"""Returns',
            '_ = """Returns',
            "handler.py has no docstring: its first line becomes the title",
        ),
        (
            "function.yaml",
            "LongestTimeout: 300",
            "Routes:\n  Look: GET /v1/parrots",
            "function.yaml: Routes: Look: the gateway has no GET /v1/parrots",
        ),
        (
            "function.yaml",
            "LongestTimeout",
            "LongestTimeouts",
            "function.yaml: unknown key Longest",
        ),
        ("function.yaml", "300", "29", "handler.py: serve has a timeout of 30 s, but Longest"),
    ],
)
def test_a_folder_that_cannot_be_assembled_is_named_with_the_next_step(
    project, file, old, new, words
):
    replace(project / "functions/workers/echo" / file, old, new)
    command = [sys.executable, "infra/assemble.py"]
    answer = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"functions/workers/echo/{words}")


@pytest.fixture
def bundle(tmp_path):
    folder = tmp_path / "Gateway/functions/gateway"
    shutil.copytree(ROOT / "functions/gateway", folder, ignore=shutil.ignore_patterns("_*"))
    return tmp_path / "Gateway"


def test_a_bundle_of_its_own_code_passes(bundle):
    assert strays(bundle, ROOT) == []


def test_a_file_that_no_folder_holds_is_a_stray(bundle):
    (bundle / "functions/gateway/boto3.py").touch()
    assert strays(bundle, ROOT) == ["functions/gateway/boto3.py"]


def test_what_a_function_requires_is_none(bundle):
    (bundle / "boto3-1.dist-info").mkdir()
    (bundle / "boto3").mkdir()
    for name in ("boto3/__init__.py", "boto3/other.py"):
        (bundle / name).touch()
    answer = "boto3/__init__.py,sha256=x,0\nboto3-1.dist-info/RECORD,,\n"
    (bundle / "boto3-1.dist-info/RECORD").write_text(answer)
    assert strays(bundle, ROOT) == ["boto3/other.py"]


def test_the_code_of_another_function_is_a_stray(bundle):
    shutil.copytree(ROOT / "functions/recorder", bundle / "functions/recorder")
    assert strays(bundle, ROOT) == ["the handlers of 2 functions"]


@pytest.mark.parametrize(("machine", "found"), [(b"\xb7\x00", []), (b"\x3e\x00", ["a.so.1"])])
def test_a_library_for_another_machine_is_found(tmp_path, machine, found):
    (tmp_path / "a.so.1").write_bytes(b"\x7fELF".ljust(18, b"\0") + machine)
    assert foreign(tmp_path) == found
