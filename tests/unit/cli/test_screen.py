"""The screen of `up` once everything runs."""

import re

import pytest

from taskmill_local.cli.demo.run import next_step
from taskmill_local.cli.screen import screen

NAMES = ("Gateway", "Dispatcher", "Inbox", "Recorder", "Scheduler", "EchoWorker", "WebhookWorker")
SNAPSHOT = {
    "url": "http://127.0.0.1:8080",
    "home": "/home/ada/taskmill/.taskmill",
    "start_seconds": {"stores": 2.0},
    "stores": {
        "Kafka": {"address": "127.0.0.1:20001", "is_external": False},
        "PostgreSQL": {"address": "127.0.0.1:20003", "is_external": False},
    },
    "functions": {name: {"concurrency": 2} for name in NAMES},
}


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_functions_are_broken_between_their_names_only(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = screen(SNAPSHOT).plain
    lines = shown[shown.index("Functions") : shown.index("Logs")].splitlines()
    assert [line for line in lines if len(line) > columns] == []
    found = [name for line in lines for name in re.findall(r"\b2 (\w+)(?:,|$)", line)]
    assert found == list(NAMES)


def test_commands_for_another_terminal_say_where_the_system_is():
    shown = screen(SNAPSHOT | {"url": "http://127.0.0.1:9000"}).plain
    logs = next(line for line in shown.splitlines() if line.startswith("Logs"))
    assert re.search(r"\(TASKMILL_URL=http://127.0.0.1:9000 \S*taskmill logs NAME\)", logs)


@pytest.mark.parametrize(
    ("called", "step"), [("taskmill", "taskmill up"), (".venv/bin/taskmill", "make up")]
)
def test_the_demo_ends_with_what_people_type(called, step, monkeypatch, tmp_path):
    program = tmp_path / called
    program.parent.mkdir(parents=True, exist_ok=True)
    program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [called if "/" in called else str(program)])
    monkeypatch.setenv("PATH", str(tmp_path) if called == "taskmill" else "/nowhere")
    assert next_step() == f"Next, keep a system running:  {step}"


STORE = {"address": "a place", "is_external": False}
APPLICATION = "postgresql://application@127.0.0.1:1/taskmill"


@pytest.mark.parametrize(
    ("application", "says"),
    [
        (APPLICATION, f"psql {APPLICATION} may call taskmill.enqueue"),
        (None, "GRANT taskmill_enqueue TO your role, and it may call taskmill.enqueue"),
    ],
)
def test_it_says_who_may_ask_for_tasks_in_sql(application, says):
    snapshot = {
        "url": "http://127.0.0.1:1",
        "home": "/home",
        "start_seconds": {"Kafka": 1.0},
        "stores": {"PostgreSQL": STORE | {"application": application}},
        "functions": {},
    }
    assert says in screen(snapshot).plain
