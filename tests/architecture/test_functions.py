"""Each folder under functions/ is a deployable, wired as the platform is to be used."""

import importlib
from pathlib import Path

import pytest
import yaml

from taskmill.core.task import TaskType
from taskmill.core.topics import readers

ROOT = Path(__file__).parents[2]
FUNCTIONS = ROOT / "functions"
WORKERS = sorted(path for path in (FUNCTIONS / "workers").iterdir() if path.name[0] not in "._")
PARTS = sorted(FUNCTIONS.rglob("function.yaml"))


class _Template(yaml.SafeLoader):
    """Reads a template; what the platform fills in stays open."""


_Template.add_multi_constructor("!", lambda _loader, tag, node: f"!{tag} {node.value}")


def resources(part, kind):
    whole = yaml.load(part.read_text(), _Template)  # noqa: S506 - a safe loader, for our own files
    return [one["Properties"] for one in whole.values() if one["Type"] == f"AWS::{kind}"]


def by_folder(path):
    return path.name if path.is_dir() else path.parent.name


@pytest.mark.parametrize("folder", WORKERS, ids=by_folder)
def test_a_worker_s_folder_is_its_type(folder):
    (function,) = resources(folder / "function.yaml", "Serverless::Function")
    (mapping,) = resources(folder / "function.yaml", "Lambda::EventSourceMapping")
    assert function["Handler"] == f"functions.workers.{folder.name}.handler.lambda_handler"
    assert function["CodeUri"] == f"functions/workers/{folder.name}/"
    assert mapping["Topics"] == [f"tasks.worker.{folder.name}"]


@pytest.mark.parametrize("part", PARTS, ids=by_folder)
def test_a_handler_that_is_named_exists(part):
    for function in resources(part, "Serverless::Function"):
        module, _, name = function["Handler"].rpartition(".")
        assert Path(importlib.import_module(module).__file__).parent == part.parent
        assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.parametrize("part", PARTS, ids=by_folder)
def test_a_mapping_never_gives_a_record_away(part):
    for mapping in resources(part, "Lambda::EventSourceMapping"):
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert (mapping["MaximumRetryAttempts"], mapping["MaximumRecordAgeInSeconds"]) == (-1, -1)
        assert mapping["StartingPosition"] == "TRIM_HORIZON"
        assert mapping["ProvisionedPollerConfig"]["PollerGroupName"] == "taskmill"
        assert "DestinationConfig" not in mapping


def test_every_mapping_is_a_reader_that_the_code_knows_by_its_group():
    mappings = [one for part in PARTS for one in resources(part, "Lambda::EventSourceMapping")]
    told = [
        (one["AmazonManagedKafkaEventSourceConfig"]["ConsumerGroupId"], one["Topics"])
        for one in mappings
    ]
    known = readers(TaskType(folder.name) for folder in WORKERS)
    assert sorted(told) == sorted((one.group, [one.topic]) for one in known)


def test_no_two_mappings_share_a_consumer_group():
    groups = [
        mapping["AmazonManagedKafkaEventSourceConfig"]["ConsumerGroupId"]
        for part in PARTS
        for mapping in resources(part, "Lambda::EventSourceMapping")
    ]
    assert len(groups) == len(set(groups))
