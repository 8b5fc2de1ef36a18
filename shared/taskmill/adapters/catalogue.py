"""The deployed types, read from the catalogue that is assembled from the workers' folders."""

from collections.abc import Sequence
from functools import cached_property
from importlib import resources
from typing import Any

import msgspec

from taskmill.domain.catalogue import PayloadMisfit, TypeEntry


class AssembledCatalogue:
    def __init__(self, source: bytes | None = None) -> None:
        if source is None:
            source = resources.files("taskmill").joinpath("catalogue.json").read_bytes()
        self._entries: dict[str, TypeEntry] = {
            entry.name: entry for entry in msgspec.json.decode(source, type=list[TypeEntry])
        }

    def entries(self) -> Sequence[TypeEntry]:
        return list(self._entries.values())

    def entry(self, name: str) -> TypeEntry | None:
        return self._entries.get(name)

    def misfit(self, name: str, payload: object) -> PayloadMisfit | None:
        """Return the first place where *payload* does not fit the type's schema."""
        for error in self._validators[name].iter_errors(payload):
            pointer = "".join(f"/{_escaped(step)}" for step in error.instance_path)
            return PayloadMisfit(pointer, error.message)
        return None

    @cached_property
    def _validators(self) -> dict[str, Any]:
        import jsonschema_rs  # noqa: PLC0415 - most functions only ask for names, and start sooner

        return {
            name: jsonschema_rs.validator_for(dict(entry.schema), validate_formats=True)
            for name, entry in self._entries.items()
        }


def _escaped(step: str | int) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")
