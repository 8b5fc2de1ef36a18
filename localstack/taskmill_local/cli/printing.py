"""Prints to the terminal, with escapes in untrusted text."""

import json
import sys
from collections.abc import Mapping
from typing import Any, Final
from unicodedata import category

from taskmill_local.cli.exits import Exit

# Control characters, lone surrogates, and separators that some terminals treat as line breaks.
_COMMANDS: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Characters that change the text direction, so that it reads as something else.
_TURNS: Final = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_LAYOUT: Final = frozenset("\n\t")


def as_line(text: str) -> str:
    """Return the text with an escape for each invisible character."""
    return text if text.isprintable() else "".join(map(_visible, text))


def page(text: str) -> str:
    """Escape a text that has its own line breaks and tabs."""
    return "".join(one if one in _LAYOUT else _visible(one) for one in text)


def seen(value: Any) -> Any:
    """Return JSON for display: each text in it is one harmless line.

    Only a stack keeps its line breaks; the caller indents them.
    """
    match value:
        case str():
            return as_line(value)
        case {"stack": str(stack), **others}:
            return seen(others) | {"stack": "\n".join(map(as_line, stack.split("\n")))}
        case Mapping():
            return {seen(name): seen(member) for name, member in value.items()}
        case list():
            return [seen(member) for member in value]
        case _:
            return value


def print_line(text: str) -> None:
    sys.stdout.write(f"{page(text)}\n")


def print_json(value: Any) -> None:
    """Print the value unchanged: JSON's escapes leave nothing that a terminal interprets."""
    sys.stdout.write(f"{json.dumps(value)}\n")


def note(sentence: str) -> None:
    """Print a remark to standard error."""
    sys.stderr.write(f"{page(sentence)}\n")


def complain(sentence: str, code: Exit) -> Exit:
    note(f"taskmill: {sentence}")
    return code


def _visible(letter: str) -> str:
    if category(letter) in _COMMANDS or letter in _TURNS:
        return letter.encode("unicode_escape").decode()
    return letter
