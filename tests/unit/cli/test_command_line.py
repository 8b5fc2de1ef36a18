"""The command line: commands, help, and exit codes for usage errors."""

import re
import tomllib
from pathlib import Path

import pytest

from taskmill import __version__
from taskmill_local.cli import main
from taskmill_local.cli.arguments import parser
from taskmill_local.cli.control_words import CONTROL
from taskmill_local.cli.pause_words import PAUSES

COMMANDS = (
    "up",
    "demo",
    "submit",
    "batch",
    "upload",
    "status",
    "list",
    "types",
    "stats",
    "get",
    "logs",
    "migrate",
    "doctor",
    "cost",
    "bench",
    "schedule",
    *CONTROL,
    *PAUSES,
)


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_is_there_for_each_command(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)

    assert left.value.code == 0
    assert "usage: taskmill" in capsys.readouterr().out


def test_the_first_help_names_every_command_and_exit_code(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])

    answer = capsys.readouterr().out
    assert [name for name in COMMANDS if name not in answer] == []
    assert [
        code for code in ("0  done", "  1  ", "  2  ", "  3  ", "130") if code not in answer
    ] == []


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["submit"], ["submit", "echo", "--wait", "-1"], ["list", "--limit", "x"]],
)
def test_what_cannot_be_meant_exits_with_two_and_one_line(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)

    assert left.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["submit", "echo", "{say: 1}"], "The payload is not JSON"),
        (["submit", "echo", "{}", "--file", "-"], "not both"),
        (["submit", "echo", "--file", "/nowhere/at/all"], "cannot be read"),
        (["submit", "echo", "--meta", "novalue"], "--meta takes KEY=VALUE"),
        (["status", "--key", "k"], "both --type and --key"),
        (["status", "--type", "echo"], "both --type and --key"),
        (["status", "an-id", "--type", "echo", "--key", "k"], "Give the task's id, or"),
    ],
)
def test_a_task_that_cannot_be_sent_is_refused_before_anything_is_asked(arguments, words, capsys):
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_metadata_and_limits_are_read():
    asked = parser().parse_args(
        ["submit", "echo", "--meta", "a=b", "--meta", "c=d=e", "--timeout", "1.5"]
    )

    assert (asked.meta, asked.timeout) == (["a=b", "c=d=e"], 1.5)


def test_the_version_is_that_of_the_package(capsys):
    project = tomllib.loads(Path("pyproject.toml").read_text())
    source = Path(project["tool"]["hatch"]["version"]["path"])

    with pytest.raises(SystemExit) as left:
        main(["--version"])

    assert (left.value.code, capsys.readouterr().out) == (0, f"taskmill {__version__}\n")
    assert re.findall(r'^__version__ = "(.+)"$', source.read_text(), re.MULTILINE) == [__version__]
