"""The declared Kafka permissions of each function match its code."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from infra.check_template import expanded
from infra.rules.log import ENDS, USES, Use, use_of
from infra.rules.template import FUNCTION, worker_of
from taskmill.core import topics
from taskmill.core.log import Reach
from taskmill.core.task import TaskType
from taskmill.core.topics import Reader
from taskmill.insight.gather import Board
from taskmill.recovery.log_gaps import gaps_of
from tests.unit.world import World

ROOT = Path(__file__).parents[2]
HOMES = {"functions": ROOT / "functions", "taskmill": ROOT / "shared/taskmill"}
FUNCTIONS = {name: function for name, function in expanded().of(FUNCTION) if use_of(name, function)}
EVERY = TaskType("*")
WORK = topics.worker(EVERY)
SENT_BY = {
    "send_pending": {topics.PENDING},
    "send_wake_ups": {WORK},
    "send_facts": {topics.EVENTS, topics.DLQ},
    "send_undecodable": {topics.DLQ},
    "send_refused": {topics.DLQ},
    "send_batch": {topics.PENDING, WORK, topics.EVENTS, topics.DLQ},
}
"""Where the methods of a bus write; the last one returns records to any of our topics."""


def file_of(module: str) -> Path | None:
    top, *rest = module.split(".")
    if top not in HOMES or not rest:
        return None
    place = HOMES[top].joinpath(*rest)
    known = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in known if path.is_file()), None)


@cache
def tree_of(module: str) -> ast.Module:
    path = file_of(module)
    assert path is not None
    return ast.parse(path.read_text())


def imported_by(module: str) -> Iterator[str]:
    for node in ast.walk(tree_of(module)):
        match node:
            case ast.Import(names=names):
                yield from (one.name for one in names)
            case ast.ImportFrom(module=str(source), names=names):
                yield source
                yield from (f"{source}.{one.name}" for one in names)


@cache
def code_of(handler: str) -> frozenset[str]:
    """Return all our modules that a function may import, directly or not.

    What an adapter imports is the adapter's own affair: a function reaches it by a port.
    All of its own folder is among them: it may import that by a name which it puts together.
    """
    seen: set[str] = set()
    folder = ROOT.joinpath(*handler.split(".")[:-2])
    own = (path.relative_to(ROOT).with_suffix("") for path in folder.rglob("*.py"))
    left = [".".join(path.parts) for path in own]
    while left:
        module = left.pop()
        if module not in seen and file_of(module):
            seen.add(module)
            left += () if module.startswith("taskmill.stores") else imported_by(module)
    return frozenset(seen)


def names_in(modules: Iterable[str]) -> set[str]:
    nodes = (node for module in modules for node in ast.walk(tree_of(module)))
    return {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in nodes
        if isinstance(node, ast.Attribute | ast.Name)
    }


def used_by(handler: str) -> set[str]:
    """Return the names in a function's own code and in its use cases."""
    return names_in(one for one in code_of(handler) if not one.startswith("taskmill.stores"))


def ports_of(handler: str) -> set[str]:
    """Return the ports that a function's code takes from its stores."""
    modules = [one for one in code_of(handler) if not one.startswith("taskmill.stores")]
    return {
        node.attr
        for module in modules
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Attribute)
        and ast.unparse(node.value).rsplit(".", 1)[-1].removeprefix("_")
        in {"stores", "stores()", "bound"}
    }


def needs_of(handler: str) -> set[str]:
    """Return the strings in a function's code, including the stores that it may reach."""
    nodes = (
        node
        for module in code_of(handler)
        if module.startswith("functions") or module == "taskmill.worker"
        for node in ast.walk(tree_of(module))
    )
    return {
        node.value for node in nodes if isinstance(node, ast.Constant) and node.value == "kafka"
    }


def use(name: str) -> Use:
    found = use_of(name, FUNCTIONS[name])
    assert found is not None
    return found


def test_the_rules_know_every_function_that_is_deployed():
    assert FUNCTIONS.keys() >= USES.keys()
    handlers = {path.parent.name for path in (ROOT / "functions").rglob("handler.py")}
    assert len(FUNCTIONS) == len(handlers)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_may_write_where_its_code_writes(name):
    used = used_by(FUNCTIONS[name]["Handler"])
    written = set().union(*(SENT_BY[method] for method in SENT_BY.keys() & used))
    has_a_bus = "bus" in ports_of(FUNCTIONS[name]["Handler"]) and "kafka" in needs_of(
        FUNCTIONS[name]["Handler"]
    )
    own = worker_of(FUNCTIONS[name])  # a worker wakes others of its type alone
    mine = {topics.worker(TaskType(own)) if own and one == WORK else one for one in written}
    assert use(name).writes == (mine if has_a_bus else set())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_may_ask_for_what_its_code_asks_for(name):
    handler = FUNCTIONS[name]["Handler"]
    used = ports_of(handler) if "kafka" in needs_of(handler) else set()
    assert bool(list(use(name).watches)) == ("readers" in used)
    assert use(name).looks_at == (ENDS if "log_ends" in used else set())


def test_the_ends_that_are_looked_at_are_those_that_the_adapter_names():
    named = {
        getattr(topics, node.attr)
        for node in ast.walk(tree_of("taskmill.stores.kafka.ends"))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "topics"
    }
    assert named == ENDS


class Noting:
    """Readers of the log that record which groups each caller reads."""

    def __init__(self) -> None:
        self.asked: set[Reader] = set()

    def reach(self, readers: Iterable[Reader]) -> Mapping[tuple[Reader, int], Reach]:
        self.asked |= set(readers)
        return {(reader, 0): Reach(0, 0, 0) for reader in readers}


def test_statistics_ask_for_the_readers_that_the_gateway_may_watch():
    world, noting = World(), Noting()
    ports = world.ports
    Board(
        ports.figures,
        noting,
        ports.requests,
        ports.outbox,
        readers=topics.LOG_READERS,
        states=dict,
        clock=world.clock,
    ).look()
    assert noting.asked == set(use("Gateway").watches)


def test_the_reconciler_asks_for_the_readers_that_the_scheduler_may_watch():
    noting = Noting()
    gaps_of(noting, World().ledger)
    named = set(named_readers("taskmill.recovery.reconcile"))
    assert noting.asked | named == set(use("Scheduler").watches)


def named_readers(module: str) -> Iterator[Reader]:
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "topics":
            found = getattr(topics, node.attr)
            if isinstance(found, Reader):
                yield found
            elif found is topics.worker_of:
                yield topics.worker_of(EVERY)
