"""The public face for worker authors: `serve`, and the outcomes that `perform` may answer."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from inspect import iscoroutinefunction
from typing import Any, Generic, TypeVar

import msgspec

from taskmill import bootstrap
from taskmill.adapters.kafka.event import failures, records_of
from taskmill.domain.catalogue import TypeDefaults
from taskmill.domain.outcome import Discard, End, Misfit, Outcome, Raised, Retry, Succeeded
from taskmill.domain.task import Envelope
from taskmill.usecases.arrivals import open_arrivals
from taskmill.usecases.execute import execute

__all__ = ["Discard", "Outcome", "Retry", "Succeeded", "Worker", "serve"]

P = TypeVar("P")

LONGEST_TIMEOUT = timedelta(seconds=800)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker(Generic[P]):
    """The Lambda handler of a task type, and what the catalogue tells about it."""

    payload_type: type[P]
    perform: Callable[[P], Any]
    decode: Callable[[msgspec.Raw], P]
    defaults: TypeDefaults
    concurrency: int

    @bootstrap.counting()
    def __call__(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        bootstrap.log("worker")
        shop = bootstrap.shop(context, concurrency=self.concurrency, longest=LONGEST_TIMEOUT)
        arrivals = open_arrivals(records_of(event), shop.bus)
        return failures(execute(arrivals, self.run, shop))

    def run(self, envelope: Envelope) -> End:
        """Perform one task; whatever the worker does, it ends in a value."""
        try:
            payload = self.decode(envelope.payload)
        except Exception as error:  # noqa: BLE001 - a payload type may check itself as it likes
            return Misfit(_words_of(error))
        try:
            answer = self.perform(payload)
        except BaseException as error:  # noqa: BLE001 - a worker's bug stops no queue
            return Raised(type(error).__name__, _words_of(error))
        if isinstance(answer, Succeeded | Retry | Discard):
            return answer
        return Succeeded(answer)


def _words_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - it is the worker's own, and may be broken too
        return "its message cannot be told"


def serve(
    payload_type: type[P],
    perform: Callable[[P], Any],
    *,
    max_attempts: int = 4,
    timeout: timedelta = timedelta(seconds=30),
    concurrency: int = 10,
) -> Worker[P]:
    """Make the Lambda handler of a task type.

    ``payload_type`` is a dataclass, a TypedDict or a msgspec Struct: clients must send what fits
    it. ``perform`` gets it decoded and answers `Succeeded`, `Retry`, `Discard`, or a plain value,
    which means that it succeeded. Up to ``concurrency`` tasks run side by side in threads; an
    attempt that takes longer than ``timeout`` is cut off.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Greeting:
    ...     name: str
    >>> lambda_handler = serve(Greeting, lambda greeting: f"hello {greeting.name}")
    """
    if iscoroutinefunction(perform):
        raise TypeError(
            "perform is an async function, which this version cannot run: make it a plain one"
        )
    bootstrap.at_init(bootstrap.worker)
    return Worker(
        payload_type=payload_type,
        perform=perform,
        decode=msgspec.json.Decoder(payload_type).decode,
        defaults=TypeDefaults(max_attempts=max_attempts, timeout_seconds=timeout.total_seconds()),
        concurrency=concurrency,
    )
