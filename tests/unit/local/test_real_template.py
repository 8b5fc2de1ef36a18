"""The repository's own template holds nothing that the local platform does not know."""

from pathlib import Path

import pytest

from taskmill_local.template.read import read_plan
from taskmill_local.template.source import load_template

ROOT = Path(__file__).parents[3]
TEMPLATE = ROOT / "template.yaml"


@pytest.mark.skipif(not TEMPLATE.exists(), reason="template.yaml is not assembled yet")
def test_the_template_is_accepted():
    declared = load_template(TEMPLATE)["Parameters"]
    required = {name: "1" for name, declaration in declared.items() if "Default" not in declaration}
    plan = read_plan(TEMPLATE, root=ROOT, parameters=required)
    assert plan.functions
    assert plan.routes
    assert plan.mappings
    assert plan.rules
