"""Two versions run at the same time and lose nothing (P25)."""

import os
import shutil
import signal
import subprocess
from collections import Counter
from contextlib import contextmanager

import pytest

from taskmill.core import codec, topics
from tests.faults.log import ends, values_since
from tests.faults.nemesis import Nemesis, kill
from tests.faults.run import a_seed
from tests.faults.stack import ROOT, WORKER

OLD_TASKS, NEW_TASKS = 600, 60
NEW = "novel"
CATALOGUE = "shared/taskmill/catalogue.json"
SAYS = '"pid": os.getpid(),'


@pytest.fixture
def newer(stack):
    """Start the next version next to the running one: it has one more type."""
    with beside(stack, "newer", ROOT) as version:
        yield version


@pytest.fixture
def other(stack, tmp_path):
    """Start another release next to the running one; it, too, has one more type."""
    reference = os.environ.get("AGAINST")
    if not reference:
        pytest.skip("`make prove NAME=rolling-deploy AGAINST=<git ref>` names another release")
    source = tmp_path / "code"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(source), reference], check=True)
    try:
        with beside(stack, "other", source) as version:
            yield version
    finally:
        subprocess.run([*git, "remove", "--force", str(source)], check=True)


@contextmanager
def beside(stack, folder, source):
    version = stack.another_version(folder)
    stack.copy_project(version.project, ("probe", NEW), source)
    for name in ("probe", NEW):
        handler = version.project / "functions/workers" / name / "handler.py"
        answer = handler.read_text()
        assert answer.count(SAYS) == 1
        handler.write_text(answer.replace(SAYS, f'{SAYS} "version": "newer",'))
    catalogue = stack.project / CATALOGUE
    before = catalogue.read_text()
    try:
        yield version.start()
    finally:
        catalogue.write_text(before)
        stack.signal(signal.SIGTERM, "Dispatcher")
        version.stop()


def test_a_rolling_deploy_loses_nothing(stack, run, newer, figures):
    assert_that_a_deploy_loses_nothing(stack, run, newer, figures)


def test_a_rolling_deploy_from_another_release_loses_nothing(stack, run, other, figures):
    assert_that_a_deploy_loses_nothing(stack, run, other, figures)


def assert_that_a_deploy_loses_nothing(stack, run, newer, figures):
    seed = a_seed()
    begins = ends(stack, topics.PENDING)
    ended = [kill(one, name, number=signal.SIGTERM) for one in (stack, newer) for name in ROLLED]
    known = [run.request(n, sleep_seconds=0.02) for n in range(OLD_TASKS)]
    novel = [run.request(n, fields={"type": NEW}) for n in range(OLD_TASKS, OLD_TASKS + NEW_TASKS)]
    with Nemesis(ended, seed=seed, between=(0.3, 0.8)).at_work() as nemesis:
        for at in range(0, NEW_TASKS, 5):
            run.submit(novel[at : at + 5], newer.client)
        run.submit_many(known, batch=20, callers=2, seconds=8)
    finish_rollout(stack, newer)
    run.await_ends()
    history = run.verify()
    waited = parked(stack, begins, run)
    versions = Counter(
        line.get("version", "older")
        for line in stack.left(set(run.ids))
        if line["kind"] == "effect"
    )
    figures.tell(
        "P25",
        f"{len(run.ids)} tasks through two versions at once, {len(nemesis.strikes)} SIGTERM: "
        f"{versions['older']} ran in the older and {versions['newer']} in the newer, {waited} of "
        f"a type that only the newer knows waited, 0 lost (seed {seed})",
    )
    assert {(row.status, row.losses) for row in history.rows} == {("succeeded", 0)}
    assert waited > 0
    assert min(versions["older"], versions["newer"]) > 0


ROLLED = ("Dispatcher", WORKER)


def finish_rollout(stack, newer):
    """Turn the older dispatcher into the newer one."""
    shutil.copy(newer.project / CATALOGUE, stack.project / CATALOGUE)
    stack.signal(signal.SIGTERM, "Dispatcher")


def parked(stack, begins, run):
    """Return how many of the run's tasks waited for a version that takes them."""
    answer = (
        task for value in values_since(stack, topics.PENDING, begins) for task in opened(value)
    )
    mine = set(run.ids.values())
    return len({task.id for task in answer if task.parked_until_ms and task.id in mine})


def opened(value):
    try:
        return codec.open_tasks(value)
    except codec.Undecodable:
        return ()
