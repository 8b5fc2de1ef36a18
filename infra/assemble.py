"""Assembles template, catalogue of types, schedules and the API's description from the folders."""

import sys
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any

import msgspec
import yaml

ROOT = Path(__file__).parents[1]
NOTICE = "# Assembled by `make template`; edit infra/base.yaml or a function.yaml instead.\n"
TEMPLATE = ROOT / "template.yaml"
CATALOGUE = ROOT / "shared/taskmill/catalogue.json"
SCHEDULES = ROOT / "shared/taskmill/schedules.json"
DESCRIPTION = ROOT / "functions/gateway/openapi.json"


class _Plain(yaml.SafeLoader):
    """Reads CloudFormation's short forms as the plain values behind them."""


_Plain.add_multi_constructor("!", lambda loader, _, node: _value(loader, node))


def _value(loader: _Plain, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node)
    return loader.construct_mapping(node) if isinstance(node, yaml.MappingNode) else None


def template() -> str:
    base = (ROOT / "infra/base.yaml").read_text()
    parts = sorted((ROOT / "functions").rglob("function.yaml"))
    return "\n".join([NOTICE + base, *(indent(part.read_text(), "  ") for part in parts)])


def catalogue() -> list[dict[str, Any]]:
    """Return what the workers' handlers say of their types, as the gateway answers from it."""
    folders = sorted(path.parent for path in (ROOT / "functions/workers").glob("*/handler.py"))
    return [_entry(folder) for folder in folders]


def _entry(folder: Path) -> dict[str, Any]:
    module = import_module(f"functions.workers.{folder.name}.handler")
    worker = module.lambda_handler
    return {
        "name": folder.name,
        "title": (module.__doc__ or "").strip().splitlines()[0],
        "schema": msgspec.json.schema(worker.payload_type),
        "defaults": worker.defaults,
        "function_timeout_seconds": _function_timeout(folder),
    }


def _function_timeout(folder: Path) -> float:
    resources = yaml.load((folder / "function.yaml").read_text(), _Plain)  # noqa: S506 - a SafeLoader
    handler = f"functions.workers.{folder.name}.handler.lambda_handler"
    for resource in resources.values():
        if resource["Properties"].get("Handler") == handler:
            return float(resource["Properties"]["Timeout"])
    raise LookupError(f"{folder}/function.yaml has no function with the handler {handler}")


def _as_text(told: list[dict[str, Any]]) -> str:
    return msgspec.json.format(msgspec.json.encode(told), indent=2).decode() + "\n"


def main() -> int:
    sys.path[:0] = [str(ROOT), str(ROOT / "shared")]
    types = catalogue()
    declared = import_module("infra.declared").schedules(ROOT / "functions/workers", types)
    wanted = {
        TEMPLATE: template(),
        CATALOGUE: _as_text(types),
        SCHEDULES: _as_text(declared),
        DESCRIPTION: import_module("infra.openapi.document").document(types),
    }
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what the folders say: run `make template`")
        return int(bool(stale))
    for path in stale:
        path.write_text(wanted[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
