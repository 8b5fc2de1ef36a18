"""Problems with the platform's home are explained, and one platform locks it."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from subprocess import PIPE

import pytest

from taskmill_local.errors import HomeUnusable
from taskmill_local.stores.home import HomeLock, prepare_home

HOLDER = """
import sys, pathlib
from taskmill_local.stores.home import HomeLock
lock = HomeLock(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_home_is_made_with_its_folders(home):
    prepare_home(home)
    assert sorted(folder.name for folder in home.iterdir()) == ["logs", "stores"]


def test_a_file_in_the_way_of_the_home_is_said_in_words(home):
    home.write_text("I was here first")
    with pytest.raises(HomeUnusable, match="a file is in the way of the folder"):
        prepare_home(home)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_said_in_words(home):
    home.mkdir(mode=0o500)
    with pytest.raises(HomeUnusable, match="this account may not write there"):
        prepare_home(home)


def test_a_second_platform_is_refused_until_the_first_is_gone_even_by_a_kill(home):
    prepare_home(home)
    command = [sys.executable, "-c", HOLDER, str(home)]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE) as first:
        first.stdout.readline()
        with pytest.raises(HomeUnusable, match=rf"process {first.pid}\) is running on {home}"):
            HomeLock(home)
        first.kill()
    HomeLock(home).release()


def test_many_starts_at_once_make_the_home_ready_together(home):
    with ThreadPoolExecutor(8) as starts:
        for _ in range(40):
            list(starts.map(prepare_home, [home] * 8))
            shutil.rmtree(home)
