"""One connection to Redis that knows the run id of its server and pipelines script calls."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeAlias

from hiredis import pack_command
from redis import Redis
from redis.connection import ConnectionInterface, ConnectionPool
from redis.exceptions import AuthenticationError, NoScriptError, RedisError, ResponseError

from taskmill.adapters import tls
from taskmill.adapters.access import Access, RedisAccess
from taskmill.adapters.addresses import redis_user
from taskmill.adapters.redis.iam import iam_token
from taskmill.adapters.redis.scripts import Script
from taskmill.domain.errors import StoreUnavailable

Word: TypeAlias = str | bytes | int
Call: TypeAlias = tuple[Sequence[str], Sequence[Word]]
"""The keys of a script call, and its arguments behind the run id."""

STORE = "Redis"
SECONDS_TO_CONNECT = 1.0
SECONDS_TO_ANSWER = 2.0
_NAMELESS = b"nameless"
"""For a server that does not tell its run id: a failover that forgets goes unnoticed there."""


class Session:
    """Calls scripts; the run id in each call is the one of the connection that carries it.

    redis-py reconnects behind its caller's back. Here a lost connection is an error of the call,
    so that a restarted server is never taken for the one that was asked before.
    """

    def __init__(self, access: Access[RedisAccess] | str) -> None:
        """Take what opens Redis, or its plain URL."""
        self._access = Access(RedisAccess(url=access)) if isinstance(access, str) else access
        self._lock = Lock()
        self._connection: ConnectionInterface | None = None
        self._run_id = b""

    def call(self, script: Script, calls: Sequence[Call]) -> list[Any]:
        """Run *script* once for each call, in one round trip."""
        if not calls:
            return []
        with self._lock, self._connected() as connection:
            commands = [
                ("EVALSHA", script.sha, len(keys), *keys, self._run_id, *arguments)
                for keys, arguments in calls
            ]
            answers = _exchange(connection, commands)
            missed = [at for at, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if missed:
                load = ("SCRIPT", "LOAD", script.source)
                _, *again = _exchange(connection, [load, *(commands[at] for at in missed)])
                for at, answer in zip(missed, again, strict=True):
                    answers[at] = answer
        for answer in answers:
            if isinstance(answer, ResponseError):
                raise StoreUnavailable(STORE, str(answer)) from answer
        return answers

    def command(self, *words: Word) -> Any:
        """Run one plain command."""
        with self._lock, self._connected() as connection:
            answer = _exchange(connection, [words])[0]
        if isinstance(answer, ResponseError):
            raise StoreUnavailable(STORE, str(answer)) from answer
        return answer

    def run_id(self) -> str:
        with self._lock, self._connected():
            return self._run_id.decode()

    def close(self) -> None:
        with self._lock:
            self._drop()

    @contextmanager
    def _connected(self) -> Iterator[ConnectionInterface]:
        try:
            if self._connection is None:
                self._connection = self._access.open(self._connect, _is_refusal)
            yield self._connection
        except (RedisError, OSError) as error:
            self._drop()
            reason = tls.why(error, setting="TASKMILL_REDIS_CA_FILE")
            raise StoreUnavailable(STORE, reason) from error

    def _connect(self, access: RedisAccess) -> ConnectionInterface:
        connection = _pool(access).make_connection()
        connection.connect()
        server = _exchange(connection, [("INFO", "server")])[0]
        if isinstance(server, ResponseError):
            raise server
        named = [line for line in server.splitlines() if line.startswith(b"run_id:")]
        self._run_id = named[0].partition(b":")[2].strip() if named else _NAMELESS
        return connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.disconnect()
            self._connection = None


def _pool(access: RedisAccess) -> ConnectionPool:
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
        socket_timeout=SECONDS_TO_ANSWER,
        retry=None,
        protocol=2,
        **options,
    ).connection_pool


def _is_refusal(error: Exception) -> bool:
    return isinstance(error, AuthenticationError)


def _exchange(connection: ConnectionInterface, commands: Sequence[tuple[Word, ...]]) -> list[Any]:
    packed = b"".join(
        pack_command(command)  # type: ignore[arg-type]  # its stub means a tuple of one word
        for command in commands
    )
    connection.send_packed_command([packed])
    return [_answer(connection) for _ in commands]


def _answer(connection: ConnectionInterface) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error
