"""Reads templates that use CloudFormation's short forms as plain values."""

from collections.abc import Hashable
from typing import Any

import yaml


class _Plain(yaml.SafeLoader):
    """Reads `!Ref Name` as the text `Name` and refuses duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - the base class's signature
        keys = [key.value for key, _ in node.value]
        for key, _ in node.value:
            if keys.count(key.value) > 1:
                words = f"the key {key.value!r} appears twice"
                raise yaml.constructor.ConstructorError(None, None, words, key.start_mark)
        return super().construct_mapping(node, deep=deep)


def _value(loader: _Plain, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node)
    return loader.construct_mapping(node) if isinstance(node, yaml.MappingNode) else None


_Plain.add_multi_constructor("!", lambda loader, _, node: _value(loader, node))


def plain(text: str) -> Any:
    return yaml.load(text, _Plain)  # noqa: S506 - a SafeLoader
