"""Enqueues tasks inside the caller's own transaction, over any supported connection."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

_TYPES: Final = {
    "type": "text",
    "payload": "json",
    "idempotency_key": "text",
    "delay_seconds": "double precision",
    "run_at": "timestamptz",
    "expires_at": "timestamptz",
    "max_attempts": "integer",
    "timeout_seconds": "double precision",
    "retry": "json",
    "metadata": "json",
    "payload_ref": "json",
    "priority": "text",
    "fairness_key": "text",
}
_NOTHING: Final[Any] = object()


def enqueue(  # noqa: PLR0913 - the fields of a request, all named
    connection: Any,
    type: str,  # noqa: A002 - the request's field name
    payload: Any = _NOTHING,
    *,
    idempotency_key: str | None = None,
    delay_seconds: float | None = None,
    run_at: datetime | None = None,
    expires_at: datetime | None = None,
    max_attempts: int | None = None,
    timeout_seconds: float | None = None,
    retry: Mapping[str, float] | None = None,
    metadata: Mapping[str, str] | None = None,
    payload_ref: Mapping[str, Any] | None = None,
    priority: Literal["critical", "high", "normal", "low", 3, 2, 1, 0] | None = None,
    fairness_key: str | None = None,
) -> str:
    """Enqueue a task in the open transaction of *connection*, and return its id.

    A rollback undoes the request; after a commit there will be one task. The connection is from
    psycopg, SQLAlchemy (or its session) or Django, or is a cursor; its user needs the role
    `taskmill_enqueue`. An invalid request raises the connection's own error for invalid values.

        with psycopg.connect(dsn) as connection:
            connection.execute("INSERT INTO orders (id) VALUES (17)")
            enqueue(connection, "echo", {"say": "order 17"}, idempotency_key="order 17")
    """
    fields = {
        "type": type,
        "payload": None if payload is _NOTHING else _json(payload),
        "idempotency_key": idempotency_key,
        "delay_seconds": delay_seconds,
        "run_at": _moment("run_at", run_at),
        "expires_at": _moment("expires_at", expires_at),
        "max_attempts": max_attempts,
        "timeout_seconds": timeout_seconds,
        "retry": None if retry is None else _json(dict(retry)),
        "metadata": None if metadata is None else _json(dict(metadata)),
        "payload_ref": None if payload_ref is None else _json(dict(payload_ref)),
        "priority": None if priority is None else str(priority),
        "fairness_key": fairness_key,
    }
    parameters = {name: value for name, value in fields.items() if value is not None}
    arguments = ", ".join(f"{name} => %({name})s::{_TYPES[name]}" for name in parameters)
    return _answer(connection, f"SELECT taskmill.enqueue({arguments})::text AS task_id", parameters)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _moment(name: str, moment: datetime | None) -> str | None:
    if moment is not None and moment.utcoffset() is None:
        raise ValueError(f"{name} needs a time zone: {moment} is ambiguous")
    return None if moment is None else moment.isoformat()


def _answer(connection: Any, statement: str, values: Mapping[str, Any]) -> str:
    if hasattr(connection, "get_bind"):  # a SQLAlchemy session
        connection = connection.connection()
    if hasattr(connection, "exec_driver_sql"):  # a SQLAlchemy connection
        return _only(connection.exec_driver_sql(statement, values).fetchone())
    if hasattr(connection, "execute"):  # a psycopg connection, or any cursor
        result = connection.execute(statement, values)
        return _only((connection if result is None else result).fetchone())
    with connection.cursor() as cursor:  # a Django or psycopg2 connection
        cursor.execute(statement, values)
        return _only(cursor.fetchone())


def _only(row: Any) -> str:
    """Return the single value of a row, whatever row type the connection uses."""
    if isinstance(row, str):
        return row
    return str(row["task_id"] if isinstance(row, Mapping) else row[0])
