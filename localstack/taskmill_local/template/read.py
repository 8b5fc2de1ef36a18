"""Turns the SAM template into a plan, or refuses it with everything that is not supported."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taskmill_local.plan import FunctionPlan, MappingPlan, Plan, RoutePlan, RulePlan
from taskmill_local.template import known
from taskmill_local.template.expand import expand
from taskmill_local.template.functions import function_plan
from taskmill_local.template.mappings import mapping_plan
from taskmill_local.template.parameters import parameter_values
from taskmill_local.template.refusal import TemplateRefused, Unresolved
from taskmill_local.template.resource import Resource
from taskmill_local.template.routes import check_stage, route_plans
from taskmill_local.template.rules import rule_plan
from taskmill_local.template.source import load_template
from taskmill_local.template.values import Values


def read_plan(
    template: Path,
    *,
    root: Path,
    parameters: Mapping[str, str],
    where_declared: Mapping[str, str] | None = None,
) -> Plan:
    """Read the template; functions run from ``root``, the repository's own folder.

    A parameter in *where_declared* is set if the template has it: it belongs to one type.
    """
    body = load_template(template)
    declared = (where_declared or {}).keys() & (body.get("Parameters") or {}).keys()
    parameters = {**parameters, **{name: (where_declared or {})[name] for name in declared}}
    expanded = expand(body, template=template, parameters=parameters)
    complaints: list[str] = []
    values = Values(
        parameters=parameter_values(expanded.get("Parameters") or {}, parameters, complaints),
        conditions=expanded.get("Conditions") or {},
        mappings=expanded.get("Mappings") or {},
        resources=expanded["Resources"],
    )
    draft = _Draft()
    for resource in _resources(values, complaints):
        draft.add(resource, root=root)
    if complaints:
        raise TemplateRefused(template, complaints)
    return draft.plan()


def _resources(values: Values, complaints: list[str]) -> Iterator[Resource]:
    for name, body in values.resources.items():
        resource = Resource(
            name=name,
            kind=body["Type"],
            properties=body.get("Properties") or {},
            values=values,
            complaints=complaints,
        )
        if _is_wanted(resource, body):
            yield resource


def _is_wanted(resource: Resource, body: Mapping[str, Any]) -> bool:
    try:
        return "Condition" not in body or resource.values.holds(body["Condition"])
    except Unresolved as unresolved:
        resource.complain(f"Condition: {unresolved}")
        return False


@dataclass(slots=True)
class _Draft:
    functions: dict[str, FunctionPlan] = field(default_factory=dict)
    routes: list[RoutePlan] = field(default_factory=list)
    mappings: list[MappingPlan] = field(default_factory=list)
    rules: list[RulePlan] = field(default_factory=list)

    def add(self, resource: Resource, *, root: Path) -> None:
        if resource.kind in known.NOT_NEEDED_HERE:
            return
        if resource.kind not in known.PROPERTIES:
            kinds = ", ".join(sorted(known.PROPERTIES.keys() | known.NOT_NEEDED_HERE))
            resource.complain(f"this type is not supported here; supported types: {kinds}")
            return
        resource.refuse_unknown()
        match resource.kind:
            case known.FUNCTION:
                self.functions[resource.name] = function_plan(resource, root=root)
            case known.API:
                self.routes.extend(route_plans(resource))
            case known.STAGE:
                check_stage(resource)
            case known.MAPPING:
                self.mappings.append(mapping_plan(resource))
            case _:
                self.rules.append(rule_plan(resource))

    def plan(self) -> Plan:
        return Plan(
            functions=self.functions,
            routes=tuple(self.routes),
            mappings=tuple(self.mappings),
            rules=tuple(self.rules),
        )
