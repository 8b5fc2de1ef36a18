"""The public interface for worker authors: `serve`, and the outcomes of `perform`."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar, overload

import msgspec

from taskmill.core.backoff import DEFAULT_RETRY, RetryPolicy
from taskmill.core.counting import Count
from taskmill.core.pointers import Pointer
from taskmill.core.task import PriorityName
from taskmill.core.time import LONGEST_TIMEOUT
from taskmill.dispatch.work import Execution
from taskmill.execution.context import (
    Interrupted,
    Perform,
    RunContext,
    Task,
    fetch,
    keep,
    too_large,
)
from taskmill.execution.outcome import (
    Discard,
    End,
    Misfit,
    Outcome,
    Raised,
    Retry,
    Snooze,
    Stored,
    Succeeded,
)
from taskmill.execution.ports import Executor
from taskmill.platform import process, run
from taskmill.platform.kafka_event import respond
from taskmill.platform.stack import stack_of
from taskmill.stores.patience import OF_A_WORKER
from taskmill.stores.stores import Stores
from taskmill.submission.catalogue import TypeDefaults
from taskmill.submission.ports import Blobs
from taskmill.submission.strict_json import with_whole_numbers

__all__ = [
    "Discard",
    "Interrupted",
    "Outcome",
    "Pointer",
    "Retry",
    "RetryPolicy",
    "Snooze",
    "Succeeded",
    "Task",
    "Worker",
    "serve",
]

P = TypeVar("P")

TIME_TO_LET_GO = timedelta(milliseconds=100)
"""How long an abandoned call may still end before the process ends with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker(Generic[P]):
    """The Lambda handler of a task type, and its entry in the catalogue."""

    payload_type: type[P]
    perform: Callable[..., Any]
    takes_task: bool
    decode: Callable[[msgspec.Raw], P]
    defaults: TypeDefaults
    concurrency: int
    hopeless: tuple[type[BaseException], ...]
    end_process_on_cancel: bool = False

    def __call__(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        stores, shutdown = _stores(), run.shutdown()
        with shutdown.at_work():
            run_context = run.run_context(
                stores,
                context,
                concurrency=self.concurrency,
                longest=LONGEST_TIMEOUT,
                executor=run.loop_executor() if self.is_async else run.executor(),
                cuts_off_cancelled=self.end_process_on_cancel,
            )
            with process.invocation("worker"), run.watchdog().on_duty():
                answer = self._work(event, stores, run_context)
            if shutdown.is_wanted or self._leaves_a_stray(run_context.executor):
                shutdown.leave(context.aws_request_id, answer)
        return answer

    def _work(
        self, event: dict[str, Any], stores: Stores, run_context: RunContext
    ) -> dict[str, Any]:
        perform = self.performing(lambda: stores.blobs)
        execution = Execution(stores)
        return respond(event, lambda records: execution.run(records, perform, run_context))

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.perform)

    def _leaves_a_stray(self, executor: Executor) -> bool:
        """Return whether an abandoned call still runs: frozen, it would wake up much later."""
        strays = executor.strays(within=TIME_TO_LET_GO)
        if strays:
            log = process.log("worker")
            log.warning(
                "calls are still running after their time limit; the process exits",
                extra={"calls": strays},
            )
        return bool(strays)

    def performing(self, bucket: Callable[[], Blobs]) -> Perform:
        """Return the function that performs a task; the bucket serves large values."""
        run = self.run_async if self.is_async else self.run
        return lambda task: run(task.with_bucket(bucket), bucket)

    def run(self, task: Task, bucket: Callable[[], Blobs]) -> End:
        """Perform one task; whatever the worker does, the result is a value."""
        try:
            end = _end_of(self._call(_fetched(task, bucket)))
            if isinstance(end, Succeeded) and (content := too_large(end.result)):
                end = keep(content, task, bucket())
            return _noted(end, task)
        except BaseException as error:  # noqa: BLE001 - a worker's bug must not stop the queue
            return self._end_by(error)

    async def run_async(self, task: Task, bucket: Callable[[], Blobs]) -> End:
        """Perform one task on the event loop, as `run` does in a thread."""
        from asyncio import to_thread  # noqa: PLC0415 - workers without a loop start faster

        try:
            if task.payload_ref is not None:
                task = await to_thread(_fetched, task, bucket)
            end = _end_of(await self._call(task))
            if isinstance(end, Succeeded) and (content := too_large(end.result)):
                end = await to_thread(lambda: keep(content, task, bucket()))
            return _noted(end, task)
        except BaseException as error:  # noqa: BLE001 - a worker's bug must not stop the queue
            return self._end_by(error)

    def _call(self, task: Task) -> Any:
        try:
            payload = self._decoded(task)
        except Exception as error:
            # A payload type may validate itself in any way.
            raise _Hindered(Misfit(_message_of(error))) from error
        return self.perform(payload, task) if self.takes_task else self.perform(payload)

    def _decoded(self, task: Task) -> Any:
        """Return the payload as *perform* wants it; one uploaded for bytes need not be JSON."""
        if task.payload_ref is not None and self.payload_type is bytes:
            return bytes(task.payload)
        return self.decode(task.payload)

    def _end_by(self, error: BaseException) -> End:
        if isinstance(error, _Hindered | Interrupted):
            return error.end
        return Raised(
            type(error).__name__,
            _message_of(error),
            isinstance(error, self.hopeless),
            stack_of(error, below=__name__),
        )


class _Hindered(Exception):
    """The payload does not fit or is missing, so the worker is not called."""

    def __init__(self, end: End) -> None:
        super().__init__()
        self.end = end


def _fetched(task: Task, bucket: Callable[[], Blobs]) -> Task:
    """Return the task with its payload, which may have to be fetched."""
    if task.payload_ref is None:
        return task
    content = fetch(task.payload_ref, bucket())
    if isinstance(content, bytes):
        return task.with_payload(content)
    raise _Hindered(content)


def _end_of(answer: Any) -> End:
    if inspect.iscoroutine(answer):
        answer.close()
        raise TypeError("perform returned a coroutine that is never awaited: make it an async def")
    end = answer if isinstance(answer, Outcome) else Succeeded(answer)
    if isinstance(end, Succeeded) and isinstance(end.result, Pointer):
        return Stored(end.result)
    return end


def _noted(end: End, task: Task) -> End:
    if isinstance(end, Retry) and end.may_have_worked:
        process.counters().count(Count.IN_DOUBT, type=task.type)
    return end


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the worker's own error may itself be broken
        return "its message cannot be printed"


@overload
def serve(
    payload_type: type[P],
    perform: Callable[[P], Any],
    *,
    max_attempts: int = ...,
    timeout: timedelta = ...,
    retry: RetryPolicy = ...,
    priority: PriorityName = ...,
    concurrency: int = ...,
    discard: tuple[type[BaseException], ...] = ...,
    end_process_on_cancel: bool = ...,
) -> Worker[P]: ...


@overload
def serve(
    payload_type: type[P],
    perform: Callable[[P, Task], Any],
    *,
    max_attempts: int = ...,
    timeout: timedelta = ...,
    retry: RetryPolicy = ...,
    priority: PriorityName = ...,
    concurrency: int = ...,
    discard: tuple[type[BaseException], ...] = ...,
    end_process_on_cancel: bool = ...,
) -> Worker[P]: ...


def serve(  # noqa: PLR0913 - the options of a type, all named
    payload_type: type[P],
    perform: Callable[..., Any],
    *,
    max_attempts: int = 4,
    timeout: timedelta = timedelta(seconds=30),
    retry: RetryPolicy = DEFAULT_RETRY,
    priority: PriorityName = "normal",
    concurrency: int = 10,
    discard: tuple[type[BaseException], ...] = (),
    end_process_on_cancel: bool = False,
) -> Worker[P]:
    """Make the Lambda handler of a task type.

    ``payload_type`` is a dataclass, a TypedDict or a msgspec Struct: clients must send what fits
    it. ``perform`` gets it decoded, and also the `Task` if it takes a second argument. It returns
    `Succeeded`, `Retry`, `Snooze`, `Discard`, or a plain value, which means that it succeeded.
    An exception leads to a retry, except for the classes in ``discard``.

    Up to ``concurrency`` tasks run concurrently: in threads, or on one event loop when ``perform``
    is an ``async def``. An attempt that takes longer than ``timeout`` is stopped. A task has
    ``max_attempts`` attempts in all, and waits between them as ``retry`` says. Waiting tasks of a
    higher ``priority`` start first. Requests may set these four themselves.

    Cancelling a running task sets `Task.cancelled`, and `Task.check` raises; one that checks
    neither goes on. With ``concurrency=1`` and ``end_process_on_cancel=True`` the attempt is ended
    anyway, and its process with it.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Greeting:
    ...     name: str
    >>> lambda_handler = serve(Greeting, lambda greeting: f"hello {greeting.name}")
    """
    if end_process_on_cancel and concurrency != 1:
        raise ValueError(
            f"end_process_on_cancel ends every task of the process: set concurrency=1, not"
            f" {concurrency}"
        )
    handler = Worker(
        payload_type=payload_type,
        perform=perform,
        takes_task=_takes_task(perform),
        decode=_decoder(payload_type),
        defaults=_within_bounds(
            TypeDefaults(
                max_attempts=max_attempts,
                timeout_seconds=timeout.total_seconds(),
                retry=retry,
                priority=priority,
            )
        ),
        concurrency=concurrency,
        hopeless=discard,
        end_process_on_cancel=end_process_on_cancel,
    )
    process.at_init(lambda: _stores().opened("leases", "bus"))
    process.at_init(run.loop_executor if handler.is_async else run.executor)
    process.at_init(run.shutdown().listen)
    return handler


def _stores() -> Stores:
    return process.stores("worker", needs=("kafka", "redis", "s3"), patience=OF_A_WORKER)


def _decoder(payload_type: type[P]) -> Callable[[msgspec.Raw], P]:
    """Decode as strictly as the gateway validates: its schemas accept 3.0 as whole, too."""
    decode = msgspec.json.Decoder(payload_type).decode

    def as_checked(payload: msgspec.Raw) -> P:
        try:
            return decode(payload)
        except msgspec.ValidationError:
            whole = with_whole_numbers(bytes(payload))
            if whole is None:
                raise
            return decode(whole)

    return as_checked


def _within_bounds(defaults: TypeDefaults) -> TypeDefaults:
    """Refuse defaults at start that the gateway, or a task in transit, could not represent."""
    try:
        return msgspec.convert(msgspec.to_builtins(defaults), TypeDefaults)
    except msgspec.ValidationError as error:
        raise ValueError(f"serve got a default that no task can have: {error}") from error


def _takes_task(perform: Callable[..., Any]) -> bool:
    """Return whether *perform* takes the task in addition to the payload."""
    signature = inspect.signature(perform)
    for count in (1, 2):
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return count == 2  # noqa: PLR2004 - the payload and the task
    raise TypeError(f"perform must take (payload) or (payload, task), not {signature}")
