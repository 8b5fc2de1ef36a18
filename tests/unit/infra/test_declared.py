"""Schedules are declared in type folders, and invalid ones fail before deployment."""

import pytest

from infra.declared import schedules

TYPES = [
    {
        "name": "echo",
        "title": "Echoes.",
        "schema": {"type": "object", "properties": {"say": {"type": "string"}}},
        "defaults": {"max_attempts": 4, "timeout_seconds": 30},
        "longest_timeout_seconds": 60,
        "partitions": 6,
    }
]


@pytest.fixture
def declare(tmp_path):
    def assembled(text, folder="echo"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "schedules.yaml").write_text(text)
        return schedules(tmp_path, TYPES)

    return assembled


def test_what_a_folder_declares_becomes_the_request_for_it(declare):
    answer = declare("nightly:\n  cron: 0 3 * * *\n  task: {payload: {say: hello}}\n")
    assert answer == [
        {
            "name": "nightly",
            "cron": "0 3 * * *",
            "task": {"type": "echo", "payload": {"say": "hello"}},
        }
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nightly: {cron: 0 0 31 2 *}", "echo/schedules.yaml: nightly: '0 0 31 2 *' never fires"),
        ("nightly: {every_seconds: 1, task: {payload: {say: 1}}}", "(at /task/payload/say)"),
        ("nightly: {every_seconds: 1, task: {type: other}}", "must be that of its folder"),
        ("nightly: {every_seconds: 1, colour: red}", "colour"),
        ("a b: {every_seconds: 1}", "(at /name)"),
        ("nightly: {every_seconds: 1, task: 7}", "must hold the payload"),
        ("nightly: {cron: * * * * *}", "is not valid YAML"),
        ("- nightly", "must map names"),
    ],
)
def test_what_cannot_be_is_said_with_its_folder(declare, text, words):
    with pytest.raises(SystemExit) as refused:
        declare(text)
    assert words in str(refused.value)


def test_a_name_belongs_to_one_folder(declare):
    declare("nightly: {every_seconds: 1}")
    with pytest.raises(SystemExit, match="another folder already declares a schedule nightly"):
        declare("nightly: {every_seconds: 1}", "email")
