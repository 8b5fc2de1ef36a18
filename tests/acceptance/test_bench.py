"""`taskmill bench` measures its own system and cleans up after itself."""

import json

from tests.acceptance.system import processes_of, run_command


def test_bench_tells_every_figure_with_what_was_asked_of_it(folder):
    ran = run_command(folder, "bench", "--quick", "--json", "--only", "cold", "--only", "submit")

    assert ran.returncode == 0, ran.stderr
    figures = {
        (answer["section"].split(":")[0], answer["name"]): answer
        for answer in json.loads(ran.stdout)
    }
    assert {name for section, name in figures if section == "cold start"} == {
        "Bare",
        "Gateway",
        "Dispatcher",
        "EchoWorker",
        "EmailWorker",
        "ReportWorker",
        "WebhookWorker",
        "Recorder",
        "Inbox",
    }
    gateway = figures["cold start", "Gateway"]
    assert (gateway["limit"], gateway["unit"]) == (250, "ms")
    assert gateway["holds"] is (gateway["value"] <= 250)
    assert all(answer["value"] > 0 for answer in figures.values())
    assert processes_of(folder) == []


def test_bench_refuses_a_version_that_is_not_there_with_one_sentence(folder):
    ran = run_command(folder, "bench", "--against", "no-such-version")

    assert ran.returncode != 0
    assert "git cannot check out 'no-such-version'" in ran.stderr
    assert "Traceback" not in ran.stderr
