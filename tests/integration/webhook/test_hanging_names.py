"""A host with a hanging name server delays only its own webhooks."""

import asyncio
import socket
from datetime import UTC, datetime
from functools import partial
from threading import Event

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from functions.workers.webhook import handler
from functions.workers.webhook.exchange import Ways
from functions.workers.webhook.keyring import Keyring
from functions.workers.webhook.resolver import MOST_FOR_ONE_HOST, Resolver, TooManyHang
from taskmill.core.facts import TaskDeferred, TaskStarted, TaskSucceeded
from taskmill.core.task import TaskId, TaskType
from taskmill.platform.loop_executor import LoopExecutor
from tests.builders import an_envelope
from tests.integration.webhook.conftest import HOST, PUBLIC, SECRET, whsec
from tests.unit.stage import RealClock, Stage
from tests.waiting import eventually_async

HANGING = "hanging.example.com"
PATIENCE_SECONDS = 60
STUCK = 99


@pytest.fixture
def hanging(monkeypatch):
    """Let one name hang in its thread, like the system call, even if nobody waits any more."""
    answer = Event()

    def look_up(host, *_args, **_options):
        if host == HANGING:
            answer.wait(PATIENCE_SECONDS)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (PUBLIC, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield answer
    answer.set()


def an_id(number):
    return TaskId(f"01a31edd-2c00-7000-8000-{number:012}")


def a_webhook(number, host):
    payload = {"url": f"https://{host}/in", "secret": host}
    return an_envelope(
        id=an_id(number), type=TaskType("webhook"), payload=Raw(msgspec.json.encode(payload))
    )


@pytest.mark.usefixtures("hanging")
def test_a_name_that_hangs_holds_up_no_webhook_to_another_host(hook, sender, monkeypatch):
    signers = {host: {"host": host, "secrets": [whsec(SECRET)]} for host in (HOST, HANGING)}
    sender.surroundings = replace(
        sender.surroundings,
        ways=Ways(context=sender.surroundings.ways.context, dial=sender.dial),
        keyring=Keyring(lambda: msgspec.json.encode(signers).decode()),
        now=lambda: datetime.now(UTC),
    )
    stage = Stage(clock=RealClock(), executor=LoopExecutor())
    stage.bind(monkeypatch)
    stuck = [a_webhook(number, HANGING) for number in range(STUCK)]
    stage.deliver(handler.lambda_handler, *stuck, a_webhook(STUCK, HOST))
    ends = {fact.id: type(fact) for fact in stage.log.facts() if not isinstance(fact, TaskStarted)}
    held_up = {an_id(number): TaskDeferred for number in range(STUCK)}
    assert ends == held_up | {an_id(STUCK): TaskSucceeded}
    assert len(hook.received) == 1


class Book:
    """Resolves like the system, except names that hang until released."""

    def __init__(self):
        self.let_go = Event()
        self.asked = []

    def __call__(self, host):
        self.asked.append(host)
        if host.startswith("hanging"):
            self.let_go.wait(PATIENCE_SECONDS)
        return [PUBLIC]


@pytest.fixture
def book():
    book = Book()
    yield book
    book.let_go.set()


async def nobody_waits_for(resolver, host):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await resolver(host)


async def all_leave(resolver, hosts, book):
    """Look up as many names as possible, and then stop waiting for them."""
    asked = [asyncio.create_task(resolver(host)) for host in hosts]
    await eventually_async(
        lambda: len(book.asked) == len(hosts), within=30, reason="each has a thread, and hangs"
    )
    for one in asked:
        one.cancel()
    await asyncio.wait(asked)


async def is_found(resolver):
    try:
        return await resolver(HOST) == [PUBLIC]
    except TooManyHang:
        return False


def test_one_name_that_hangs_has_few_threads_and_works_again_afterwards(book):
    async def ask():
        resolver = Resolver(book)
        await all_leave(resolver, [HANGING] * MOST_FOR_ONE_HOST, book)
        await asyncio.gather(*(nobody_waits_for(resolver, HANGING) for _ in range(100)))
        assert len(book.asked) == MOST_FOR_ONE_HOST
        book.let_go.set()
        return await resolver(HANGING)

    assert asyncio.run(ask()) == [PUBLIC]
    assert len(book.asked) == MOST_FOR_ONE_HOST + 1


def test_when_too_many_names_hang_another_is_refused_at_once_until_they_do_not(book):
    async def ask():
        resolver = Resolver(book, most=3)
        hanging = [f"hanging{number}.example.com" for number in range(3)]
        await all_leave(resolver, hanging, book)
        with pytest.raises(TooManyHang):
            await resolver(HOST)
        book.let_go.set()
        reason = "names are looked up again"
        await eventually_async(partial(is_found, resolver), within=30, reason=reason)

    asyncio.run(ask())


def test_a_name_that_nobody_knows_is_said_to_be_unknown():
    with pytest.raises(OSError, match=r"not known|No address|failure"):
        asyncio.run(Resolver()("nobody.invalid"))


def test_a_name_that_is_none_is_said_to_be_none():
    with pytest.raises(UnicodeError):
        asyncio.run(Resolver()("a" * 64 + ".example.com"))
