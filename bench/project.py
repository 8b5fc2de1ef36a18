"""A throw-away project: the real one plus a bare function behind its front as a yardstick."""

import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from typing import Final

TEMPLATE: Final = "template.yaml"
_INFRA: Final = "infra"
_ASSEMBLER: Final = "assemble.py"
BARE_PATH: Final = "/bench/bare"
_BARE: Final = f"""
Bare:
  Type: AWS::Serverless::Function
  Properties:
    CodeUri: ./
    Handler: bench_bare.lambda_handler
    Timeout: 10
    Events:
      Bare:
        Type: HttpApi
        Properties: {{ApiId: !Ref HttpApi, Method: POST, Path: {BARE_PATH}}}
"""
_BARE_CODE: Final = '''"""Answers at once: what the platform itself costs."""


def lambda_handler(event, _context):
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": "{}"}
'''
_HOOK: Final = Path(__file__).with_name("profile_hook.py")


@contextmanager
def project(root: Path, *, profiled: str | None = None) -> Iterator[Path]:
    """Return a folder that stands in for *root*, whose files stay unchanged."""
    with tempfile.TemporaryDirectory(prefix="taskmill-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the stores may run as another user
        _link(root, folder, but=(TEMPLATE, _INFRA))
        # Without its assembler nothing compares the template, which has one more function here.
        (folder / _INFRA).mkdir()
        _link(root / _INFRA, folder / _INFRA, but=(_ASSEMBLER,))
        template = (root / TEMPLATE).read_text()
        (folder / TEMPLATE).write_text(template + indent(_BARE, "  "))
        (folder / "bench_bare.py").write_text(_BARE_CODE)
        if profiled is not None:  # Python runs a module of this name at its start
            (folder / "sitecustomize.py").write_text(_HOOK.read_text())
            (folder / "profile_wanted").write_text(profiled)
            folder.chmod(0o777)  # the profile is written here
        yield folder


def _link(source: Path, folder: Path, *, but: Collection[str]) -> None:
    """Link to everything in *source* except some entries."""
    for entry in source.iterdir():
        if entry.name not in but and not entry.name.startswith("."):
            (folder / entry.name).symlink_to(entry)
