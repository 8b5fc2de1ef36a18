"""The five documented steps add a type with its own pinned package."""

import hashlib
import json
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.makes import outside_of_make

ROOT = Path(__file__).parents[2]
PARTS = ["functions", "infra", "localstack", "locks", "shared"]
FILES = ["Makefile", "pyproject.toml", "template.yaml"]
FOLDER = "functions/workers/parrot"
PACKAGE = "taskmill_parrot_words"


@pytest.fixture
def wheels(tmp_path):
    """Return a folder in place of the package index."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    publish(folder, "1.0")
    return folder


def publish(folder, version):
    about = f"{PACKAGE}-{version}.dist-info"
    files = {
        f"{PACKAGE}.py": f"VERSION = '{version}'\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD"))
    with zipfile.ZipFile(folder / f"{PACKAGE}-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in {**files, f"{about}/RECORD": record}.items():
            wheel.writestr(name, text)


@pytest.fixture
def project(tmp_path):
    """Yield a copy of the project, in an environment without the new type's requirement."""
    copy = tmp_path / "project"
    for part in PARTS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, copy / part, ignore=ignored)
    for file in FILES:
        shutil.copy(ROOT / file, copy / file)
    installed_in(copy / ".venv")
    folder = copy / FOLDER
    shutil.copytree(folder.with_name("echo"), folder)
    handler = folder / "handler.py"
    text = handler.read_text().replace("echo", "parrot").replace("Echo", "Parrot")
    handler.write_text(text.replace("\nfrom ", f"\nimport {PACKAGE}  # noqa: F401\nfrom ", 1))
    payload = folder / "payload.py"
    payload.write_text(payload.read_text().replace("Echo", "Parrot"))
    (folder / "requirements.in").write_text("taskmill-parrot-words\n")
    return copy


def installed_in(folder):
    """Create an environment with all our packages; installations there do not affect ours."""
    venv.create(folder, with_pip=False, symlinks=True)
    packages = sysconfig.get_path("purelib")
    own = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (own / "ours.pth").write_text(f"import site; site.addsitedir({packages!r})\n")
    (folder / "bin/uv").symlink_to(Path(sys.executable).with_name("uv"))
    (folder / ".local").touch()
    (folder / ".dev").touch()


@pytest.fixture
def make(project, wheels):
    ours = outside_of_make()
    kept = {name: value for name, value in ours.items() if name[:3] not in {"UV_", "PIP"}}
    offline = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "UV_NO_INDEX": "1",
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": str(wheels),
    }

    def run(*words):
        return subprocess.run(
            ["make", *words],  # noqa: S607 - whichever make there is
            cwd=project,
            env=kept | offline,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def locks(project):
    found = [*project.glob("locks/*"), *project.glob("functions/workers/*/requirements.txt")]
    return {
        str(path.relative_to(project)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
    }


def test_what_a_type_needs_is_pinned_alone_and_installed_before_it_is_imported(
    project, wheels, make
):
    refused = make("template")
    assert refused.returncode != 0
    assert f"{FOLDER}/requirements.in has no lock file beside it: run `make lock TYPE=parrot`" in (
        refused.stderr
    )

    before = locks(project)
    pinned = make("lock", "TYPE=parrot")
    assert pinned.returncode == 0, pinned.stderr
    lock = f"{FOLDER}/requirements.txt"
    after = locks(project)
    assert after.pop(lock)
    assert after == before
    assert "taskmill-parrot-words==1.0 \\\n    --hash=sha256:" in (project / lock).read_text()

    assembled = make("template")
    assert assembled.returncode == 0, assembled.stderr
    assert f"installing {lock}" in assembled.stdout
    catalogue = json.loads((project / "shared/taskmill/catalogue.json").read_text())
    assert "parrot" in {entry["name"] for entry in catalogue}
    assert make("template").stdout == ""

    publish(wheels, "1.1")
    assert make("lock", "TYPE=parrot").returncode == 0
    assert "taskmill-parrot-words==1.0 " in (project / lock).read_text()
    assert make("lock", "TYPE=parrot", "UPGRADE=1").returncode == 0
    assert "taskmill-parrot-words==1.1 " in (project / lock).read_text()
    assert "installing" in make("template").stdout


def test_an_import_that_nothing_names_is_said_with_the_next_step(project, make):
    (project / FOLDER / "requirements.in").unlink()
    refused = make("template")
    assert refused.returncode != 0
    assert (
        f"{FOLDER} imports {PACKAGE}, which is not installed: add its package to"
        f" {FOLDER}/requirements.in, run `make lock TYPE=parrot`, then `make template`"
    ) in refused.stderr


def test_a_type_that_asks_for_nothing_has_nothing_to_pin(make):
    refused = make("lock", "TYPE=echo")
    assert refused.returncode != 0
    assert "there is no functions/workers/echo/requirements.in" in refused.stderr
