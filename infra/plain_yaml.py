"""Reads templates with CloudFormation's short forms as plain values."""

from typing import Any

import yaml


class _Plain(yaml.SafeLoader):
    """Takes `!Ref Name` as the text `Name`."""


def _value(loader: _Plain, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node)
    return loader.construct_mapping(node) if isinstance(node, yaml.MappingNode) else None


_Plain.add_multi_constructor("!", lambda loader, _, node: _value(loader, node))


def plain(text: str) -> Any:
    return yaml.load(text, _Plain)  # noqa: S506 - a SafeLoader
