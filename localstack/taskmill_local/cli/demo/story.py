"""The demo's sample tasks, and how each must end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from taskmill_local.cli.api import Answer, Api, Json, problem_sentence
from taskmill_local.cli.text import FINAL

WEBHOOK: Final = "webhook"
_KEY: Final = "order-17"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One task and its expected end."""

    title: str
    payload: Mapping[str, Any]
    type: str = "echo"
    status: str = "succeeded"
    reason: str | None = None
    key: str | None = None
    max_attempts: int = 4
    delay_seconds: float | None = None

    @property
    def submission(self) -> Json:
        key = {} if self.key is None else {"idempotency_key": self.key}
        about = {"type": self.type, "payload": self.payload, "max_attempts": self.max_attempts}
        delay = {} if self.delay_seconds is None else {"delay_seconds": self.delay_seconds}
        return about | key | delay


SINGLE: Final = Act(title="says hello", payload={"say": "hello"})
BATCH: Final = tuple(
    Act(title=f"batch, {number} of 3", payload={"say": number}) for number in (1, 2, 3)
)
KEYED: Final = Act(title="key used twice", payload={"say": "once"}, key=_KEY)
MAIL: Final = Act(
    title="sends a mail",
    type="email",
    payload={
        "to": ["Ada Lovelace <ada@example.com>"],
        "subject": "Your order is on its way",
        "text": "Hello Ada,\n\nit left our mill today.\n",
    },
)
REPORT: Final = Act(
    title="writes a report",
    type="report",
    payload={
        "columns": ["order", "cents"],
        "rows": [[17, 1999], [18, 250], [19, 74900]],
    },
)
REST: Final = (
    MAIL,
    REPORT,
    Act(title="sleeps one second", payload={"sleep_seconds": 1}),
    Act(title="starts a second later", payload={"say": "good morning"}, delay_seconds=1),
    Act(
        title="succeeds on retry",
        payload={"retry": "the mail server is away", "for_attempts": 1},
    ),
    Act(
        title="discards itself",
        payload={"discard": "no such customer"},
        status="dead",
        reason="discarded",
    ),
    Act(
        title="raises, twice",
        payload={"crash": "a bug"},
        status="dead",
        reason="failed",
        max_attempts=2,
    ),
)


class StoryBroken(Exception):
    """The system did not behave as the demo expects; the message says how."""


@dataclass(slots=True)
class Role:
    """A submitted task in its last known state."""

    act: Act
    task: Json = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.task["id"])

    @property
    def has_ended(self) -> bool:
        return self.task["status"] in FINAL

    @property
    def is_as_it_should_be(self) -> bool:
        return has_right_end(self.act, self.task)


def has_right_end(act: Act, task: Json) -> bool:
    return task["status"] == act.status and task.get("reason") == act.reason


def webhook_to(url: str, secret: str) -> Act:
    payload = {"url": url, "secret": secret, "body": {"order": 17, "is": "on its way"}}
    return Act(title="calls a webhook", type=WEBHOOK, payload=payload)


def submit_all(api: Api, webhook: Act) -> Iterator[Role]:
    """Submit each act whose type is deployed; yield its role as soon as its task is accepted."""
    yield _submitted(api, SINGLE)
    yield from _submitted_together(api, BATCH)
    first = _submitted(api, KEYED)
    yield first
    _check_replay(api, first)
    types = {entry["name"] for entry in api.types().body["types"]}
    for act in (webhook, *REST):
        if act.type in types:
            yield _submitted(api, act)


def _submitted(api: Api, act: Act) -> Role:
    return Role(act, _accepted(api.submit(act.submission), HTTPStatus.ACCEPTED))


def _submitted_together(api: Api, acts: Sequence[Act]) -> list[Role]:
    batch = _accepted(api.submit_batch([act.submission for act in acts]), HTTPStatus.OK)
    if batch["accepted"] != len(acts):
        raise StoryBroken(
            f"Of a batch of {len(acts)} only {batch['accepted']} were accepted: {batch}"
        )
    return [Role(act, one["task"]) for act, one in zip(acts, batch["results"], strict=True)]


def _check_replay(api: Api, first: Role) -> None:
    again = _accepted(api.submit(KEYED.submission), HTTPStatus.OK)
    if again["id"] != first.id or again.get("replayed") is not True:
        raise StoryBroken(f"The same key made two tasks: {first.id} and {again['id']}.")


def _accepted(answer: Answer, status: HTTPStatus) -> Json:
    if answer.status != status:
        raise StoryBroken(f"HTTP {answer.status} instead of {status}: {problem_sentence(answer)}")
    return answer.body
