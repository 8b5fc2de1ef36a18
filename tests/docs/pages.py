"""Reads the pages of the documentation: their blocks, links and anchors."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from infra.reference.routes import anchor

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
EVERYTHING = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "bench/README.md"]
"""Pages whose links must lead somewhere."""

_BLOCK = re.compile(
    r"^(?P<margin> *)(?:<!-- (?P<mark>(?:(?!-->).)*) -->\n *)?```(?P<language>\w*)\n"
    r"(?P<text>.*?)\n(?P=margin)```$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.MULTILINE)
_CODE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    mark: str
    """What the comment before it says, if there is one."""

    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def excuse(self) -> str | None:
        """Why it is not run."""
        return self.mark.removeprefix("not run:").strip() if "not run:" in self.mark else None

    @property
    def runner(self) -> str | None:
        """Which test runs it, where that is not the one for all of its language."""
        return self.mark.removeprefix("run by:").strip() if "run by:" in self.mark else None


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in _BLOCK.finditer(text):
        yield Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            found["language"],
            found["mark"] or "",
            dedent(found["text"]) + "\n",
        )


def blocks_of(*languages: str) -> list[Block]:
    return [one for page in PAGES for one in blocks(page) if one.language in languages]


def links(page: Path) -> list[str]:
    """Return the targets of a page's links, except those in code."""
    return _LINK.findall(_CODE.sub("", page.read_text()))


def anchors(page: Path) -> set[str]:
    headings = _HEADING.findall(_CODE.sub("", page.read_text()))
    return {anchor(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)) for heading in headings}
