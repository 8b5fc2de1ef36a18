"""`taskmill demo`: starts its own system, runs the sample tasks, and removes everything."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from taskmill_local.cli.api import Api, Json
from taskmill_local.cli.commands.hold import Interrupted, hold
from taskmill_local.cli.console import OurConsole
from taskmill_local.cli.demo.arrivals import all_arrived
from taskmill_local.cli.demo.hook import SECRET_NAME, Receiver, receiving
from taskmill_local.cli.demo.orders import orders_arrived, place_orders
from taskmill_local.cli.demo.pulse import make_pulse, pulse_arrived
from taskmill_local.cli.demo.show import show_on
from taskmill_local.cli.demo.story import (
    Role,
    StoryBroken,
    has_right_end,
    submit_all,
    webhook_to,
)
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.printing import complain
from taskmill_local.cli.text import starting
from taskmill_local.platform import Platform
from taskmill_local.settings import Settings
from taskmill_local.stores.start import External, Ports

_GLANCE_SECONDS: Final = 0.05
_PATIENCE_SECONDS: Final = 60.0
_LESSON: Final = """\
Each task went over HTTP to the gateway, through Kafka to its worker, and into
the ledger. Two submissions with one key made one task, and the tasks that
failed kept their reason instead of getting lost."""


def demo(*, as_json: bool) -> Exit:
    console = OurConsole(to_stderr=as_json)
    began = time.monotonic()
    with _home_for_a_while() as home, receiving() as receiver:
        # Its own port, home and stores, whatever is configured: it may run beside an `up`.
        settings = replace(
            Settings.from_environment(),
            home=home,
            port=0,
            external=External(),
            ports=Ports(),
            durable=True,
            reaches_loopback=True,
        )
        platform = Platform(settings, report=lambda *line: _report(console, *line))
        console.print("Starting a separate system: Kafka, Valkey, PostgreSQL and the functions …")
        try:
            roles = asyncio.run(hold(platform, lambda url: _play(console, url, platform, receiver)))
        except Interrupted:
            console.print("interrupted; everything was stopped and removed")
            return Exit.INTERRUPTED
        except StoryBroken as broken:
            return complain(str(broken), Exit.OTHERWISE)
    seconds = time.monotonic() - began
    if as_json:
        _print_json(roles, seconds, platform)
    console.print(
        f"\n{_LESSON}\n\nEverything was stopped and removed after {seconds:.1f} s.\n{next_step()}"
    )
    return Exit.DONE


def next_step() -> str:
    return f"Next, keep a system running:  {starting()}"


async def _play(console: Console, url: str, platform: Platform, receiver: Receiver) -> list[Role]:
    platform.settings.webhook_secrets.write_text(receiver.secrets)
    # One thread, like one person with one connection: the display must not cause the load.
    return await asyncio.to_thread(_play_through, console, url, receiver)


def _play_through(console: Console, url: str, receiver: Receiver) -> list[Role]:
    api = Api(url)
    roles: list[Role] = []
    deadline = time.monotonic() + _PATIENCE_SECONDS
    console.print(f"Submitting tasks to {url} …\n")
    try:
        make_pulse(api)
        orders = place_orders(api)
        with show_on(console) as show:
            for role in submit_all(api, webhook_to(receiver.url, SECRET_NAME)):
                roles.append(role)
                show.update(roles)
            while not all(role.has_ended for role in roles):
                _look(api, roles, deadline)
                show.update(roles)
        _check_ends(roles)
        arrivals = list(all_arrived(api, receiver, roles))
        order_line, pulse_line = orders_arrived(api, orders, deadline), pulse_arrived(api, deadline)
        console.print("\n" + "\n".join((*arrivals, order_line, pulse_line)))
        _wait_for_ledger(api, roles, deadline)
    finally:
        api.close()
    return roles


def _look(api: Api, roles: Sequence[Role], deadline: float) -> None:
    for role in roles:
        if not role.has_ended:
            answer = api.task(role.id)
            if not answer.is_refusal:
                role.task = answer.body
    if time.monotonic() > deadline:
        late = ", ".join(f"{role.act.title} ({role.id})" for role in roles if not role.has_ended)
        raise StoryBroken(f"These tasks did not end within {_PATIENCE_SECONDS:.0f} s: {late}.")
    time.sleep(_GLANCE_SECONDS)


def _check_ends(roles: Sequence[Role]) -> None:
    wrong = [
        f"{role.act.title} ({role.id}) ended {role.task['status']} {role.task.get('reason') or ''}"
        for role in roles
        if not role.is_as_it_should_be
    ]
    if wrong:
        raise StoryBroken(f"Not as expected: {'; '.join(wrong)}.")


def _wait_for_ledger(api: Api, roles: Sequence[Role], deadline: float) -> None:
    """Wait until the list, which is read from the ledger, shows the same ends."""
    while missing := _not_listed(api.tasks({"limit": "200"}).body, roles):
        if time.monotonic() > deadline:
            raise StoryBroken(f"The ledger does not list these as ended: {', '.join(missing)}.")
        time.sleep(_GLANCE_SECONDS)


def _not_listed(page: Json, roles: Sequence[Role]) -> list[str]:
    tasks = {task["id"]: task for task in page.get("tasks", ())}
    return [
        role.id
        for role in roles
        if role.id not in tasks or not has_right_end(role.act, tasks[role.id])
    ]


def _report(console: Console, name: str, sentence: str) -> None:
    if sentence != "starting":
        console.print(Text(f"  {name} {sentence}", style="dim"))


def _print_json(roles: Sequence[Role], seconds: float, platform: Platform) -> None:
    summary = {
        "seconds": round(seconds, 2),
        "start_seconds": platform.start_split,
        "tasks": [role.task for role in roles],
    }
    sys.stdout.write(f"{json.dumps(summary)}\n")


@contextmanager
def _home_for_a_while() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="taskmill-demo-"))
    if os.geteuid() == 0:
        folder.chmod(0o755)  # PostgreSQL's own account must be able to enter
    try:
        yield folder / "home"
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)
