"""Expands a worker's folder into the template by the one pattern of all workers."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from math import ceil
from pathlib import Path
from textwrap import indent
from typing import Any, Final

import yaml
from msgspec import Struct

from infra.plain_yaml import plain
from infra.sections import Section, sections
from taskmill.core.time import LONGEST_TIMEOUT
from taskmill.settings.known import PREFIX

FILE: Final = "function.yaml"
OF_TEMPLATE: Final = ("Parameters", "Rules", "Conditions", "Outputs", "Resources")
"""Sections of a folder that are merged into the template's section of the same name."""

_PATTERN: Final = "infra/worker.yaml"
_BLOCKS: Final[Mapping[str, type]] = {
    "Environment": dict,
    "Statements": list,
    "Routes": dict,
    **dict.fromkeys(OF_TEMPLATE, dict),
}
_SETTINGS: Final = "Settings"
_TYPE = re.compile(r"[a-z][a-z0-9_]*")
_ROUTE = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (/\S*)")
_CONDITIONAL = re.compile(r" *# if (\w+)$")
_INSERTION = re.compile(r"( *)# <(\w+)>.*")
_PLACEHOLDER = re.compile(r"<(\w+)>")
_LONGEST: Final = int(LONGEST_TIMEOUT.total_seconds())
_LIFE: Final = 840  # seconds of an invocation, the most that a Kafka mapping allows
_TAKES_FOR_LONG: Final = 300  # with a shorter time-out an invocation takes tasks most of its life
_RUNS_OF_A_POLLER: Final = 5
_RETIRED: Final[Mapping[str, str]] = {
    "Timeout": f"every function has {_LIFE} s; declare LongestTimeout, the longest time-out that a"
    " task of the type may ask for",
    "BatchSize": "every batch has one record: delete the line",
}
"""Keys that a folder had before, and what to do with them."""

_KINDS: Final[Mapping[type, str]] = {
    int: "a whole number",
    bool: "true or false",
    dict: "a mapping",
    list: "a list",
}


class WorkerFolder(Struct, frozen=True, kw_only=True):
    """A folder of `functions/workers/`, expanded."""

    type: str
    function: str
    longest_timeout: int
    """The longest time-out in seconds that a task may ask for."""

    partitions: int
    settings: tuple[str, ...]
    """Variables with our prefix that only this type reads."""

    routes: Mapping[str, str]
    """Gateway routes that exist for this type, by event name."""

    blocks: Mapping[str, str]
    """The folder's additions to each section of the template."""


class Pattern:
    def __init__(self, text: str) -> None:
        self._defaults: Mapping[str, Any] = plain(text)["Defaults"]
        self._resources = sections(text)["Resources"].block

    def expand(self, folder: Path) -> WorkerFolder:
        """Read a folder; an invalid one raises SystemExit with its file, key and next step."""
        text = _text_of(folder)
        own = _read(text, _name_of(folder))
        for key, value in own.items():
            self._check(key, value, _name_of(folder))
        parts = sections(text)
        for key in _BLOCKS.keys() & parts.keys():
            _check_block(key, parts[key], own[key], _name_of(folder))
        values = {**self._defaults, **own}
        _check_processes(values, _name_of(folder))
        blocks = {key: _block(parts, key) for key in OF_TEMPLATE}
        resources = self._expanded(folder.name, values, parts)
        return WorkerFolder(
            type=folder.name,
            function=f"{_camel_case(folder.name)}Worker",
            longest_timeout=values["LongestTimeout"],
            partitions=values["Partitions"],
            settings=tuple(_settings(own, _name_of(folder))),
            routes=_routes(own, _name_of(folder)),
            blocks=blocks | {"Resources": resources + blocks["Resources"]},
        )

    def _check(self, key: str, value: object, file: str) -> None:
        known = [*self._defaults, _SETTINGS, *_BLOCKS]
        if key in _RETIRED:
            raise SystemExit(f"{file}: {key} is no key any more: {_RETIRED[key]}")
        if key not in known:
            raise SystemExit(f"{file}: unknown key {key}{_nearest(key, known)}")
        kind = type(self._defaults[key]) if key in self._defaults else _BLOCKS.get(key, list)
        if type(value) is not kind:
            raise SystemExit(f"{file}: {key} must be {_KINDS[kind]}, not {value!r}")
        if kind is int and isinstance(value, int) and value < 1:
            raise SystemExit(f"{file}: {key} must be at least 1, not {value}")

    def _expanded(self, name: str, values: Mapping[str, Any], parts: Mapping[str, Section]) -> str:
        words = {key: str(value) for key, value in values.items()} | {
            "type": name,
            "Name": _camel_case(name),
            "Pollers": str(ceil(values["Partitions"] / _RUNS_OF_A_POLLER)),
        }
        lines = self._resources.splitlines(keepends=True)
        return "".join(_line(line, values, words, parts) for line in lines)


def _line(
    line: str,
    values: Mapping[str, Any],
    words: Mapping[str, str],
    parts: Mapping[str, Section],
) -> str:
    if into := _INSERTION.fullmatch(line.rstrip()):
        return indent(_block(parts, into[2]), into[1])
    if condition := _CONDITIONAL.search(line.rstrip()):
        return line[: condition.start()] + "\n" if values[condition[1]] else ""
    return _PLACEHOLDER.sub(lambda match: words[match[1]], line)


def _text_of(folder: Path) -> str:
    if not _TYPE.fullmatch(folder.name):
        raise SystemExit(
            f"{folder.name}: the name of a worker's folder is its type: rename the folder to"
            " lower-case letters, digits and underscores"
        )
    for name, step in (
        (FILE, f"create it; an empty file uses the defaults of {_PATTERN}"),
        ("handler.py", "write it or delete the folder"),
    ):
        if not (folder / name).is_file():
            raise SystemExit(f"functions/workers/{folder.name} has no {name}: {step}")
    if (folder / "requirements.in").is_file() and not (folder / "requirements.txt").is_file():
        raise SystemExit(
            f"functions/workers/{folder.name}/requirements.in has no lock file beside it:"
            f" run `make lock TYPE={folder.name}`"
        )
    return (folder / FILE).read_text()


def _read(text: str, file: str) -> dict[str, Any]:
    try:
        own = plain(text)
    except yaml.YAMLError as error:
        raise SystemExit(f"{file} cannot be read as YAML: {error}") from error
    if own is None:
        return {}
    if not isinstance(own, dict):
        raise SystemExit(f"{file} must be a mapping; its keys are listed in {_PATTERN}")
    return own


def _check_block(key: str, section: Section, value: object, file: str) -> None:
    if section.inline and value:
        raise SystemExit(f"{file}: {key}: put each entry on its own line below the key")


def _block(parts: Mapping[str, Section], key: str) -> str:
    block = parts[key].block if key in parts else ""
    return block if not block or block.endswith("\n") else block + "\n"


def _settings(own: Mapping[str, Any], file: str) -> Iterator[str]:
    declared = own.get(_SETTINGS, [])
    for name in declared:
        if not str(name).startswith(PREFIX):
            raise SystemExit(
                f"{file}: {_SETTINGS}: {name} does not begin with {PREFIX};"
                " declare only names that do: remove it"
            )
    yield from (name for name in (*own.get("Environment", {}), *declared) if _is_ours(name))


def _is_ours(name: str) -> bool:
    return name.startswith(PREFIX)


def _routes(own: Mapping[str, Any], file: str) -> Mapping[str, str]:
    routes = {str(name): str(route) for name, route in own.get("Routes", {}).items()}
    for name, route in routes.items():
        if not _ROUTE.fullmatch(route):
            raise SystemExit(f"{file}: Routes: {name} must look like GET /v1/things, not {route!r}")
    return routes


def _name_of(folder: Path) -> str:
    return f"functions/workers/{folder.name}/{FILE}"


def _nearest(key: str, known: list[str]) -> str:
    near = get_close_matches(key, known, n=1, cutoff=0.7)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; known keys: {', '.join(known)}. A resource of its own goes below Resources"


def _camel_case(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _check_processes(values: Mapping[str, Any], file: str) -> None:
    """Refuse limits under which tasks would wait for a process."""
    longest, partitions = values["LongestTimeout"], values["Partitions"]
    reserved = values["ReservedConcurrentExecutions"]
    if longest > _LONGEST:
        raise SystemExit(f"{file}: LongestTimeout must be at most {_LONGEST}, not {longest}")
    if partitions < (needed := _partitions_for(longest)):
        raise SystemExit(
            f"{file}: Partitions must be at least {needed}, not {partitions}: with a LongestTimeout"
            f" of {longest} processes spend much of their time on their last tasks"
        )
    if reserved < partitions:
        raise SystemExit(
            f"{file}: ReservedConcurrentExecutions must be at least {partitions}, not {reserved}:"
            " each of the Partitions can keep a process busy"
        )


def _partitions_for(longest: int) -> int:
    """Return how many processes are needed so that some take tasks while others end theirs."""
    return 1 if longest <= _TAKES_FOR_LONG else ceil(2 + longest / (_LIFE - longest))
