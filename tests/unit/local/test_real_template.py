"""The local platform supports everything in the repository's template."""

from pathlib import Path

from taskmill_local.template.read import read_plan

ROOT = Path(__file__).parents[3]
TEMPLATE = ROOT / "template.yaml"


# The stores that the local platform gives the template; all else has its default.
GIVEN = {"KafkaBrokers": "here:1", "RedisUrl": "redis://here:2", "PostgresDsn": "postgresql://here"}


def test_the_template_is_accepted():
    plan = read_plan(TEMPLATE, root=ROOT, parameters=GIVEN)
    assert plan.functions
    assert plan.routes
    assert plan.mappings
    assert plan.rules


def test_its_mappings_send_events_of_a_managed_kafka():
    plan = read_plan(TEMPLATE, root=ROOT, parameters=GIVEN)
    assert all(one.cluster and one.cluster.startswith("arn:aws:kafka:") for one in plan.mappings)
