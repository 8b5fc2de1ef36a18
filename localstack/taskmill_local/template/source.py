"""Loads a CloudFormation YAML file with the short forms of its intrinsic functions."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any, cast

import yaml

from taskmill_local.template.refusal import TemplateRefused

_WITHOUT_PREFIX = frozenset({"Ref", "Condition"})


class _Loader(yaml.SafeLoader):
    """A separate loader: constructors added to SafeLoader would affect the whole process."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - the base class's signature
        keys = set[str]()
        for key, _ in node.value:
            if key.value in keys:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} appears twice", key.start_mark
                )
            keys.add(key.value)
        return super().construct_mapping(node, deep=deep)

    def intrinsic(self, suffix: str, node: yaml.Node) -> dict[str, Any]:
        name = suffix if suffix in _WITHOUT_PREFIX else f"Fn::{suffix}"
        value: Any
        if isinstance(node, yaml.MappingNode):
            value = self.construct_mapping(node, deep=True)
        elif isinstance(node, yaml.SequenceNode):
            value = self.construct_sequence(node, deep=True)
        else:
            value = self.plain_text(node)
        if name == "Fn::GetAtt" and isinstance(value, str):
            value = value.split(".", 1)
        return {name: value}

    def plain_text(self, node: yaml.Node) -> str:
        return str(self.construct_scalar(cast("yaml.ScalarNode", node)))


_Loader.add_multi_constructor("!", _Loader.intrinsic)
# CloudFormation reads `Version: 2012-10-17` as text, not as a date.
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.plain_text)


def load_template(template: Path) -> dict[str, Any]:
    try:
        body = yaml.load(template.read_text("utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader
    except OSError as error:
        raise TemplateRefused(template, [f"it cannot be read: {error.strerror}"]) from error
    except yaml.YAMLError as error:
        raise TemplateRefused(template, [f"it is not valid YAML: {error}"]) from error
    if not isinstance(body, dict) or not isinstance(body.get("Resources"), dict):
        raise TemplateRefused(template, ["it has no section Resources"])
    return body
