"""Prints to the terminal, with escapes in untrusted text."""

import json
import sys
from collections.abc import Mapping
from typing import Any, Final
from unicodedata import category

from taskmill_local.cli.exits import Exit

# Controls, lone surrogates, and separators that some terminals take for a new line.
_COMMANDS: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
# They turn the direction of what is shown, so that it reads as something else.
_TURNS: Final = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_LAYOUT: Final = frozenset("\n\t")


def as_line(text: str) -> str:
    """Return the text with an escape for each character that is none to be seen."""
    return text if text.isprintable() else "".join(map(_visible, text))


def page(text: str) -> str:
    """Clean a text that has lines and tabs of its own."""
    return "".join(one if one in _LAYOUT else _visible(one) for one in text)


def seen(value: Any) -> Any:
    """Return JSON as people may see it: each text in it is one line, and harmless.

    Only a stack keeps its lines; whoever shows it indents them.
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
    """Print the value as it is: JSON's own escapes leave nothing that a terminal obeys."""
    sys.stdout.write(f"{json.dumps(value)}\n")


def note(sentence: str) -> None:
    """Say something beside the answer."""
    sys.stderr.write(f"{page(sentence)}\n")


def complain(sentence: str, code: Exit) -> Exit:
    note(f"taskmill: {sentence}")
    return code


def _visible(letter: str) -> str:
    if category(letter) in _COMMANDS or letter in _TURNS:
        return letter.encode("unicode_escape").decode()
    return letter
