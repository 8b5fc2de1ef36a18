"""The files for stages and containers match the template."""

import re
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.check_template import expanded
from taskmill_local.template.source import load_template

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "docs/operations/deploy.md"
CONFIG = tomllib.loads((ROOT / "samconfig.toml").read_text())
COMPOSE = yaml.safe_load((ROOT / "localstack/compose.yaml").read_text())
MAKEFILE = (ROOT / "Makefile").read_text()
STAGES = ["dev", "prod"]
KEYS = {"image", "ports", "environment", "command", "healthcheck", "configs"}
HEALTH = {"test", "interval", "timeout", "retries"}
PORT = re.compile(r"127\.0\.0\.1:\d+:\d+")
LEFT_TO_OTHERS = 100  # Lambda keeps so many of an account from being reserved
LAST_WITHOUT_AN_ACCOUNT = "localstack/localstack:4.14.0"


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_sets_only_parameters_that_exist(stage):
    declared = load_template(ROOT / "template.yaml")["Parameters"]
    deploy = CONFIG[stage]["deploy"]["parameters"]
    given = dict(one.split("=", maxsplit=1) for one in deploy["parameter_overrides"])
    assert given.keys() <= declared.keys()
    assert given["Stage"] == stage
    assert deploy["stack_name"] == f"taskmill-{stage}"


def test_the_docs_say_how_many_executions_an_account_must_have_free():
    reserved = sum(
        function["ReservedConcurrentExecutions"]
        for _, function in expanded().of("AWS::Lambda::Function")
    )
    (answer,) = re.findall(r"(\d+) free concurrent executions", DEPLOY.read_text())
    assert int(answer) == reserved + LEFT_TO_OTHERS


def test_nothing_is_deployed_unasked_or_without_a_stage():
    assert "deploy" not in CONFIG["default"]
    assert all(CONFIG[stage]["deploy"]["parameters"]["confirm_changeset"] for stage in STAGES)


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_a_container_is_pinned_watched_and_closed_to_others(name):
    service = COMPOSE["services"][name]
    assert re.fullmatch(r"[a-z/]+:\d+\.\d+(\.\d+)?", service["image"])
    assert service["healthcheck"]["test"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def misuses(compose: dict[str, Any]) -> Iterator[str]:
    """Name what docker compose would refuse, of the little that is used here."""
    yield from compose.keys() - {"name", "services", "configs"}
    for name, service in compose["services"].items():
        yield from service.keys() - KEYS
        yield from (port for port in service["ports"] if not PORT.fullmatch(port))
        yield from service["healthcheck"].keys() - HEALTH
        for what in ("interval", "timeout"):
            if not re.fullmatch(r"\d+(ms|s|m)", service["healthcheck"][what]):
                yield f"{name}: {what}"
        for variable, value in service.get("environment", {}).items():
            if isinstance(value, bool) or not isinstance(value, str | int):
                yield f"{name}: {variable}"
        for config in service.get("configs", ()):
            if config.keys() != {"source", "target"} or config["source"] not in compose["configs"]:
                yield f"{name}: configs"


def test_the_file_for_containers_says_nothing_that_compose_refuses():
    assert list(misuses(COMPOSE)) == []


@pytest.mark.parametrize(
    ("path", "value", "answer"),
    [
        ("comand", "x", "comand"),
        ("environment.KAFKA_NODE_ID", True, "kafka: KAFKA_NODE_ID"),
        ("healthcheck.intervall", "5s", "intervall"),
        ("healthcheck.timeout", "5", "kafka: timeout"),
        ("configs", [{"source": "nowhere", "target": "/x"}], "kafka: configs"),
        ("ports", ["127.0.0.1:29092"], "127.0.0.1:29092"),
    ],
)
def test_what_compose_would_refuse_is_found(path, value, answer):
    bad = deepcopy(COMPOSE)
    place = bad["services"]["kafka"]
    *way, last = path.split(".")
    for step in way:
        place = place[step]
    place[last] = value
    assert list(misuses(bad)) == [answer]


def test_localstack_is_one_that_starts_without_an_account():
    assert COMPOSE["services"]["localstack"]["image"] == LAST_WITHOUT_AN_ACCOUNT


def test_the_local_platform_is_pointed_at_the_containers():
    asked = set(re.findall(r"127\.0\.0\.1:(\d+)", MAKEFILE))
    stores = ("kafka", "valkey", "postgres")
    published = {COMPOSE["services"][name]["ports"][0].split(":")[1] for name in stores}
    assert asked == published


def test_the_broker_is_reached_where_it_says_that_it_is():
    kafka = COMPOSE["services"]["kafka"]
    port = kafka["ports"][0].split(":")[1]
    assert f"127.0.0.1:{port}" in kafka["environment"]["KAFKA_ADVERTISED_LISTENERS"]
