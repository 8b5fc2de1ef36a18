"""Following the pages on adding a type creates a type in the catalogue."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.docs.pages import README, ROOT, blocks

HERE = "tests/docs/test_add_a_type.py"
PAGE = ROOT / "docs/how-to/add-a-type.md"


@pytest.fixture
def project(tmp_path):
    """Return a copy of the folders to which a type is added."""
    for part in ("functions", "infra", "localstack", "shared"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "template.yaml", tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [README, PAGE], ids=lambda page: page.name)
def test_the_steps_of_the_page_lead_to_a_type(project, page):
    (copying,) = (one.text for one in blocks(PAGE) if one.runner == HERE)
    (handler,) = (one.text for one in blocks(page) if one.language == "python")
    subprocess.run(["/bin/sh", "-eu", "-c", copying], cwd=project, check=True)
    (project / "functions/workers/greet/handler.py").write_text(handler)
    assemble(project)
    types = json.loads((project / "shared/taskmill/catalogue.json").read_text())
    (greet,) = (one for one in types if one["name"] == "greet")
    assert greet["schema"]["$defs"]["Greeting"]["required"] == ["name"]
    assert "GreetWorker:" in (project / "template.yaml").read_text()
    assemble(project, "--check")


def assemble(project, *words):
    subprocess.run([sys.executable, "infra/assemble.py", *words], cwd=project, check=True)
