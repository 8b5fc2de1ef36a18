"""Shows logs from any terminal."""

from pathlib import Path

import pytest

from taskmill_local.cli import main


@pytest.fixture
def logs(tmp_path, monkeypatch):
    (tmp_path / "template.yaml").touch()
    folder = tmp_path / "home" / "logs"
    folder.mkdir(parents=True)
    (folder / "EchoWorker.log").write_text("one\ntwo\nthree\n")
    (folder / "kafka.log").write_text("")
    monkeypatch.setenv("TASKMILL_ROOT", str(tmp_path))
    monkeypatch.setenv("TASKMILL_HOME", str(folder.parent))
    return folder


@pytest.mark.parametrize("name", ["EchoWorker", "echoworker", "ECHOWORKER.log"])
def test_a_log_is_found_however_its_name_is_written(logs, name, capsys):
    assert main(["logs", name, "-n", "2"]) == 0
    assert capsys.readouterr().out == "two\nthree\n"


def test_without_a_name_the_logs_are_listed(logs, capsys):
    assert main(["logs"]) == 0
    answer = capsys.readouterr().out
    assert "EchoWorker  0.1 KB\n" in answer
    assert "kafka       empty\n" in answer


def test_an_unknown_name_is_answered_with_those_that_there_are(logs, capsys):
    assert main(["logs", "nobody"]) == 1
    assert "there are: EchoWorker, kafka." in capsys.readouterr().err


def test_a_log_commands_no_terminal(logs, capsys):
    (logs / "EchoWorker.log").write_text("one\x1b[2J\ttwo\nthree\x9b\n")
    main(["logs", "EchoWorker"])
    assert capsys.readouterr().out == "one\\x1b[2J\ttwo\nthree\\x9b\n"


def test_another_terminal_finds_the_home_of_the_system_that_runs(logs, stub, monkeypatch, capsys):
    monkeypatch.delenv("TASKMILL_HOME")
    monkeypatch.delenv("TASKMILL_ROOT")
    monkeypatch.chdir("/")
    stub.answers({"home": str(logs.parent)})

    assert main(["logs", "EchoWorker", "-n", "1"]) == 0
    assert capsys.readouterr().out == "three\n"


def test_without_a_system_that_runs_the_usual_home_is_meant(logs, stub, monkeypatch, capsys):
    stub.stop()
    monkeypatch.delenv("TASKMILL_HOME")
    Path(logs.parent).rename(logs.parents[1] / ".taskmill")

    assert main(["logs", "EchoWorker", "-n", "1"]) == 0
    assert capsys.readouterr().out == "three\n"
