"""A stale template is refused before anything runs."""

import os
import shutil

import pytest

from taskmill_local.assembled import Stale, check_assembled, files_of

ASSEMBLER = """
import pathlib, sys
open("runs", "a").write("x")
if pathlib.Path("functions/echo.py").read_text() == "broken":
    raise ModuleNotFoundError("No module named 'nobody'")
if pathlib.Path("functions/echo.py").read_text() != pathlib.Path("template.yaml").read_text():
    print("template.yaml is out of date: run `make template`")
    sys.exit(1)
"""


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    for folder in ("functions", "infra"):
        (root / folder).mkdir(parents=True)
    (root / "infra/assemble.py").write_text(ASSEMBLER)
    (root / "functions/echo.py").write_text("one")
    (root / "template.yaml").write_text("one")
    return root


def check(project):
    return check_assembled(project, notes=project.parent / "notes")


def runs(project):
    return len((project / "runs").read_text())


def test_what_is_assembled_is_compared_once_until_a_file_changes(project):
    assert [check(project), check(project), runs(project)] == [None, None, 1]
    (project / "functions/echo.py").write_text("one")
    os.utime(project / "functions/echo.py", (1, 1))
    assert (check(project), runs(project)) == (None, 2)


def test_a_stale_template_is_refused_with_what_to_do_until_that_is_done(project):
    check(project)
    (project / "functions/echo.py").write_text("another")
    for _ in range(2):
        with pytest.raises(Stale, match="run `make template` and start again"):
            check(project)
    (project / "template.yaml").write_text("another")
    assert check(project) is None


def test_a_folder_that_cannot_be_read_stops_no_other_type(project):
    (project / "functions/echo.py").write_text("broken")
    assert check(project) == (
        "the template was not compared with the folders: "
        "ModuleNotFoundError: No module named 'nobody'"
    )


def test_a_project_without_an_assembler_has_nothing_to_compare(project):
    shutil.rmtree(project / "infra")
    assert check(project) is None


def test_what_python_compiles_is_no_change(project):
    before = files_of([project / "functions"])
    (project / "functions/__pycache__").mkdir()
    (project / "functions/__pycache__/echo.pyc").touch()
    assert files_of([project / "functions"]) == before
