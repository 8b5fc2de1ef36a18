"""Checks that every function and mapping has alarms, and that every alarm notifies a topic."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from infra.rules.template import FUNCTION, MAPPING, Template, is_ours, target

ALARM: Final = "AWS::CloudWatch::Alarm"
_STACK: Final = "AWS::CloudFormation::Stack"
_ALARMS: Final = "function_alarms.yaml"


def alarms_tell_somebody(template: Template) -> Iterator[str]:
    for name, alarm in template.of(ALARM):
        if not alarm.get("AlarmActions"):
            yield f"{name} notifies no topic"
        if not alarm.get("AlarmDescription"):
            yield f"{name} has no AlarmDescription"
        if not alarm.get("TreatMissingData"):
            yield f"{name} does not set TreatMissingData"


def functions_are_watched(template: Template) -> Iterator[str]:
    watching = {
        target(properties.get("Function")): properties for properties in _watching(template)
    }
    for name, function in template.of(FUNCTION):
        if not is_ours(function):
            continue
        if name not in watching:
            yield f"{name} has no alarms"
        elif not 0 < _longest(watching[name]) < 1000 * function.get("Timeout", 0):
            yield f"{name} has a threshold for slow runs that is never or always exceeded"


def mappings_are_watched(template: Template) -> Iterator[str]:
    watching = {target(properties.get("Mapping")): properties for properties in _watching(template)}
    for name, mapping in template.of(MAPPING):
        if name not in watching:
            yield f"{name} has no alarms"
            continue
        group = (mapping.get("AmazonManagedKafkaEventSourceConfig") or {}).get("ConsumerGroupId")
        (topic,) = mapping.get("Topics") or [None]
        for what, value in (("Group", group), ("Topic", topic)):
            if watching[name].get(what) != value:
                yield f"{name} reads as {value}, but the alarm watches {watching[name].get(what)}"
        if not watching[name].get("Cluster"):
            yield f"{name} has alarms without a cluster"


def _watching(template: Template) -> Iterator[Mapping[str, Any]]:
    for _, stack in template.of(_STACK):
        if str(stack.get("TemplateURL")).endswith(_ALARMS):
            yield stack.get("Parameters") or {}


def _longest(properties: Mapping[str, Any]) -> int:
    return int(properties.get("LongestMilliseconds") or 0)
