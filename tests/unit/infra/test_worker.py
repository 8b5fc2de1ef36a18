"""A worker's folder names only its differences; errors name file, key and next step."""

from pathlib import Path

import pytest
import yaml

from infra.assembly import ROOT, template, workers
from infra.plain_yaml import plain
from infra.sections import extended, sections
from infra.worker import Pattern

PATTERN = (ROOT / "infra/worker.yaml").read_text()


@pytest.fixture
def expand(tmp_path):
    def expanded(text, name="resize_image", files=("handler.py",)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "function.yaml").write_text(text)
        for file in files:
            (folder / file).touch()
        return Pattern(PATTERN).expand(folder)

    return expanded


def resources(worker):
    return plain(worker.blocks["Resources"])


def test_an_empty_file_takes_every_default(expand):
    worker = expand("# nothing differs\n")
    made = resources(worker)
    assert (worker.longest_timeout, worker.partitions) == (30, 6)
    assert worker.function == "ResizeImageWorker"
    assert made["ResizeImageWorker"]["Properties"]["Timeout"] == 840
    assert made["ResizeImageWorkerTasks"]["Properties"]["BatchSize"] == 1
    assert made["ResizeImageWorkerTopic"]["Properties"]["PartitionCount"] == 6
    assert made["ResizeImageWorkerTasks"]["Properties"]["Topics"] == ["tasks.worker.resize_image"]
    assert "VpcConfig" not in made["ResizeImageWorker"]["Properties"]
    assert (worker.settings, worker.routes) == ((), {})


def test_nothing_of_the_pattern_stays_open(expand):
    text = expand("ReachesInternet: true\n").blocks["Resources"]
    assert "<" not in text
    assert "# if" not in text


def test_a_folder_s_own_words_come_in_with_their_comments(expand):
    worker = expand(
        "MemorySize: 1024\n"
        "ReachesInternet: true\n\n"
        "Environment:\n  TASKMILL_KEY: !Ref Key # of the other side\n"
        "# at the margin\n  OTHER: '1'\n\n"
        "# only a laptop has these\n"
        "Settings: [TASKMILL_FILE]\n"
        "Statements:\n  - Effect: Allow\n    Action: s3:GetObject\n    Resource: a\n"
        "Parameters:\n  Key:\n    Type: String\n"
        "Resources:\n  Extra:\n    Type: AWS::SNS::Topic\n"
    )
    made = resources(worker)
    function = made["ResizeImageWorker"]["Properties"]
    assert function["Environment"]["Variables"]["TASKMILL_KEY"] == "Key"
    assert "# of the other side" in worker.blocks["Resources"]
    assert "laptop" not in worker.blocks["Resources"]
    assert "VpcConfig" in function
    assert function["MemorySize"] == 1024
    (policy,) = made["ResizeImageWorkerRole"]["Properties"]["Policies"]
    assert policy["PolicyDocument"]["Statement"][3]["Resource"] == "a"
    assert made["Extra"] == {"Type": "AWS::SNS::Topic"}
    assert plain(worker.blocks["Parameters"]) == {"Key": {"Type": "String"}}
    assert worker.settings == ("TASKMILL_KEY", "TASKMILL_FILE")


@pytest.mark.parametrize(("partitions", "pollers"), [(1, 1), (5, 1), (6, 2), (10, 2), (11, 3)])
def test_a_poller_runs_five_invocations(expand, partitions, pollers):
    worker = expand(f"Partitions: {partitions}\nReservedConcurrentExecutions: 11\n")
    tasks = resources(worker)["ResizeImageWorkerTasks"]["Properties"]
    config = tasks["ProvisionedPollerConfig"]
    assert (config["MinimumPollers"], config["MaximumPollers"]) == (pollers, pollers)


@pytest.mark.parametrize(
    ("longest", "partitions"), [(300, 1), (301, 3), (420, 3), (560, 4), (672, 6), (800, 22)]
)
def test_a_type_with_long_tasks_needs_processes_that_take_while_others_end(
    expand, longest, partitions
):
    """An invocation lasts 840 s, and takes nothing in its last LongestTimeout seconds."""
    text = "LongestTimeout: {}\nReservedConcurrentExecutions: 99\nPartitions: {}\n".format
    worker = expand(text(longest, partitions))
    assert (worker.longest_timeout, worker.partitions) == (longest, partitions)
    if partitions > 1:
        with pytest.raises(SystemExit) as refused:
            expand(text(longest, partitions - 1), name="too_few")
        words = f"Partitions must be at least {partitions}, not {partitions - 1}"
        assert f"functions/workers/too_few/function.yaml: {words}" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("MemorySise: 5", "unknown key MemorySise; did you mean MemorySize?"),
        ("Timeout: 60", "Timeout is no key any more: every function has 840 s; declare LongestT"),
        ("BatchSize: 500", "BatchSize is no key any more: every batch has one record: delete"),
        ("EchoWorker:\n  Type: x", "goes below Resources"),
        ("LongestTimeout: soon", "LongestTimeout must be a whole number, not 'soon'"),
        ("LongestTimeout: true", "LongestTimeout must be a whole number, not True"),
        ("Partitions: 0", "Partitions must be at least 1, not 0"),
        ("LongestTimeout: 801", "LongestTimeout must be at most 800, not 801"),
        ("LongestTimeout: 800", "Partitions must be at least 22, not 6: with a LongestTimeout of"),
        ("Partitions: 11", "ReservedConcurrentExecutions must be at least 11, not 10"),
        ("ReachesInternet: 1", "ReachesInternet must be true or false, not 1"),
        ("Settings: TASKMILL_X", "Settings must be a list"),
        ("Settings: [HOME]", "HOME does not begin with TASKMILL_"),
        ("Environment: {A: b}", "Environment: put each entry on its own line"),
        ("Environment: [A]", "Environment must be a mapping"),
        ("Routes:\n  Look: /v1/things", "Look must look like GET /v1/things"),
        ("Partitions: [", "cannot be read as YAML"),
        ("Partitions: 5\nPartitions: 6", "the key 'Partitions' appears twice"),
        ("- Partitions", "must be a mapping"),
    ],
)
def test_what_cannot_be_is_said_with_its_file(expand, text, words):
    with pytest.raises(SystemExit) as refused:
        expand(text)
    assert str(refused.value).startswith("functions/workers/resize_image/function.yaml")
    assert words in str(refused.value)


def test_a_folder_without_a_handler_is_refused(expand):
    with pytest.raises(SystemExit, match=r"resize_image has no handler\.py: write it or delete"):
        expand("", files=())


def test_the_name_of_a_folder_is_a_type(expand):
    with pytest.raises(SystemExit, match="rename the folder to lower-case letters"):
        expand("", name="Resize-Image")


def test_a_name_stands_in_one_file_only(tmp_path):
    folder = tmp_path / "echo2"
    folder.mkdir()
    (folder / "handler.py").touch()
    (folder / "function.yaml").write_text("Resources:\n  Bucket:\n    Type: AWS::SNS::Topic\n")
    twin = Pattern(PATTERN).expand(folder)
    with pytest.raises(
        SystemExit, match=r"echo2/function.yaml: Resources: infra/base.yaml also defines Bu"
    ):
        template([*workers(), twin])


def test_the_template_is_yaml_with_every_worker():
    made = plain(template(workers()))["Resources"]
    assert {f"{one.type.capitalize()}Worker" for one in workers()} <= made.keys()


def test_a_section_grows_at_its_end_and_nothing_else_changes():
    text = "A:\n  x: 1\n\n# of B\nB:\n  y: 2\n"
    grown = extended(text, "A", "z: 3\n")
    assert yaml.safe_load(grown) == {"A": {"x": 1, "z": 3}, "B": {"y": 2}}
    assert extended(text, "A", "") == text
    assert sections(grown)["A"].block == "x: 1\nz: 3\n"


def test_the_pattern_can_be_read_as_yaml():
    assert yaml.safe_load(Path(ROOT / "infra/worker.yaml").read_text().replace("!", ""))
