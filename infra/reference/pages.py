"""Writes every page of docs/reference from the code it describes."""

import json
from pathlib import Path
from typing import Any

from infra.reference.cli import cli
from infra.reference.errors import errors
from infra.reference.http import http
from infra.reference.lifecycle import marked
from infra.reference.limits import limits
from infra.reference.metrics import metrics
from infra.reference.settings import settings


def pages(root: Path, *, description: str, template: str) -> dict[Path, str]:
    """Return the text of each page; *description* is the API's, as JSON, *template* the stack's."""
    document: dict[str, Any] = json.loads(description)
    folder = root / "docs/reference"
    texts = {
        "http.md": http(document),
        "errors.md": errors(document),
        "cli.md": cli(),
        "settings.md": settings(template),
        "metrics.md": metrics(),
        "limits.md": limits(),
    }
    return {folder / name: text for name, text in texts.items()} | marked(root)
