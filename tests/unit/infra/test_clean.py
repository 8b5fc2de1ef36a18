"""`make clean` removes the data of a taskmill home and nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infra.clean import KEPT, Refused, clean
from taskmill_local.stores.home import HomeLock, prepare_home
from tests.makes import outside_of_make

ROOT = Path(__file__).parents[3]


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "my home"
    prepare_home(home)
    HomeLock(home).release()
    (home / "stores" / "kafka").mkdir()
    (home / "stores" / "kafka" / "log").write_text("a task")
    return home


def make_clean(home):
    return subprocess.run(
        ["make", "clean", f"PYTHON={sys.executable}"],  # noqa: S607 - whichever make there is
        cwd=ROOT,
        env=outside_of_make() | {"TASKMILL_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_home_with_a_space_in_its_name_goes_and_its_neighbours_stay(home, tmp_path):
    neighbours = [tmp_path / "my", tmp_path / "home"]
    for one in neighbours:
        one.mkdir()
    answer = make_clean(home)
    assert (answer.returncode, answer.stdout) == (0, f"{home} was removed.\n")
    assert sorted(tmp_path.iterdir()) == sorted(neighbours)


def test_a_running_system_keeps_its_data(home):
    with HomeLock(home):
        answer = make_clean(home)
    assert answer.returncode != 0
    assert f"A system (process {os.getpid()}) is running on {home}" in answer.stderr
    assert (home / "stores" / "kafka" / "log").read_text() == "a task"


@pytest.mark.parametrize("place", ["/", str(Path.home()), "."])
def test_a_folder_that_is_no_home_is_left_alone(place, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refused, match="is not a taskmill home; nothing was removed"):
        clean(Path(place))


def test_what_is_not_taskmill_s_stays(home):
    (home / "letters").mkdir()
    answer = clean(home)
    assert answer.endswith("Other files were kept: letters.")
    assert [path.name for path in home.iterdir()] == ["letters"]


def test_a_link_is_removed_and_what_it_leads_to_stays(home, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    (home / "logs").rmdir()
    (home / "logs").symlink_to(elsewhere)
    assert clean(home) == f"{home} was removed."
    assert (elsewhere / "file").exists()


def test_a_home_that_was_never_made_is_no_mistake(tmp_path):
    answer = make_clean(tmp_path / "none")
    assert answer.returncode == 0
    assert answer.stdout.endswith("does not exist: there is nothing to remove.\n")


def test_all_that_the_platform_keeps_is_known():
    """A name that is missing there would stay in the home forever."""
    sources = [path.read_text() for path in (ROOT / "localstack").rglob("*.py")]
    names = {part for text in sources for part in _kept(text)}
    assert names <= {*KEPT}


def _kept(text):
    return re.findall(r'\bhome / "([^"]+)"', text)
