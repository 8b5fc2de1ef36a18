"""Keeps the life-cycle diagram in the docs equal to the table of transitions."""

import re
from pathlib import Path

from taskmill.core.lifecycle import TRANSITIONS
from taskmill.core.task import FINAL, Status

PAGE = "docs/concepts/life-of-a-task.md"
_PLACE = re.compile(
    r"(?<=<!-- lifecycle -->\n```mermaid\n).*?(?=\n```\n<!-- /lifecycle -->)", re.DOTALL
)


def marked(root: Path) -> dict[Path, str]:
    """Return the page with the diagram from the code; None when the page does not exist."""
    path = root / PAGE
    return {path: _PLACE.sub(diagram(), path.read_text())} if path.exists() else {}


def diagram() -> str:
    ways: dict[tuple[Status, Status], list[str]] = {}
    for (start, kind), end in TRANSITIONS.items():
        if start is not end:
            ways.setdefault((start, end), []).append(kind.__name__)
    lines = ["stateDiagram-v2", f"    [*] --> {Status.QUEUED}", f"    [*] --> {Status.SCHEDULED}"]
    lines += [f"    {start} --> {end}: {', '.join(kinds)}" for (start, end), kinds in ways.items()]
    lines += [f"    {status} --> [*]" for status in Status if status in FINAL]
    return "\n".join(lines)
