"""Checks that the effects of the demo's tasks arrived."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

from taskmill_local.cli.api import Api
from taskmill_local.cli.demo.hook import Receiver
from taskmill_local.cli.demo.story import MAIL, REPORT, WEBHOOK, Role, StoryBroken


def all_arrived(api: Api, receiver: Receiver, roles: Sequence[Role]) -> Iterator[str]:
    """Yield a sentence for each effect; a type that is not deployed has none."""
    for role in roles:
        if role.act is MAIL:
            yield _mail_arrived(api, role)
        elif role.act.type == WEBHOOK:
            yield _webhook_arrived(receiver, role)
        elif role.act is REPORT:
            yield _report_arrived(role)


def _mail_arrived(api: Api, role: Role) -> str:
    """Return a sentence about the task's mail in the platform's mail sink."""
    message_id = role.task["result"]["message_id"]
    for mail in api.mail().body["mails"]:
        if mail["message_id"] == message_id:
            return (
                f"The local mail sink received a mail: “{mail['subject']}”, "
                f"from {mail['from']} to {', '.join(mail['to'])}"
            )
    raise StoryBroken(f"The mail {message_id} was sent but did not arrive in the mail sink.")


def _webhook_arrived(receiver: Receiver, role: Role) -> str:
    """Return a sentence about the webhook that the demo's receiver accepted."""
    for message_id in receiver.believed:
        if message_id.startswith(role.id):
            return f"A webhook arrived at {receiver.url}, and its signature is valid"
    raise StoryBroken(f"The webhook {role.id} was sent but did not arrive at {receiver.url}.")


def _report_arrived(role: Role) -> str:
    """Return a sentence about the report in the bucket, downloaded by its task's link."""
    pointer = role.task["result_ref"]
    lines = _downloaded(pointer["download_url"]).decode().splitlines()
    if len(lines) != 1 + len(REPORT.payload["rows"]):
        raise StoryBroken(f"The report at {pointer['url']} is not what was written: {lines}")
    return f"A report of {len(lines) - 1} rows is at {pointer['url']}: “{lines[1]}”, …"


def _downloaded(url: str) -> bytes:
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.netloc, timeout=10)) as connection:
        connection.request("GET", f"{parts.path}?{parts.query}")
        return connection.getresponse().read()
