"""The deployed types, read from the catalogue assembled from the workers' folders."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import msgspec

from taskmill.egress.formats import Complaint, formats
from taskmill.submission.catalogue import PayloadMisfit, TypeEntry

_FILE: Final = Path(__file__).parents[1] / "catalogue.json"


class AssembledCatalogue:
    def __init__(self, source: bytes | None = None, *, reaches_loopback: bool = False) -> None:
        if source is None:
            source = _FILE.read_bytes()
        self._entries: dict[str, TypeEntry] = {
            entry.name: entry for entry in msgspec.json.decode(source, type=list[TypeEntry])
        }
        self._formats = formats(reaches_loopback=reaches_loopback)

    def entries(self) -> Sequence[TypeEntry]:
        return list(self._entries.values())

    def entry(self, name: str) -> TypeEntry | None:
        return self._entries.get(name)

    def misfit(self, name: str, payload: object) -> PayloadMisfit | None:
        """Return the first place where *payload* does not fit the type's schema."""
        for error in self._validators[name].iter_errors(payload):
            pointer = "".join(f"/{_escaped(step)}" for step in error.instance_path)
            return PayloadMisfit(pointer, _message_of(error, self._formats))
        return None

    @cached_property
    def _validators(self) -> dict[str, Any]:
        import jsonschema_rs  # noqa: PLC0415 - most functions only need names and start faster

        formats: dict[str, Callable[..., bool]] = {
            name: partial(_fits, complaint) for name, complaint in self._formats.items()
        }
        return {
            name: jsonschema_rs.validator_for(
                # Messages are kept and listed, and a value may be a secret.
                dict(entry.schema),
                validate_formats=True,
                formats=formats,
                mask="it",
            )
            for name, entry in self._entries.items()
        }


def _fits(complaint: Complaint, text: str) -> bool:
    return complaint(text) is None


def _message_of(error: Any, formats: Mapping[str, Complaint]) -> str:
    """Return what is wrong; for our own formats, in their own words."""
    if error.kind.name == "propertyNames":
        return _message_of(error.kind.error, formats)
    complaint = formats.get(error.kind.format) if error.kind.name == "format" else None
    return (complaint and complaint(error.instance)) or str(error.message)


def _escaped(step: str | int) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")
