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
    assert worker.timeout_seconds == 60
    assert made["ResizeImageWorker"]["Properties"]["Timeout"] == 60
    assert made["ResizeImageWorkerTasks"]["Properties"]["Topics"] == ["tasks.worker.resize_image"]
    assert "VpcConfig" not in made["ResizeImageWorker"]["Properties"]
    assert (worker.settings, worker.routes) == ((), {})


def test_nothing_of_the_pattern_stays_open(expand):
    text = expand("ReachesInternet: true\n").blocks["Resources"]
    assert "<" not in text
    assert "# if" not in text


def test_a_folder_s_own_words_come_in_with_their_comments(expand):
    worker = expand(
        "Timeout: 120\n"
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
    alarms = made["ResizeImageWorkerAlarms"]["Properties"]["Parameters"]
    assert alarms["LongestMilliseconds"] == 110_000
    (policy,) = made["ResizeImageWorkerRole"]["Properties"]["Policies"]
    assert policy["PolicyDocument"]["Statement"][3]["Resource"] == "a"
    assert made["Extra"] == {"Type": "AWS::SNS::Topic"}
    assert plain(worker.blocks["Parameters"]) == {"Key": {"Type": "String"}}
    assert worker.settings == ("TASKMILL_KEY", "TASKMILL_FILE")


@pytest.mark.parametrize("seconds", [1, 5, 30, 60, 840])
def test_a_run_counts_as_slow_before_it_is_cut_off(expand, seconds):
    made = resources(expand(f"Timeout: {seconds}\n"))
    longest = made["ResizeImageWorkerAlarms"]["Properties"]["Parameters"]["LongestMilliseconds"]
    assert 0 < longest < seconds * 1000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Timout: 5", "unknown key Timout; did you mean Timeout?"),
        ("EchoWorker:\n  Type: x", "goes below Resources"),
        ("Timeout: soon", "Timeout must be a whole number, not 'soon'"),
        ("Timeout: true", "Timeout must be a whole number, not True"),
        ("BatchSize: 0", "BatchSize must be at least 1, not 0"),
        ("ReachesInternet: 1", "ReachesInternet must be true or false, not 1"),
        ("Settings: TASKMILL_X", "Settings must be a list"),
        ("Settings: [HOME]", "HOME does not begin with TASKMILL_"),
        ("Environment: {A: b}", "Environment: put each entry on its own line"),
        ("Environment: [A]", "Environment must be a mapping"),
        ("Routes:\n  Look: /v1/things", "Look must look like GET /v1/things"),
        ("Timeout: [", "cannot be read as YAML"),
        ("Timeout: 5\nTimeout: 6", "the key 'Timeout' appears twice"),
        ("- Timeout", "must be a mapping"),
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
