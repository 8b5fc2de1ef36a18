"""Writes the command-line page from the parser."""

import argparse
import re
from collections.abc import Iterator

from infra.reference.routes import anchor
from infra.reference.text import code, page, sentence, table
from taskmill_local.cli.arguments import parser

_ABOUT = """
`make` puts the command at `.venv/bin/taskmill`. `taskmill --help` and `taskmill COMMAND --help`
show the same text. Commands that send requests use the API at `TASKMILL_URL`, by default
the local system; `--json` prints the API's response.

Source: the parser in `localstack/taskmill_local/cli`.
"""


def cli() -> str:
    """Return a section for each command."""
    root = parser()
    commands = list(_commands(root, ""))
    rows = [[f"[{code(name)}](#{anchor(name)})", sentence(about)] for name, about, _ in commands]
    parts = [_section(name, one) for name, _, one in commands]
    return page("Command line", _ABOUT, table(["command", ""], rows), *_epilog(root), *parts)


def _commands(
    root: argparse.ArgumentParser, prefix: str
) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    for group in _groups(root):
        abouts = {one.dest: one.help or "" for one in group._choices_actions}  # noqa: SLF001 - argparse shows its help nowhere else
        for name, one in group.choices.items():
            yield f"taskmill {prefix}{name}", abouts.get(name, ""), one
            yield from _commands(one, f"{prefix}{name} ")


def _groups(
    root: argparse.ArgumentParser,
) -> "list[argparse._SubParsersAction[argparse.ArgumentParser]]":
    actions = root._actions  # noqa: SLF001 - argparse shows its arguments nowhere else
    return [one for one in actions if isinstance(one, argparse._SubParsersAction)]  # noqa: SLF001 - it has no public name


def _section(name: str, one: argparse.ArgumentParser) -> str:
    rows = [_argument(action) for action in one._actions if _is_shown(action)]  # noqa: SLF001 - as above
    parts = [f"## {name}", sentence(one.description or "")]
    parts += [table(["argument", ""], rows)] if rows else []
    return "\n\n".join([*parts, *_epilog(one)])


def _is_shown(action: argparse.Action) -> bool:
    return not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)  # noqa: SLF001 - they have no public names


def _argument(action: argparse.Action) -> list[str]:
    value = _value(action)
    names = ", ".join(action.option_strings) or action.dest
    usage = f"{names} {value}" if action.option_strings and value else names
    about = action.help or ""
    about += f" ({_one_of(action)})" if action.choices else ""
    is_needed = action.required and bool(action.option_strings)
    return [code(usage), f"{sentence(about)}{' Required.' if is_needed else ''}"]


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    return str(action.metavar or action.dest.upper())


def _one_of(action: argparse.Action) -> str:
    return "one of " + ", ".join(map(str, action.choices or ()))


def _epilog(one: argparse.ArgumentParser) -> Iterator[str]:
    """Return the text below the arguments: prose as it is, the rest preformatted."""
    if text := (one.epilog or "").rstrip():
        for part in re.split(r"\n\n+", text):
            head, _, rest = part.partition("\n")
            if head.endswith(":"):
                yield f"{sentence(head)}\n\n```text\n{rest}\n```"
            else:
                yield part
