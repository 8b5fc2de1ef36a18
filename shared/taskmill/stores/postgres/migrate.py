"""Brings the ledger's schema up to date: numbered files, forward only, each run once."""

from pathlib import Path

import psycopg
from psycopg import sql

_LOCK = 7_254_631
_MONTHS_AHEAD = 13


def migrate(owner_dsn: str, migrations: Path) -> list[str]:
    """Run the pending migrations in order, and return their names; safe to run concurrently."""
    ran: list[str] = []
    with psycopg.connect(owner_dsn) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations"
            " (name text PRIMARY KEY, ran_at timestamptz NOT NULL DEFAULT now())"
        )
        known = {name for (name,) in connection.execute("SELECT name FROM migrations")}
        for path in sorted(migrations.glob("*.sql")):
            if path.name not in known:
                connection.execute(path.read_bytes())
                connection.execute("INSERT INTO migrations (name) VALUES (%s)", (path.name,))
                ran.append(path.name)
        _make_months(connection)
    return ran


def _make_months(connection: psycopg.Connection[tuple[str, str, str]]) -> None:
    """Create the history's partitions for the coming months; a default one takes the rest."""
    months = connection.execute(
        "SELECT 'facts_' || to_char(month, 'YYYY_MM'), month::text, (month + '1 month')::text"
        " FROM generate_series(date_trunc('month', now() at time zone 'UTC'),"
        " now() at time zone 'UTC' + make_interval(months => %s), '1 month') AS month",
        (_MONTHS_AHEAD,),
    ).fetchall()
    for name, first, end in months:
        connection.execute(
            sql.SQL(
                "CREATE TABLE IF NOT EXISTS {} PARTITION OF facts FOR VALUES FROM ({}) TO ({})"
            ).format(sql.Identifier(name), sql.Literal(f"{first}+00"), sql.Literal(f"{end}+00"))
        )
