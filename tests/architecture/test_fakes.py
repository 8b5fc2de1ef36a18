"""Tests replace ports with fakes, and never patch our own functions."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = frozenset({"taskmill", "taskmill_local", "functions", "tests", "bench"})
SOURCES = sorted(path for folder in ("tests", "bench") for path in (ROOT / folder).rglob("*.py"))
OF_A_TEST_S_OWN = frozenset({"tests/faults/a_nursery.py", "tests/faults/a_scheduler.py"})
"""Programs that tests start: they may set figures of ours, and nobody is left to mind."""


def complaints(source):
    """Return the lines with forbidden patches, each with the reason."""
    tree = ast.parse(source)
    imports = origins(tree)
    return [
        (node.lineno, why)
        for node in ast.walk(tree)
        if (why := complaint(node, imports)) is not None
    ]


def origins(tree):
    """Return the top-level package of each imported name."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(one.asname or first(one.name)): first(one.name) for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {(one.asname or one.name): first(node.module or "") for one in node.names}
    return found


def first(name):
    return name.partition(".")[0]


def complaint(node, imports):
    match node:
        case ast.Import() | ast.ImportFrom() if mocks(node):
            return "unittest.mock: put a fake in the place of a port"
        case ast.Call(func=ast.Attribute(attr="setattr"), args=[target, *_]):
            return None if is_of_others(target, imports) else "setattr: give a fake, or provide it"
        case ast.Assign(targets=targets) if any(is_ours(one, imports) for one in targets):
            return "an attribute of ours is replaced"
        case _:
            return None


def mocks(node):
    module = getattr(node, "module", None) or ""
    return any(f"{module}.{one.name}".strip(".").startswith("unittest.mock") for one in node.names)


def is_of_others(target, imports):
    """Return whether the patched object belongs to another package or to Python."""
    if isinstance(target, ast.Constant):
        return first(str(target.value)) not in OURS
    return imports.get(root_of(target), "taskmill") not in OURS


def is_ours(target, imports):
    return isinstance(target, ast.Attribute) and imports.get(root_of(target)) in OURS


def root_of(node):
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def test_no_test_replaces_a_function_of_ours():
    found = {
        f"{path.relative_to(ROOT)}:{line}": why
        for path in SOURCES
        if str(path.relative_to(ROOT)) not in OF_A_TEST_S_OWN
        for line, why in complaints(path.read_text())
    }
    assert found == {}, "replace a port (tests/unit/world.py) or provide it (process.PROVIDED)"


@pytest.mark.parametrize("program", sorted(OF_A_TEST_S_OWN))
def test_a_program_of_a_test_s_own_sets_figures_only(program):
    tree = ast.parse((ROOT / program).read_text())
    imports = origins(tree)
    targets = [
        one for node in ast.walk(tree) if isinstance(node, ast.Assign) for one in node.targets
    ]
    assert all(one.attr.isupper() for one in targets if is_ours(one, imports))


@pytest.mark.parametrize(
    ("source", "is_refused"),
    [
        ("monkeypatch.setattr('functions.gateway.service.tell', x)", True),
        ("monkeypatch.setattr('taskmill.core.task.keyed_id', x)", True),
        ("from taskmill.schedules import firing\nmonkeypatch.setattr(firing, 'due', x)", True),
        ("from taskmill_local.cli import ask\npatch.setattr(ask.Api, 'submit', x)", True),
        ("def test(stage, monkeypatch):\n    monkeypatch.setattr(stage.blobs, 'read', x)", True),
        ("from unittest.mock import patch", True),
        ("from unittest import mock", True),
        ("import unittest.mock", True),
        ("from taskmill.dispatch import due\ndue.most = 7", True),
        ("monkeypatch.setattr('os._exit', x)", False),
        ("import socket\nmonkeypatch.setattr(socket, 'getaddrinfo', x)", False),
        ("monkeypatch.setitem(process.PROVIDED, 'desk', x)", False),
        ("stage.ports.blobs = Instead(stage.blobs, read=x)", False),
    ],
)
def test_what_is_refused(source, is_refused):
    assert bool(complaints(source)) is is_refused
