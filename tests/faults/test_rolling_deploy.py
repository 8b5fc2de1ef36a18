"""Two versions run at the same time and lose nothing (P25)."""

import shutil
import signal
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from itertools import count, product

import pytest

from taskmill.core import codec, topics
from tests.faults.lanes import lose_lane
from tests.faults.log import ends, values_since
from tests.faults.nemesis import Nemesis, kill
from tests.faults.run import a_seed, now_ms, starts
from tests.faults.stack import PLACES, ROOT, WORKER
from tests.faults.versions import EVERY, prepared, versions_of
from tests.waiting import eventually

OLD_TASKS, NEW_TASKS = 600, 60
LONG_SECONDS = 1.0
"""So long that one process has too few places for what comes in a second, and both are woken."""

NEW = "novel"
CATALOGUE = "shared/taskmill/catalogue.json"


@pytest.fixture
def newer(stack):
    """Start the next version next to the running one: it has one more type."""
    with beside(stack, ROOT) as version:
        yield version


@pytest.fixture
def other(stack, before):
    """Start another release next to the running one; it, too, has one more type."""
    with beside(stack, before) as version:
        yield version


@contextmanager
def beside(stack, source):
    catalogue = stack.project / CATALOGUE
    text = catalogue.read_text()
    with prepared(stack, source, types=("probe", NEW)) as version:
        try:
            yield version.start()
        finally:
            catalogue.write_text(text)
            stack.signal(signal.SIGTERM, "Dispatcher")


def test_a_rolling_deploy_loses_nothing(stack, run, newer, figures):
    assert_that_a_deploy_loses_nothing(stack, run, newer, figures)


def test_a_rolling_deploy_from_another_release_loses_nothing(stack, run, other, figures):
    assert_that_a_deploy_loses_nothing(stack, run, other, figures)


def assert_that_a_deploy_loses_nothing(stack, run, newer, figures):
    seed = a_seed()
    begins = ends(stack, topics.PENDING)
    ended = [kill(one, name, number=signal.SIGTERM) for one in (stack, newer) for name in ROLLED]
    known = [run.request(n, sleep_seconds=LONG_SECONDS) for n in range(OLD_TASKS)]
    novel = [run.request(n, fields={"type": NEW}) for n in range(OLD_TASKS, OLD_TASKS + NEW_TASKS)]
    with Nemesis(ended, seed=seed, between=(0.3, 0.8)).at_work() as nemesis:
        for at in range(0, NEW_TASKS, 5):
            run.submit(novel[at : at + 5], newer.client)
        run.submit_many(known, batch=20, callers=2, seconds=8)
    finish_rollout(stack, newer)
    run.await_ends()
    history = run.verify()
    waited = parked(stack, begins, run)
    versions = Counter(versions_of(stack, run))
    figures.tell(
        "P25",
        f"{len(run.ids)} tasks through two versions at once, {len(nemesis.strikes)} SIGTERM: "
        f"{versions['']} ran in the running and {versions['newer']} in the other, {waited} of "
        f"a type that only the other knows waited, 0 lost (seed {seed})",
    )
    assert {(row.status, row.losses) for row in history.rows} == {("succeeded", 0)}
    assert waited > 0
    assert min(versions[""], versions["newer"]) > 0


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


def test_what_an_earlier_release_left_runs_in_lanes(stack, run, before, figures):
    with ExitStack() as earlier:
        with stack.away():
            lose_lanes(stack)
            version = earlier.enter_context(prepared(stack, before, says="before"))
            stack.client = version.start().client
            every_state(stack, run)
            statuses = Counter(row.status for row in run.rows())
            left_at = now_ms()
        stack.await_rebuild()
    opened_ms = now_ms() - left_at
    run.await_ends()
    run.verify()
    versions = Counter(versions_of(stack, run))
    figures.tell(
        "P25",
        f"{len(run.ids)} tasks of an earlier release ({statuses}) when this one started beside it;"
        f" {versions['before']} effects there, {versions['']} here; it had taken over after"
        f" {opened_ms / 1000:.1f} s, its start included",
    )
    assert min(versions.values()) > 0
    assert len(versions) == 2


def every_state(stack, run):
    """Submit tasks until some run, wait for a place, are scheduled, and are retried."""
    numbers = count()

    def some(many, fields=None, **payload):
        requests = [run.request(next(numbers), fields=fields, **payload) for _ in range(many)]
        run.submit_many(requests, batch=20)
        return requests

    retried = some(40, {"retry": {"first_seconds": LATER_SECONDS}}, ill="raise", ill_runs=1)
    some(40, {"delay_seconds": LATER_SECONDS})
    eventually(
        lambda: sum(row.status == "retrying" for row in run.rows()) == len(retried),
        within=60,
        reason="they wait for their second attempt",
    )
    running = some(2 * PLACES, sleep_seconds=LONG_SECONDS)
    some(400, sleep_seconds=LONG_SECONDS / 10)
    names = [one["metadata"]["label"] for one in running]
    eventually(lambda: starts(stack, names), within=60, reason="some run")
    eventually(lambda: len(run.rows()) == len(run.ids), within=60, reason="all have a row")


LATER_SECONDS = 20

HOLDS_UP = {
    ("workers", "before"): "wake-ups are set aside until the worker is replaced",
    ("scheduler", "before"): "nobody opens the lanes",
    ("workers", "newer"): "nobody opens the lanes",
    ("dispatcher", "newer"): "nobody opens the lanes",
    ("scheduler", "newer"): "what comes due enters lanes, from which nobody takes",
}
"""Where tasks wait until the deployment goes on: the odd function, and which version it has."""

PARTS = list(product(["gateway", *EVERY], ["before", "newer"]))


@pytest.mark.parametrize("part", PARTS, ids="-".join)
def test_one_function_has_another_version(stack, run, before, figures, part):
    """Nothing is lost, whichever functions of a deployment were replaced first."""
    with stack.away():
        lose_lanes(stack)
        ended = among_others(stack, run, before, *part)
    stack.await_rebuild()
    run.await_ends()
    run.verify()
    figures.tell(
        "versions", f"{part[0]} {part[1]}, all others not: {ended} of {len(run.ids)} ended"
    )
    assert (ended < len(run.ids)) == (part in HOLDS_UP)


def among_others(stack, run, before, odd, version):
    """Run a load on a system in which one function has another version; return what ended."""
    code = {"before": before, "newer": ROOT}
    (others,) = {*code} - {version}
    without = [one for one in EVERY if one != odd]
    rest = [odd] if odd in EVERY else []
    with (
        prepared(stack, code[version], without=without) as alone,
        prepared(stack, code[others], without=rest) as most,
    ):
        alone.start()
        most.start()
        stack.client = (most if odd in EVERY else alone).client
        mixed_load(run)
        with suppress(AssertionError):
            run.await_ends(within=30)
        return sum(row.status in {"succeeded", "cancelled"} for row in run.rows())


def mixed_load(run):
    """Submit tasks that succeed, are retried, are due soon, and are cancelled or changed."""
    run.submit([run.request(n) for n in range(60)])
    run.submit([run.request(n, ill="raise", ill_runs=1) for n in range(60, 80)])
    run.submit([run.request(n, fields={"delay_seconds": 2}) for n in range(80, 100)])
    run.submit([run.request(n, fields={"delay_seconds": 300}) for n in range(100, 110)])
    for n in range(100, 105):
        run.change(run.ids[run.label(n)], delay_seconds=0)
    for n in range(105, 110):
        run.order("cancel", run.ids[run.label(n)])


def lose_lanes(stack):
    for kind in stack.types():
        lose_lane(stack, kind)
