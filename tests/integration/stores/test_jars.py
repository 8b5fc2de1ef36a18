"""The broker's jars are exactly those of the lock file."""

import hashlib

import pytest

from taskmill_local.errors import JarsUnusable
from taskmill_local.stores.jars import class_path, install

GOOD = b"a jar"


@pytest.fixture
def lock(tmp_path):
    lock = tmp_path / "jars.lock"
    lock.write_text(f"# header\norg.example:broker:1.0 {hashlib.sha256(GOOD).hexdigest()}\n")
    return lock


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "jars"


def cache_with(tmp_path, content):
    """Fill a cache like the resolver's, so that nothing is downloaded."""
    jar = tmp_path / "cache" / "org" / "example" / "broker" / "1.0" / "broker-1.0.jar"
    jar.parent.mkdir(parents=True, exist_ok=True)
    jar.write_bytes(content)
    return tmp_path / "cache"


def test_missing_jars_are_brought_once(tmp_path, lock, folder):
    cache = cache_with(tmp_path, GOOD)
    assert (install(folder, lock, cache), install(folder, lock, cache)) == (1, 0)
    assert class_path(folder, lock) == str(folder / "broker-1.0.jar")


def test_a_jar_that_is_not_what_the_lock_promises_is_refused(tmp_path, lock, folder):
    with pytest.raises(JarsUnusable, match=r"org\.example:broker:1\.0 does not match jars\.lock"):
        install(folder, lock, cache_with(tmp_path, b"something else"))
    assert not (folder / "broker-1.0.jar").exists()


def test_a_damaged_jar_is_replaced(tmp_path, lock, folder):
    install(folder, lock, cache_with(tmp_path, GOOD))
    (folder / "broker-1.0.jar").write_bytes(b"damaged")
    install(folder, lock, cache_with(tmp_path, GOOD))
    assert (folder / "broker-1.0.jar").read_bytes() == GOOD


def test_what_the_lock_does_not_name_is_removed(tmp_path, lock, folder):
    folder.mkdir()
    (folder / "broker-0.9.jar").write_bytes(b"old")
    install(folder, lock, cache_with(tmp_path, GOOD))
    assert not (folder / "broker-0.9.jar").exists()


def test_missing_jars_are_asked_for_with_the_command(lock, folder):
    with pytest.raises(JarsUnusable, match=r"Run `python -m taskmill_local\.stores\.jars install`"):
        class_path(folder, lock)


def test_jars_of_another_lock_do_not_pass(tmp_path, lock, folder):
    install(folder, lock, cache_with(tmp_path, GOOD))
    lock.write_text(lock.read_text() + "# changed\n")
    with pytest.raises(JarsUnusable):
        class_path(folder, lock)
