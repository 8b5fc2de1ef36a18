"""Root's folders are closed to others, and PostgreSQL runs in them as another user."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from taskmill_local.errors import HomeUnusable
from taskmill_local.stores import postgres
from taskmill_local.stores.account import ground_for, is_barred
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.postgres import start_postgres
from taskmill_local.stores.server import Server

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root needs a stand-in")


@pytest.fixture
def closed():
    """Return a folder that only root may enter, like a container's /root, and an open one."""
    folder = Path(tempfile.mkdtemp(prefix="taskmill-closed-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def copies():
    folder = Path(tempfile.mkdtemp(prefix="taskmill-copies-"))
    folder.chmod(0o755)
    yield folder / "taskmill"
    shutil.rmtree(folder)


def test_a_home_that_is_closed_to_others_serves_start_after_start(closed):
    home = closed / "home"
    prepare_home(home)

    async def scenario(count):
        server = Server("PostgreSQL", home)
        try:
            dsns = await start_postgres(server, durable=False)
            async with await psycopg.AsyncConnection.connect(dsns.owner) as connection:
                await connection.execute("CREATE TABLE IF NOT EXISTS starts (number integer)")
                await connection.execute("INSERT INTO starts VALUES (1)")
                found = await connection.execute("SELECT count(*) FROM starts")
                assert await found.fetchone() == (count,)
        finally:
            await server.stop(timedelta(seconds=5))

    for count in (1, 2):
        asyncio.run(scenario(count))
    assert (home / "stores/postgresql/data").stat().st_uid != 0


def test_programs_in_a_closed_folder_run_as_a_copy_that_is_made_once(closed, copies):
    original = postgres.programs()
    package = closed / original.parent.name
    programs = package / original.name
    for part in ("bin", "lib", "share"):
        shutil.copytree(original / part, programs / part, symlinks=True)
    libraries = original.parent.with_suffix(".libs")
    if libraries.is_dir():
        shutil.copytree(libraries, package.with_suffix(".libs"))
    (programs / "bin/postgres").chmod(0o700)

    with ground_for(closed / "data", programs, copies=copies) as ground:
        assert copies in ground.programs.parents
        assert not is_barred(ground.programs / "bin" / "postgres")
        made = (ground.programs / "bin" / "postgres").stat().st_mtime_ns
        data = ground.folder / "data"
        subprocess.run(
            [ground.programs / "bin" / "initdb", "-D", data, "--no-sync", "-A", "trust"],
            user=ground.account.user,
            pass_fds=ground.account.open_folders,
            check=True,
            capture_output=True,
        )
    assert (closed / "data/data/PG_VERSION").read_text() == "18\n"
    with ground_for(closed / "data", programs, copies=copies) as ground:
        assert (ground.programs / "bin" / "postgres").stat().st_mtime_ns == made
    assert len(list(copies.iterdir())) == 1


def test_a_copy_that_was_not_made_by_root_is_not_run(closed, copies):
    programs = closed / "programs"
    (programs / "bin").mkdir(parents=True)
    for part in ("lib", "share"):
        (programs / part).mkdir()
    (programs / "bin/postgres").touch(0o755)
    with ground_for(closed / "data", programs, copies=copies) as ground:
        os.chown(copies / ground.programs.relative_to(copies).parts[0], 65534, 65534)

    with (
        pytest.raises(HomeUnusable, match="is not a copy that root made"),
        ground_for(closed / "data", programs, copies=copies),
    ):
        pass


def test_where_no_copy_can_be_made_it_is_said_what_to_do(closed):
    programs = closed / "programs"
    (programs / "bin").mkdir(parents=True)
    (programs / "bin/postgres").touch(0o755)
    (closed / "file").touch()

    with (
        pytest.raises(HomeUnusable, match=r"Run as an ordinary user.*could not be copied"),
        ground_for(closed / "data", programs, copies=closed / "file"),
    ):
        pass
