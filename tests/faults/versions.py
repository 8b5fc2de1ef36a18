"""Other versions of the code: they run before, beside or after the shared system."""

import subprocess
from contextlib import contextmanager

from tests.faults.stack import ROOT

EVERY = ("dispatcher", "inbox", "recorder", "scheduler", "workers")
"""The folders of all functions but the gateway, through which a test asks."""

_SAYS = '"pid": os.getpid(),'


@contextmanager
def code_of(reference, folder):
    """Yield the code of a release in a folder of its own."""
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), reference], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


@contextmanager
def prepared(stack, source, *, types=("probe",), without=(), says="newer"):
    """Yield a version that may be started, and stop it; the effects of its workers name it."""
    version = stack.another_version()
    stack.copy_project(version.project, types, source, without=without)
    for one in types:
        _let_say(version.project / "functions/workers" / one / "handler.py", says)
    try:
        yield version
    finally:
        version.stop()


def _let_say(handler, word):
    if handler.exists():
        answer = handler.read_text()
        assert answer.count(_SAYS) == 1
        handler.write_text(answer.replace(_SAYS, f'{_SAYS} "version": "{word}",'))


def versions_of(stack, run):
    """Return, for each effect of a run, which version had it; the shared one has no name."""
    lines = stack.left(set(run.ids))
    return [line.get("version", "") for line in lines if line["kind"] == "effect"]
