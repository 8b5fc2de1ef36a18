"""Every folder in functions/ is deployable and configured as the platform requires."""

import importlib
from pathlib import Path

import pytest

from taskmill.core.task import TaskType
from taskmill.core.topics import readers
from taskmill_local.template.source import load_template

ROOT = Path(__file__).parents[2]
FUNCTIONS = ROOT / "functions"
WORKERS = sorted(path for path in (FUNCTIONS / "workers").iterdir() if path.name[0] not in "._")
TEMPLATE = load_template(ROOT / "template.yaml")["Resources"].values()
HANDLERS = sorted(path for path in FUNCTIONS.rglob("handler.py"))


def resources(kind):
    return [one["Properties"] for one in TEMPLATE if one["Type"] == f"AWS::{kind}"]


def by_folder(path):
    return path.name if path.is_dir() else path.parent.name


@pytest.mark.parametrize("folder", WORKERS, ids=by_folder)
def test_a_worker_s_folder_is_its_type(folder):
    handler = f"functions.workers.{folder.name}.handler.lambda_handler"
    (function,) = (one for one in resources("Serverless::Function") if one["Handler"] == handler)
    assert function["CodeUri"] == f"functions/workers/{folder.name}/"
    topics = [one["Topics"] for one in resources("Lambda::EventSourceMapping")]
    assert [f"tasks.worker.{folder.name}"] in topics


def test_a_handler_that_is_named_exists():
    named = set()
    for function in resources("Serverless::Function"):
        module, _, name = function["Handler"].rpartition(".")
        assert callable(getattr(importlib.import_module(module), name))
        named.add(Path(importlib.import_module(module).__file__))
    assert sorted(named) == HANDLERS


def test_a_mapping_never_gives_a_record_away():
    for mapping in resources("Lambda::EventSourceMapping"):
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert (mapping["MaximumRetryAttempts"], mapping["MaximumRecordAgeInSeconds"]) == (-1, -1)
        assert mapping["StartingPosition"] == "TRIM_HORIZON"
        assert mapping["ProvisionedPollerConfig"]["PollerGroupName"] == "taskmill"
        assert "DestinationConfig" not in mapping


def test_every_mapping_is_a_reader_that_the_code_knows_by_its_group():
    groups = [
        (one["AmazonManagedKafkaEventSourceConfig"]["ConsumerGroupId"], one["Topics"])
        for one in resources("Lambda::EventSourceMapping")
    ]
    known = readers(TaskType(folder.name) for folder in WORKERS)
    assert sorted(groups) == sorted((one.group, [one.topic]) for one in known)


def test_no_two_mappings_share_a_consumer_group():
    groups = [
        mapping["AmazonManagedKafkaEventSourceConfig"]["ConsumerGroupId"]
        for mapping in resources("Lambda::EventSourceMapping")
    ]
    assert len(groups) == len(set(groups))


def test_a_worker_s_declaration_is_short():
    """What every worker has is in the pattern: a folder without own resources says little."""
    for folder in WORKERS:
        lines = (folder / "function.yaml").read_text().splitlines()
        if "Resources:" not in lines:
            assert len(lines) <= 15
