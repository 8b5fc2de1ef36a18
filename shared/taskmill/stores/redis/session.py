"""One connection to Redis that knows its server's run id and pipelines script calls."""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from threading import Lock
from typing import Any, TypeAlias

from hiredis import pack_command
from redis import Redis
from redis.connection import ConnectionInterface, ConnectionPool
from redis.exceptions import (
    AuthenticationError,
    MasterDownError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)

from taskmill.core.errors import StoreFull, StoreUnavailable
from taskmill.settings.access import Access, RedisAccess
from taskmill.settings.addresses import redis_user
from taskmill.stores import tls
from taskmill.stores.guard import Guard
from taskmill.stores.redis import scripts
from taskmill.stores.redis.iam import iam_token
from taskmill.stores.redis.keys import is_key, tag_of, type_of
from taskmill.stores.redis.scripts import Script

_log = logging.getLogger("taskmill.redis")

Argument: TypeAlias = str | bytes | int
Call: TypeAlias = tuple[Sequence[str], Sequence[Argument]]
"""The keys of a script call, and its arguments after the run id."""

STORE = "Redis"
_RECORDS_IN_A_CALL = 50
"""So many scripts keep Redis for less than a millisecond."""

SECONDS_TO_CONNECT = 1.0
TIME_TO_ANSWER = timedelta(seconds=2)
_ONLY_POLICY = b"noeviction"
_NOT_THE_PRIMARY = (ReadOnlyError, MasterDownError)
_NAMELESS = b"nameless"
"""For servers that hide their run id: a failover that loses data goes unnoticed there."""


class Session:
    """Calls scripts; each call carries the run id of its own connection.

    redis-py would reconnect silently. Here a connection lost during a call fails the call, so that
    a restarted server is never mistaken for the earlier one.
    """

    def __init__(
        self,
        access: Access[RedisAccess] | str,
        *,
        patience: timedelta = TIME_TO_ANSWER,
        guard: Guard | None = None,
    ) -> None:
        """Take the credentials for Redis, or its plain URL."""
        self._access = Access(RedisAccess(url=access)) if isinstance(access, str) else access
        self._patience = patience.total_seconds()
        self._guard = guard or Guard(STORE)
        self._lock = Lock()
        self._connection: ConnectionInterface | None = None
        self._run_id = b""
        self._note_unreadable = scripts.load("recovery/note_unreadable")

    def call(self, script: Script, calls: Sequence[Call], *, unreadable: Any = None) -> list[Any]:
        """Run *script* once for each call, all in one round trip.

        A call whose record was overwritten returns *unreadable* and stops no other call. When any
        other key has the wrong type, the shard becomes cold, and its calls return that.
        """
        if not calls:
            return []
        with self._lock, self._guard.watch(), self._connected() as connection:
            answers = self._run(connection, script, calls)
            wrong = [
                at for at in _places(answers, ResponseError) if _is_of_another_type(answers[at])
            ]
            if wrong:
                self._part(connection, [key for at in wrong for key in calls[at][0]])
                again = self._run(connection, script, [calls[at] for at in wrong])
                _put(answers, wrong, [_or_unreadable(answer, unreadable) for answer in again])
            self._refuse_errors(answers)
        return answers

    def _run(
        self, connection: ConnectionInterface, script: Script, calls: Sequence[Call]
    ) -> list[Any]:
        """Run a script, which the server may not know yet, and return each call's answer."""
        groups = list(_groups(calls)) if script.is_for_many else [[at] for at in range(len(calls))]
        operands = _for_many if script.is_for_many else _for_one
        commands = [
            ("EVALSHA", script.sha, *operands([calls[at] for at in group], self._run_id))
            for group in groups
        ]
        replies = self._exchange(connection, commands)
        missed = _places(replies, NoScriptError)
        if missed:
            loading = ("SCRIPT", "LOAD", script.source)
            _, *again = self._exchange(connection, [loading, *(commands[at] for at in missed)])
            _put(replies, missed, again)
        answers: list[Any] = [None] * len(calls)
        for group, reply in zip(groups, replies, strict=True):
            is_one = isinstance(reply, ResponseError) or not script.is_for_many
            _put(answers, group, [reply] * len(group) if is_one else reply)
        return answers

    def command(self, *arguments: Argument) -> Any:
        """Run one plain command."""
        with self._lock, self._guard.watch(), self._connected() as connection:
            answers = self._exchange(connection, [arguments])
            if _is_of_another_type(answers[0]):
                self._part(connection, [argument for argument in arguments if is_key(argument)])
                answers = self._exchange(connection, [arguments])
            self._refuse_errors(answers)
        return answers[0]

    def run_id(self) -> str:
        with self._lock, self._guard.watch(), self._connected():
            return self._run_id.decode()

    def close(self) -> None:
        with self._lock:
            self._drop()

    @contextmanager
    def _connected(self) -> Iterator[ConnectionInterface]:
        try:
            if self._connection is not None and _is_hung_up(self._connection):
                self._drop()
            if self._connection is None:
                self._connection = self._access.open(self._connect, _is_refusal)
            yield self._connection
        except (RedisError, OSError) as error:
            self._drop()
            reason = tls.why(error, setting="TASKMILL_REDIS_CA_FILE")
            raise StoreUnavailable(STORE, reason) from error

    def _connect(self, access: RedisAccess) -> ConnectionInterface:
        connection = _pool(access, self._patience).make_connection()
        connection.connect()
        server, memory = self._exchange(connection, [("INFO", "server"), ("INFO", "memory")])
        if isinstance(server, ResponseError):
            raise server
        if not access.cache:  # a serverless cache has a fixed policy
            _refuse_eviction(memory)
        self._run_id = _field(server, b"run_id") or _NAMELESS
        return connection

    def _exchange(
        self, connection: ConnectionInterface, commands: Sequence[tuple[Argument, ...]]
    ) -> list[Any]:
        packed = b"".join(
            pack_command(command)  # type: ignore[arg-type]  # its stub means a tuple of one word
            for command in commands
        )
        deadline = time.monotonic() + self._patience
        connection.send_packed_command([packed])
        return [_answer(connection, deadline) for _ in commands]

    def _part(self, connection: ConnectionInterface, keys: Iterable[str]) -> None:
        """Set apart those of *keys* whose type is not the one that the queue gave them."""
        by_tag: dict[str, set[str]] = {}
        for key in keys:
            by_tag.setdefault(tag_of(key), set()).add(key)
        answers = self._exchange(connection, [self._parting(*one) for one in by_tag.items()])
        self._refuse_errors(answers)
        for key in (key for answer in answers for key in answer):
            _log.error("a key of another type in Redis", extra={"key": key.decode()})

    def _parting(self, tag: str, keys: Iterable[str]) -> tuple[Argument, ...]:
        own = [f"{tag}:apart", f"{tag}:alive", f"{tag}:rebuild"]
        others = sorted(set(keys) - set(own))
        operands = own + others
        types = map(type_of, others)
        return ("EVAL", self._note_unreadable.source, len(operands), *operands, *types)

    def _refuse_errors(self, answers: Sequence[Any]) -> None:
        for answer in answers:
            if isinstance(answer, ResponseError):
                if isinstance(answer, _NOT_THE_PRIMARY):
                    self._drop()  # the next call finds the new primary
                is_full = isinstance(answer, OutOfMemoryError)
                kind = StoreFull if is_full else StoreUnavailable
                raise kind(STORE, _why(answer)) from answer

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.disconnect()
            self._connection = None


def _pool(access: RedisAccess, patience: float) -> ConnectionPool:
    options: dict[str, Any] = {}
    if access.cache:
        options["password"] = iam_token(redis_user(access.url), access.cache)
    elif access.credentials.password:
        options["username"] = access.credentials.username or None
        options["password"] = access.credentials.password
    if access.url.startswith("rediss://"):
        options["ssl_cert_reqs"] = "required"
        options["ssl_check_hostname"] = True
        options["ssl_ca_certs"] = access.ca_file or None
    return Redis.from_url(
        access.url,
        socket_connect_timeout=SECONDS_TO_CONNECT,
        socket_timeout=patience,
        retry=None,
        protocol=2,
        **options,
    ).connection_pool


def _is_hung_up(connection: ConnectionInterface) -> bool:
    """Return whether the server closed an idle connection: it sends nothing else unasked.

    So a restarted server fails no call; the next connection reads its run id.
    """
    try:
        return connection.can_read(0)
    except (RedisError, OSError):
        return True


def _is_refusal(error: Exception) -> bool:
    return isinstance(error, AuthenticationError)


def _answer(connection: ConnectionInterface, deadline: float) -> Any:
    if time.monotonic() > deadline:
        raise TimeoutError("the responses came too slowly")
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


def _groups(calls: Sequence[Call]) -> Iterator[list[int]]:
    """Yield which calls differ in nothing but the record among their keys, some at a time."""
    groups: dict[str, list[int]] = {}
    for at, (keys, _) in enumerate(calls):
        groups.setdefault(keys[0], []).append(at)
    for group in groups.values():
        for start in range(0, len(group), _RECORDS_IN_A_CALL):
            yield group[start : start + _RECORDS_IN_A_CALL]


def _for_one(calls: Sequence[Call], run_id: bytes) -> list[Argument]:
    ((keys, arguments),) = calls
    return [len(keys), *keys, run_id, *arguments]


def _for_many(calls: Sequence[Call], run_id: bytes) -> list[Argument]:
    """Return the operands of `lua/shard/for_each_record.lua`."""
    (marker, _, *others), _ = calls[0]
    records = [keys[1] for keys, _ in calls]
    shared = 1 + len(others)
    operands: list[Argument] = [shared + len(records), marker, *others, *records, run_id, shared]
    for _, arguments in calls:
        operands += [len(arguments), *arguments]
    return operands


def _places(answers: Sequence[Any], kind: type[ResponseError]) -> list[int]:
    return [at for at, answer in enumerate(answers) if isinstance(answer, kind)]


def _put(answers: list[Any], places: Sequence[int], others: Sequence[Any]) -> None:
    for at, other in zip(places, others, strict=True):
        answers[at] = other


def _is_of_another_type(answer: Any) -> bool:
    return isinstance(answer, ResponseError) and "WRONGTYPE" in str(answer)


def _or_unreadable(answer: Any, unreadable: Any) -> Any:
    return unreadable if unreadable is not None and _is_of_another_type(answer) else answer


def _why(error: ResponseError) -> str:
    if not isinstance(error, OutOfMemoryError):
        return str(error)
    return (
        "its memory is full; nothing new is admitted until waiting tasks have ended or its"
        " maxmemory is raised"
    )


def _refuse_eviction(memory: Any) -> None:
    policy = b"" if isinstance(memory, ResponseError) else _field(memory, b"maxmemory_policy")
    if policy not in {b"", _ONLY_POLICY}:
        raise ConnectionError(
            f"its maxmemory-policy is {policy.decode()}, which evicts tasks when memory is"
            f" short: set it to {_ONLY_POLICY.decode()}"
        )


def _field(info: bytes, name: bytes) -> bytes:
    """Return a field of INFO; empty if the server does not report it."""
    lines = [line for line in info.splitlines() if line.startswith(name + b":")]
    return lines[0].partition(b":")[2].strip() if lines else b""
