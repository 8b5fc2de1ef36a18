"""Deleting a type's folder deletes the feature: its routes, settings and resources go with it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.assembly import workers
from infra.sections import names

ROOT = Path(__file__).parents[2]
PARTS = ("functions", "infra", "localstack", "shared")
TYPES = {one.type: one for one in workers()}
CHECK = """
import sys
from importlib import import_module
from pathlib import Path

from infra.check_template import complaints, expanded
from taskmill.settings.known import misspelt

for base, part in (("shared", "."), ("localstack", "."), (".", "functions"), (".", "infra")):
    for path in sorted(Path(base, part).rglob("*.py")):
        if path.name != "__main__.py":
            name = ".".join(path.relative_to(base).with_suffix("").parts)
            module = import_module(name.removesuffix(".__init__"))
            assert Path(module.__file__).is_relative_to(Path.cwd()), module
assert complaints(expanded()) == []
assert len(list(misspelt(sys.argv[1:]))) == len(sys.argv) - 1
"""


@pytest.fixture
def project(tmp_path):
    """Return a copy of everything that is assembled and deployed."""
    for part in PARTS:
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "template.yaml", tmp_path)
    return tmp_path


def run(project, *words):
    ran = subprocess.run(
        [sys.executable, *words],
        cwd=project,
        env={**os.environ, "PYTHONPATH": "shared:localstack:."},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def paths(project):
    return set(json.loads((project / "functions/gateway/openapi.json").read_text())["paths"])


@pytest.mark.parametrize("name", sorted(TYPES))
def test_without_its_folder_nothing_of_a_type_is_left(project, name):
    declared = TYPES[name]
    before = paths(project)
    shutil.rmtree(project / "functions/workers" / name)
    run(project, "infra/assemble.py")
    own = [name for block in declared.blocks.values() for name in names(block)]
    template = (project / "template.yaml").read_text()
    assert [one for one in (*own, *declared.routes, *declared.settings) if one in template] == []
    assert f"tasks.worker.{name}" not in template
    assert paths(project) == before - {route.split()[1] for route in declared.routes.values()}
    run(project, "-c", CHECK, *declared.settings)
    run(project, "infra/assemble.py", "--check")


@pytest.mark.parametrize("name", sorted(TYPES))
def test_nothing_outside_its_folder_names_a_worker(name):
    folder = ROOT / "functions/workers" / name
    sources = [path for part in (*PARTS, "bench") for path in (ROOT / part).rglob("*.py")]
    others = [path for path in sources if folder not in path.parents]
    module = f"functions.workers.{name}"
    assert [str(path) for path in others if module in path.read_text()] == []
