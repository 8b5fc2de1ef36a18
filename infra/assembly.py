"""Writes the files that are assembled from the folders, or reports which of them are stale."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any

import msgspec

from functions.gateway.description.every import OPERATIONS
from infra.declared import schedules
from infra.openapi.document import document
from infra.plain_yaml import plain
from infra.reference.pages import pages
from infra.sections import extended, names, sections
from infra.worker import FILE, OF_TEMPLATE, Pattern, WorkerFolder
from taskmill.worker import Worker

ROOT = Path(__file__).parents[1]
NOTICE = "# Assembled by `make template`; edit infra/*.yaml or a function.yaml instead.\n"
BASE = "infra/base.yaml"
ALARMS = ROOT / "infra/metric_alarms.yaml"
TEMPLATE = ROOT / "template.yaml"
CATALOGUE = ROOT / "shared/taskmill/catalogue.json"
SETTINGS = ROOT / "shared/taskmill/settings/of_types.json"
SCHEDULES = ROOT / "shared/taskmill/schedules.json"
DESCRIPTION = ROOT / "functions/gateway/openapi.json"

_GATEWAY = "functions/gateway/function.yaml"
_ROUTES = "      # <Routes>: from the types' folders\n"
_READERS = "  # <Readers>: deployed first, because they read what it writes\n"
_EVENT = """\
      {name}:
        Type: HttpApi
        Properties: {{ApiId: !Ref HttpApi, Method: {method}, Path: "{path}"}}
"""


def workers() -> list[WorkerFolder]:
    pattern = Pattern((ROOT / "infra/worker.yaml").read_text())
    return [pattern.expand(folder) for folder in _worker_folders()]


def _worker_folders() -> list[Path]:
    """Return the folders that hold source files: a deleted one may leave bytecode."""
    every = {path.parent for path in (ROOT / "functions/workers").glob("*/*") if path.is_file()}
    return sorted(every)


def template(types: Sequence[WorkerFolder]) -> str:
    text = (ROOT / BASE).read_text()
    _refuse_doubles(text, types)
    for key in OF_TEMPLATE:
        text = extended(text, key, "".join(one.blocks[key] for one in types if key != "Resources"))
    parts = [*_parts(types), *(one.blocks["Resources"] for one in types)]
    return "\n".join([NOTICE + text, *(indent(part, "  ") for part in parts)])


def _parts(types: Sequence[WorkerFolder]) -> Iterator[str]:
    """Yield the resources of no type, with what they have of all types."""
    for path in _of_no_type():
        yield path.read_text().replace(_ROUTES, _events(types)).replace(_READERS, _after(types))


def _after(types: Sequence[WorkerFolder]) -> str:
    return f"  DependsOn: [{', '.join(['Recorder', *(one.function for one in types)])}]\n"


def _of_no_type() -> list[Path]:
    return [ALARMS, *sorted((ROOT / "functions").glob(f"*/{FILE}"))]


def _events(types: Sequence[WorkerFolder]) -> str:
    routes = [(name, route.split()) for one in types for name, route in one.routes.items()]
    return "".join(
        _EVENT.format(name=name, method=method, path=path) for name, (method, path) in routes
    )


def _refuse_doubles(base: str, types: Sequence[WorkerFolder]) -> None:
    """Refuse a name that two files define: YAML would silently use the later one."""
    for key in OF_TEMPLATE:
        homes = dict.fromkeys(names(sections(base)[key].block), BASE)
        for file, block in _blocks(key, types):
            for name in names(block):
                if name in homes:
                    raise SystemExit(
                        f"{file}: {key}: {homes[name]} also defines {name}: rename one of them"
                    )
                homes[name] = file


def _blocks(key: str, types: Sequence[WorkerFolder]) -> Iterator[tuple[str, str]]:
    if key == "Resources":
        for path in _of_no_type():
            yield str(path.relative_to(ROOT)), path.read_text()
    for one in types:
        yield f"functions/workers/{one.type}/{FILE}", one.blocks[key]


def routes(types: Sequence[WorkerFolder]) -> set[str]:
    """Return the routes of the gateway when these types are deployed."""
    _refuse_unknown_routes(types)
    text = (ROOT / _GATEWAY).read_text().replace(_ROUTES, _events(types))
    events = plain(text)["Gateway"]["Properties"]["Events"].values()
    properties = [one["Properties"] for one in events]
    return {f"{one['Method']} {one['Path']}" for one in properties if "Path" in one}


def _refuse_unknown_routes(types: Sequence[WorkerFolder]) -> None:
    known = {operation.route for operation in OPERATIONS}
    for one in types:
        for name, route in one.routes.items():
            if route not in known:
                raise SystemExit(
                    f"functions/workers/{one.type}/{FILE}: Routes: {name}: the gateway has no"
                    f" {route}: describe it in functions/gateway/description, or remove it"
                )


def catalogue(types: Sequence[WorkerFolder]) -> list[dict[str, Any]]:
    """Return what the workers' handlers declare about their types; the gateway answers from it."""
    return [_entry(one) for one in types]


def _entry(one: WorkerFolder) -> dict[str, Any]:
    module = _handler(one.type)
    file = f"functions/workers/{one.type}/handler.py"
    worker = getattr(module, "lambda_handler", None)
    if not isinstance(worker, Worker):
        raise SystemExit(
            f"{file} defines no worker: end it with lambda_handler = serve(…, perform)"
        )
    title = (module.__doc__ or "").strip()
    if not title:
        raise SystemExit(f"{file} has no docstring: its first line becomes the title of the type")
    _check_timeout(worker, one)
    return {
        "name": one.type,
        "title": title.splitlines()[0],
        "schema": msgspec.json.schema(worker.payload_type),
        "defaults": worker.defaults,
        "longest_timeout_seconds": float(one.longest_timeout),
        "partitions": one.partitions,
    }


def _check_timeout(worker: Worker[Any], one: WorkerFolder) -> None:
    seconds = worker.defaults.timeout_seconds
    if seconds > one.longest_timeout:
        raise SystemExit(
            f"functions/workers/{one.type}/handler.py: serve has a timeout of {seconds:g} s, but"
            f" LongestTimeout in functions/workers/{one.type}/{FILE} is {one.longest_timeout}:"
            " raise LongestTimeout, or lower the timeout"
        )


def _handler(name: str) -> Any:
    try:
        return import_module(f"functions.workers.{name}.handler")
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] in {"functions", "taskmill"}:
            raise
        raise SystemExit(
            f"functions/workers/{name} imports {error.name}, which is not installed: add its"
            f" package to functions/workers/{name}/requirements.in, run `make lock TYPE={name}`,"
            " then `make template`"
        ) from error


def settings(types: Sequence[WorkerFolder]) -> dict[str, list[str]]:
    """Return the variables that only one type reads; without its folder they are unknown."""
    return {one.type: sorted(set(one.settings)) for one in types if one.settings}


def _as_text(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def outputs() -> Mapping[Path, str]:
    """Return the expected contents of each assembled file."""
    every = workers()
    types = catalogue(every)
    description = document(types, routes(every))
    template_text = template(every)
    return {
        TEMPLATE: template_text,
        CATALOGUE: _as_text(types),
        SETTINGS: _as_text(settings(every)),
        SCHEDULES: _as_text(schedules(ROOT / "functions/workers", types)),
        DESCRIPTION: description,
        **pages(ROOT, description=description, template=template_text),
    }


def main() -> int:
    files = outputs()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: run `make template`")
        return int(bool(stale))
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path])
    return 0
