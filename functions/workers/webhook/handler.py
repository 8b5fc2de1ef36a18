"""Calls an HTTPS endpoint with a signed request; only public addresses can be reached."""

import asyncio
import logging
import os
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache

from msgspec import Struct

from functions.workers.webhook.answer import NotHttp
from functions.workers.webhook.exchange import Unreached, Ways, exchange
from functions.workers.webhook.keyring import Keyring, Unsigned
from functions.workers.webhook.payload import Webhook
from functions.workers.webhook.request import body_of, request_to
from functions.workers.webhook.settings import WebhookSettings
from functions.workers.webhook.signature import signed
from functions.workers.webhook.verdict import Judged, judged
from taskmill.core.counting import Count
from taskmill.core.errors import StoreUnavailable
from taskmill.core.ports import Counters
from taskmill.core.task import Millis
from taskmill.egress.ports import Endpoints
from taskmill.egress.ssrf_guard import Blocked, Target, target_of
from taskmill.platform import process
from taskmill.stores import tls
from taskmill.stores.patience import OF_ENDPOINTS
from taskmill.worker import Discard, Outcome, Retry, RetryPolicy, Task, serve

_SHARE_OF_TIME = 0.9
"""Of an attempt's time; the rest is reserved for reporting the outcome."""

_log = logging.getLogger("taskmill.webhook")


class Surroundings(Struct, frozen=True, kw_only=True):
    """Everything that sending webhooks needs from outside."""

    keyring: Keyring
    endpoints: Endpoints
    counters: Counters
    ways: Ways
    api_host: str = ""
    reaches_loopback: bool = False
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


async def perform(webhook: Webhook, task: Task) -> Outcome:
    return await send(webhook, task, surroundings())


async def send(webhook: Webhook, task: Task, surroundings: Surroundings) -> Outcome:
    verdict = await _verdict(webhook, task, surroundings)
    surroundings.counters.count(Count.WEBHOOKS, answer=verdict.word)
    return verdict.outcome


async def _verdict(webhook: Webhook, task: Task, surroundings: Surroundings) -> Judged:
    target = target_of(webhook.url, reaches_loopback=surroundings.reaches_loopback)
    if isinstance(target, Blocked):
        return Judged(Discard(target.why), "walled")
    if target.host == surroundings.api_host:
        return Judged(
            Discard(f"{target.host} is taskmill itself: a webhook must not create tasks"), "walled"
        )
    secrets = await asyncio.to_thread(surroundings.keyring.secrets_for, webhook.secret, target.host)
    if isinstance(secrets, Unsigned):
        return Judged(Discard(secrets.why), "unsigned")
    if await asyncio.to_thread(_is_disabled, surroundings.endpoints, target):
        why = f"{target.endpoint} is disabled because it answered 410: enable it to call it again"
        return Judged(Discard(why), "disabled")
    body = body_of(webhook)
    signature = signed(
        secrets,
        message_id=task.idempotency_token,
        at_seconds=int(task.started_at.timestamp()),
        body=body.octets,
    )
    request = request_to(target, webhook, body, signature)
    return await _call(target, request, task, surroundings)


async def _call(target: Target, request: bytes, task: Task, surroundings: Surroundings) -> Judged:
    seconds = (task.deadline - surroundings.now()).total_seconds() * _SHARE_OF_TIME
    try:
        response = await exchange(target, request, surroundings.ways, seconds=seconds)
    except Unreached as error:
        return Judged(Retry(str(error)), "unreachable")
    except NotHttp as error:
        return Judged(Retry(f"{target.host} sent an invalid response: {error}"), "unreachable")
    except TimeoutError:
        return Judged(Retry(f"{target.host} did not answer within {seconds:.3g} s"), "unreachable")
    except OSError as error:
        why = tls.why(error, setting="TASKMILL_WEBHOOK_CA_FILE")
        return Judged(Retry(f"{target.host} cannot be called: {why}"), "unreachable")
    if isinstance(response, Blocked):
        return Judged(Discard(response.why), "walled")
    verdict = judged(target, *response, now=surroundings.now())
    if verdict.word == "gone":
        at_ms = Millis(int(task.started_at.timestamp() * 1000))
        await asyncio.to_thread(_disable, surroundings.endpoints, target, at_ms)
    return verdict


def _is_disabled(endpoints: Endpoints, target: Target) -> bool:
    try:
        return endpoints.is_disabled(target.endpoint)
    except StoreUnavailable:
        return False  # the endpoint will answer 410 again


def _disable(endpoints: Endpoints, target: Target, at_ms: Millis) -> None:
    try:
        endpoints.disable(target.endpoint, at_ms=at_ms)
    except StoreUnavailable as error:
        _log.warning(
            "endpoint answered 410 Gone but could not be disabled", extra={"why": str(error)}
        )


def context_with(ca_file: str) -> ssl.SSLContext:
    """Trust the system's authorities and, if a file is configured, those in it."""
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


@process.replaceable
@cache
def surroundings() -> Surroundings:
    settings = WebhookSettings.from_env(os.environ)
    stores = process.stores("endpoints", needs=("redis",), patience=OF_ENDPOINTS)
    return Surroundings(
        keyring=Keyring(settings.read_secrets),
        endpoints=stores.endpoints,
        counters=process.counters(),
        ways=Ways(context=context_with(settings.ca_file)),
        api_host=settings.api_host,
        reaches_loopback=settings.reaches_loopback,
    )


lambda_handler = serve(
    Webhook,
    perform,
    max_attempts=10,
    timeout=timedelta(seconds=30),
    retry=RetryPolicy(first_seconds=5, factor=3, cap_seconds=3_600),
    concurrency=100,
)
process.at_init(surroundings)
